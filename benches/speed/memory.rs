//! The memory of the service while endpoints send response bodies that exceed the logged length, and while a million deliveries are
//! due.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::figures::{Aim, Figures};
use crate::support::database::Database;
use crate::support::hub;
use crate::support::service::Service;
use crate::support::sink::{Answer, Sink};
use crate::support::usage::resident_mib;

/// The interval at which the memory is read.
const INTERVAL: Duration = Duration::from_millis(5);

pub fn measure(figures: &mut Figures) {
    with_long_answers(figures);
    with_many_due(figures);
}

fn with_long_answers(figures: &mut Figures) {
    const ENDPOINTS: usize = 4;
    const MEBIBYTES: usize = 256;
    let events = figures.many(100, 10);
    let service = Service::start(&[]);
    let sink = Sink::answering(&service, &[Answer::Long(MEBIBYTES); ENDPOINTS]);
    hub::subscribe(&service, &sink.urls, "*");
    hub::publish(&service, events);
    let mut most = 0.0_f64;
    while sink.received().arrivals.len() < events * ENDPOINTS {
        most = most.max(resident_mib(&service));
        sleep(INTERVAL);
    }
    hub::await_recorded(&service);
    let parts = format!("the most while {} answers of {MEBIBYTES} MiB each arrived", events * ENDPOINTS);
    figures.show("memory, long answers in MiB", most.max(resident_mib(&service)), Aim::AtMost(100.0), &parts);
}

fn with_many_due(figures: &mut Figures) {
    const ENDPOINTS: usize = 10;
    let (published, copies) = (figures.many(1_000, 200), figures.many(100, 10));
    let service = Service::start(&[]);
    let sink = Sink::open(&service, ENDPOINTS);
    hub::subscribe(&service, &sink.urls, "*");
    let service = service.restart(&["--no-worker"]);
    hub::publish(&service, published);
    multiply_events(&service, copies);
    hub::fan_out(&service);
    let due = Database::of(&service).number("select count(*) from waiting where lane = 0");
    assert_eq!(due, (published * copies * ENDPOINTS) as i64);

    let service = service.restart(&[]);
    sink.await_arrivals(1);
    let (begin, time) = (Instant::now(), figures.time(20));
    let mut most = 0.0_f64;
    while begin.elapsed() < time {
        most = most.max(resident_mib(&service));
        sleep(INTERVAL);
    }
    let parts = format!("the most while {} of {due} due deliveries arrived", sink.received().arrivals.len());
    figures.show("memory, many due in MiB", most, Aim::AtMost(100.0), &parts);
}

/// Adds copies of the published events, until there are `copies` of each, directly to the tables, because publishing them one by one
/// would take long.
fn multiply_events(service: &Service, copies: usize) {
    Database::of(service).execute(&format!(
        "with copied as (
             -- the beginning of an id is its time and version
             insert into events (id, company_id, name, body, created_at)
             select (left(id::text, 15) || substr(gen_random_uuid()::text, 16))::uuid, company_id, name, body, created_at
             from events, generate_series(2, {copies}) as copy where id in (select event_id from outbox)
             returning id, company_id, name
         )
         insert into outbox (event_id, company_id, name) select id, company_id, name from copied"
    ));
}
