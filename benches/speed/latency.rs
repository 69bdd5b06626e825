//! The latency from sending `POST events` to the arrival of the event at its subscriber, and its floor: one durable insert and one POST on
//! a connection that is kept alive, one after the other.

use crate::figures::{Aim, Figures, millis};
use crate::support::floor;
use crate::support::hub;
use crate::support::program::Program;
use crate::support::publisher::{Publisher, percentile};
use crate::support::service::Service;
use crate::support::sink::Sink;
use crate::support::usage::resident_mib;

const EVENT: &str = "order.created";

pub fn measure(figures: &mut Figures, program: &Program) {
    let service = Service::of(program, &[]);
    let sink = Sink::open(&service, 1);
    hub::subscribe(&service, &sink.urls, EVENT);
    let publisher = Publisher::of(&service);
    publisher.latencies(&service, &sink, EVENT, 200, figures.time(2));
    let (_, body) = sink.received().first.clone().unwrap();
    for per_second in [200, 500] {
        let floor = floor::times(&service, &sink, &body, per_second, figures.time(10));
        let times = publisher.latencies(&service, &sink, EVENT, per_second, figures.time(60));
        let parts = format!("ms from publishing to arrival, {} events", times.len());
        for (share, aim, aim_of_floor) in [(0.50, Aim::AtMost(1.5), Aim::AtMost(1.5)), (0.99, Aim::TailAtMost(5.0), Aim::TailAtMost(3.0))] {
            let name = format!("latency at {per_second}/s, p{:.0}", share * 100.0);
            let (latency, least) = (millis(percentile(&times, share)), millis(percentile(&floor, share)));
            figures.show(&name, latency, aim, &parts);
            let parts = format!("{latency:.2} ms ÷ {least:.2} ms of one durable insert and one POST");
            figures.show(&format!("{name}, of its floor"), latency / least, aim_of_floor, &parts);
        }
    }
    figures.show("latency, memory in MiB", resident_mib(&service), Aim::AtMost(100.0), "the service's process afterwards");
}
