//! The memory of the service while endpoints send response bodies that exceed the logged length.

use std::thread::sleep;
use std::time::Duration;

use crate::figures::{Aim, Figures};
use crate::support::hub;
use crate::support::service::Service;
use crate::support::sink::{Answer, Sink};
use crate::support::usage::resident_mib;

const ENDPOINTS: usize = 4;
const MEBIBYTES: usize = 256;

pub fn measure(figures: &mut Figures) {
    let events = figures.many(100, 10);
    let service = Service::start(&[]);
    let sink = Sink::answering(&service, &[Answer::Long(MEBIBYTES); ENDPOINTS]);
    hub::subscribe(&service, &sink.urls, "*");
    hub::publish(&service, events);
    let mut most = 0.0_f64;
    while sink.received().arrivals.len() < events * ENDPOINTS {
        most = most.max(resident_mib(&service));
        sleep(Duration::from_millis(5));
    }
    hub::await_recorded(&service);
    let parts = format!("the most while {} answers of {MEBIBYTES} MiB each arrived", events * ENDPOINTS);
    figures.show("memory, long answers in MiB", most.max(resident_mib(&service)), Aim::AtMost(100.0), &parts);
}
