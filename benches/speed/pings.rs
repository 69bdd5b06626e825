//! Ten thousand drivers that report their position every five seconds, and one subscriber: 2,000 events per second.

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::figures::{Aim, Figures};
use crate::support::calls::{Caller, request};
use crate::support::hub;
use crate::support::service::Service;
use crate::support::sink::Sink;
use crate::support::usage::{Cpu, resident_mib};

/// Positions per request.
const BATCH: usize = 500;
const PER_SECOND: usize = 2_000;
const EVENT: &str = "driver.location_changed";

pub fn measure(figures: &mut Figures) {
    let service = Service::start(&[]);
    let sink = Sink::open(&service, 1);
    let drivers = make_drivers(&service, figures.many(10_000, BATCH));
    hub::subscribe(&service, &sink.urls, EVENT);

    let key = service.api_key();
    let (mut caller, mut sent) = (Caller::connect(service.address), 0);
    let (cpu, begin, time) = (Cpu::of(&service), Instant::now(), figures.time(60));
    while begin.elapsed() < time {
        let moved: Vec<_> = drivers.iter().cycle().skip(sent % drivers.len()).take(BATCH).collect();
        let position =
            |driver: &&String| json!({ "driver": driver, "latitude": 48.0, "longitude": 11.0 + 0.000_1 * (sent / drivers.len()) as f64 });
        let body = json!({ "positions": moved.iter().map(position).collect::<Vec<_>>() }).to_string();
        caller.ask(200, &request("POST", "/fleet/int/v1/drivers/track", &[("authorization", &key)], &body));
        sent += BATCH;
        let due = begin + Duration::from_secs_f64(sent as f64 / PER_SECOND as f64);
        sleep(due.saturating_duration_since(Instant::now()));
    }
    let published = begin.elapsed();
    sink.await_arrivals(sent);
    let late = sink.span().1.saturating_duration_since(begin + published).as_secs_f64();
    hub::await_recorded(&service);
    let cpu = Cpu::of(&service).since(cpu).total() * 1000.0 / sent as f64;
    let arrived = sent as f64 / (published.as_secs_f64() + late);
    let parts = format!("{arrived:.0}/s arrived of {PER_SECOND}/s, the last of {sent} {late:.2} s after the last second was published");
    figures.show("pings", arrived / PER_SECOND as f64, Aim::AtLeast(0.98), &parts);
    figures.show(
        "pings, CPU in ms",
        cpu,
        Aim::Stated,
        "of the service and PostgreSQL per position, which is written, published and delivered",
    );
    figures.show("pings, memory in MiB", resident_mib(&service), Aim::AtMost(100.0), "the service's process afterwards");
}

fn make_drivers(service: &Service, count: usize) -> Vec<String> {
    let (key, mut caller) = (service.api_key(), Caller::connect(service.address));
    let make = |number: usize| {
        let body = json!({ "name": format!("Driver {number}") }).to_string();
        let made: Value = caller.ask(201, &request("POST", "/fleet/int/v1/drivers", &[("authorization", &key)], &body));
        made["driver"]["id"].as_str().unwrap().to_owned()
    };
    (0..count).map(make).collect()
}
