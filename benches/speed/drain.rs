//! Draining due deliveries compared with the bare sender: deliveries/s ÷ requests/s of the same client with equal bytes and without
//! a database; and the processor time per delivery. Every attempt is logged.
//!
//! The deliveries of another edition's program cannot be made due from outside without sending them. In turns, events are published, and both
//! programs fan them out while they deliver: the rates are lower, and those of one run cannot be compared with those of the other kind.

use std::time::Instant;

use portico::kernel::clock::{Clock, timestamp};
use serde_json::json;

use crate::figures::{Aim, Figures};
use crate::support::calls::Caller;
use crate::support::company::Company;
use crate::support::database::Database;
use crate::support::hub;
use crate::support::program::Program;
use crate::support::publisher::Publisher;
use crate::support::sender;
use crate::support::service::Service;
use crate::support::sink::Sink;
use crate::support::usage::{Cpu, resident_mib};

/// `webhooks.endpoint_concurrency`, which the bare sender uses too.
const AT_ONCE: usize = 50;

/// The maximum number of events per request.
const BATCH: usize = 500;

pub fn measure(figures: &mut Figures) {
    let own = Program::own();
    let of_one_company = against_the_bare_sender(figures, &own, 10, due);
    of_ten_companies(figures, of_one_company);
    against_the_bare_sender(figures, &own, 1, due);
}

/// Drains what has been published and not fanned out.
pub fn measure_from_outside(figures: &mut Figures, program: &Program) {
    for endpoints in [10, 1] {
        against_the_bare_sender(figures, program, endpoints, published);
    }
}

/// Gives a service that runs without a worker so many events, each for all of its webhooks.
pub type Prepare = fn(&Service, usize);

/// Publishes events and fans them out, with the library of this edition.
pub fn due(service: &Service, events: usize) {
    hub::publish(service, events);
    hub::fan_out(service);
}

/// Publishes events over HTTP.
pub fn published(service: &Service, events: usize) {
    publish(service, &Publisher::of(service), events);
    Database::of(service).execute("vacuum analyze");
}

fn publish(service: &Service, publisher: &Publisher, mut events: usize) {
    let mut caller = Caller::connect(service.address);
    while events > 0 {
        caller.ask(201, &publisher.many("order.created", events.min(BATCH)));
        events -= events.min(BATCH);
    }
}

/// Compares ten companies with an endpoint each with one company that has ten.
fn of_ten_companies(figures: &mut Figures, of_one_company: f64) {
    let deliveries = figures.many(50_000, 2_000);
    let service = Service::start(&[]);
    let sink = Sink::open(&service, 10);
    let publishers: Vec<_> = sink.urls.iter().map(|url| subscriber(&service, url)).collect();
    let prepare = |service: &Service| {
        publishers.iter().for_each(|publisher| publish(service, publisher, deliveries / publishers.len()));
        hub::fan_out(service);
    };
    let Drained { per_second, .. } = drain_prepared(service, &sink, deliveries, prepare);
    let parts = format!("{per_second:.0} deliveries/s ÷ {of_one_company:.0} deliveries/s of one company with ten endpoints");
    figures.show("drain of ten companies", per_second / of_one_company, Aim::Stated, &parts);
}

/// A company with one endpoint, for all events.
fn subscriber(service: &Service, url: &str) -> Publisher {
    let company = Company::found(service);
    company.subscribe(service, &[url.to_owned()], "*", &json!({}));
    Publisher::for_company(service, company)
}

/// Returns the deliveries per second.
fn against_the_bare_sender(figures: &mut Figures, program: &Program, endpoints: usize, prepare: Prepare) -> f64 {
    let deliveries = figures.many(50_000, 2_000);
    let service = Service::of(program, &[]);
    let sink = Sink::open(&service, endpoints);
    hub::subscribe(&service, &sink.urls, "*");
    let Drained { service, per_second } = drain(service, &sink, deliveries, prepare);
    let (cpu, resident) = (Cpu::of(&service), resident_mib(&service));

    let like = sink.received().first.clone().unwrap();
    let bare = sender::requests_per_second(&service, &sink, deliveries, AT_ONCE, like);
    let name = format!("drain to {endpoints}");
    let parts = format!("{per_second:.0} deliveries/s ÷ {bare:.0} requests/s of the bare sender, {deliveries} deliveries");
    figures.show(&name, per_second / bare, Aim::AtLeast(0.45), &parts);
    figures.note(&format!("{name}, deliveries/s"), per_second);
    figures.show(
        &format!("{name}, CPU in ms"),
        cpu.total() * 1000.0 / deliveries as f64,
        Aim::AtMost(0.3),
        "of the service and PostgreSQL for each delivery, its start included",
    );
    cpu.note(figures, &name, deliveries as f64);
    figures.show(&format!("{name}, memory in MiB"), resident, Aim::AtMost(100.0), "the service's process afterwards");
    per_second
}

/// A service that has delivered everything, and its rate.
pub struct Drained {
    pub service: Service,
    pub per_second: f64,
}

/// Prepares `deliveries` deliveries, with each endpoint of `sink` subscribed to all events, and then starts the worker.
pub fn drain(service: Service, sink: &Sink, deliveries: usize, prepare: Prepare) -> Drained {
    drain_prepared(service, sink, deliveries, |service| prepare(service, deliveries / sink.urls.len()))
}

fn drain_prepared(service: Service, sink: &Sink, deliveries: usize, prepare: impl FnOnce(&Service)) -> Drained {
    let service = service.restart(&["--no-worker"]);
    prepare(&service);
    sink.forget();
    let begin = timestamp(Clock::System.now());
    let service = service.restart(&[]);
    sink.await_arrivals(deliveries);
    hub::await_recorded(&service);
    let ended = Instant::now();
    assert_eq!(sink.received().arrivals.len(), deliveries, "each delivery is sent once");
    let logged = format!("select count(*) from attempts where started_at >= '{begin}' and status = 200");
    assert_eq!(Database::of(&service).number(&logged), deliveries as i64, "every attempt is logged");
    let per_second = deliveries as f64 / ended.duration_since(sink.span().0).as_secs_f64();
    Drained { service, per_second }
}
