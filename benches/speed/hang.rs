//! The effect of a hanging endpoint on the others: their p99 at 50 events/s while it takes 20 s per response and has 2,000
//! deliveries waiting ÷ their p99 without it.

use std::time::Duration;

use crate::figures::{Aim, Figures, millis};
use crate::support::calls::Caller;
use crate::support::hub;
use crate::support::program::Program;
use crate::support::publisher::{Publisher, percentile};
use crate::support::service::Service;
use crate::support::sink::{Answer, Sink};
use crate::support::usage::resident_mib;

const HEALTHY: usize = 5;
const PER_SECOND: u32 = 50;
const WAITING: usize = 2_000;
/// The maximum number of events per request.
const BATCH: usize = 500;

pub fn measure(figures: &mut Figures, program: &Program) {
    let service = Service::of(program, &[]);
    let (healthy, hanging) = (Sink::open(&service, HEALTHY), Sink::answering(&service, &[Answer::After(Duration::from_secs(20))]));
    hub::subscribe(&service, &healthy.urls, "order.created");
    hub::subscribe(&service, &hanging.urls, "driver.created");
    let publisher = Publisher::of(&service);
    let p99 = || percentile(&publisher.latencies(&service, &healthy, "order.created", PER_SECOND, figures.time(25)), 0.99);
    p99();
    let without = p99();
    let mut caller = Caller::connect(service.address);
    for _ in 0..WAITING / BATCH {
        caller.ask(201, &publisher.many("driver.created", BATCH));
    }
    hanging.await_arrivals(1);
    let with = p99();
    let parts = format!("p99 {:.2} ms beside an endpoint that hangs ÷ {:.2} ms without", millis(with), millis(without));
    figures.show("hang", with.as_secs_f64() / without.as_secs_f64(), Aim::TailAtMost(1.5), &parts);
    figures.show("hang, memory in MiB", resident_mib(&service), Aim::AtMost(100.0), "the service's process afterwards");
}
