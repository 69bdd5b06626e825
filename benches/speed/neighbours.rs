//! One company beside another that misbehaves: its p99 from publishing to arrival, or the time in which its backlog drains, ÷ the same
//! without the other, in one run.

use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::figures::{Aim, Figures, millis};
use crate::support::calls::Caller;
use crate::support::company::Company;
use crate::support::database::Database;
use crate::support::program::Program;
use crate::support::publisher::{Publisher, percentile};
use crate::support::service::Service;
use crate::support::sink::{Answer, Sink};

const OURS: &str = "order.created";
const THEIRS: &str = "driver.created";
const PER_SECOND: u32 = 50;
/// The maximum number of events per request.
const BATCH: usize = 500;
/// The threads that keep a machine busy without touching the service or its database.
const BUSY: usize = 4;

pub fn measure(figures: &mut Figures, program: &Program) {
    beside_one_event_for_many(figures, program);
    beside_many_events_for_many(figures, program);
    beside_slow_endpoints(figures, program);
    beside_dead_endpoints(figures, program);
}

/// A company with five healthy endpoints, whose latency is measured.
pub struct Neighbour {
    pub service: Service,
    sink: Sink,
    publisher: Publisher,
    time: Duration,
}

impl Neighbour {
    pub fn new(figures: &Figures, program: &Program) -> Self {
        let service = Service::of(program, &[]);
        let (sink, company) = (Sink::open(&service, 5), Company::found(&service));
        company.subscribe(&service, &sink.urls, OURS, &json!({}));
        let publisher = Publisher::for_company(&service, company);
        let this = Self { service, sink, publisher, time: figures.time(10) };
        this.p99();
        this
    }

    pub fn p99(&self) -> Duration {
        percentile(&self.publisher.latencies(&self.service, &self.sink, OURS, PER_SECOND, self.time), 0.99)
    }

    /// The same while others use the processors for something else: what nobody can do better on a busy machine.
    fn p99_beside_busy_threads(&self) -> Duration {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..BUSY {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        hint::spin_loop()
                    }
                });
            }
            let p99 = self.p99();
            done.store(true, Ordering::Relaxed);
            p99
        })
    }

    /// The same while another company publishes with this request.
    fn p99_beside(&self, request: &[u8]) -> Duration {
        let publishing = || {
            thread::sleep(self.time / 4);
            Caller::connect(self.service.address).ask(201, request);
        };
        thread::scope(|scope| {
            scope.spawn(publishing);
            self.p99()
        })
    }
}

fn show(figures: &mut Figures, name: &str, with: Duration, without: Duration, aim: f64, beside: &str) {
    let parts = format!("p99 {:.2} ms beside {beside} ÷ {:.2} ms alone", millis(with), millis(without));
    figures.show(name, with.as_secs_f64() / without.as_secs_f64(), Aim::TailAtMost(aim), &parts);
}

fn beside_one_event_for_many(figures: &mut Figures, program: &Program) {
    let webhooks = figures.many(10_000, 200);
    let (neighbour, theirs, publisher) = beside_webhooks(figures, program, webhooks);
    let (without, busy) = (neighbour.p99(), neighbour.p99_beside_busy_threads());
    let with = neighbour.p99_beside(&publisher.one(THEIRS));
    theirs.await_arrivals(webhooks);
    show(figures, "neighbours, one event for many", with, without, 2.0, &format!("one event to {webhooks} webhooks of another company"));
    let parts = format!("p99 {:.2} ms ÷ {:.2} ms beside {BUSY} threads that only compute", millis(with), millis(busy));
    let ratio = with.as_secs_f64() / busy.as_secs_f64();
    figures.show("neighbours, one event for many ÷ a busy machine", ratio, Aim::TailAtMost(2.0), &parts);
}

/// The other company's deliveries are still being made when this ends.
fn beside_many_events_for_many(figures: &mut Figures, program: &Program) {
    let (webhooks, events) = (figures.many(1_000, 100), figures.many(BATCH, 100));
    let (neighbour, _theirs, publisher) = beside_webhooks(figures, program, webhooks);
    let without = neighbour.p99();
    let with = neighbour.p99_beside(&publisher.many(THEIRS, events));
    let deliveries = webhooks * events;
    show(
        figures,
        "neighbours, many events for many",
        with,
        without,
        2.0,
        &format!("{events} events to {webhooks} webhooks of another company, {deliveries} deliveries"),
    );
}

/// A neighbour of a company with so many webhooks, and who publishes for that company.
fn beside_webhooks(figures: &Figures, program: &Program, webhooks: usize) -> (Neighbour, Sink, Publisher) {
    let neighbour = Neighbour::new(figures, program);
    let (service, them) = (&neighbour.service, Company::demo(&neighbour.service));
    let theirs = Sink::open(service, 10);
    let urls: Vec<_> = (0..webhooks).map(|number| format!("{}{number}", theirs.urls[number % theirs.urls.len()])).collect();
    them.subscribe(service, &urls, THEIRS, &json!({}));
    let publisher = Publisher::for_company(service, them);
    (neighbour, theirs, publisher)
}

fn beside_slow_endpoints(figures: &mut Figures, program: &Program) {
    let waiting = figures.many(10_000, 1_000);
    let neighbour = Neighbour::new(figures, program);
    let (service, them) = (&neighbour.service, Company::demo(&neighbour.service));
    let slow = Sink::answering(service, &[Answer::After(Duration::from_secs(14)); 10]);
    them.subscribe(service, &slow.urls, THEIRS, &json!({}));
    let publisher = Publisher::for_company(service, them);
    let without = neighbour.p99();
    let mut caller = Caller::connect(service.address);
    for _ in 0..waiting.div_ceil(BATCH * slow.urls.len()) {
        caller.ask(201, &publisher.many(THEIRS, BATCH.min(waiting / slow.urls.len())));
    }
    // All of them wait, and as many are in flight as may be.
    let mut database = Database::of(service);
    while database.number("select count(*) from outbox") > 0 {}
    slow.await_arrivals(100);
    thread::sleep(Duration::from_secs(1));
    let with = neighbour.p99();
    show(
        figures,
        "neighbours, slow endpoints",
        with,
        without,
        1.5,
        &format!("ten endpoints that take 14 s, with {waiting} deliveries waiting"),
    );
}

fn beside_dead_endpoints(figures: &mut Figures, program: &Program) {
    let (dead, events, per_second) = (figures.many(2_000, 200), 60, 20);
    let service = Service::of(program, &[("PORTICO_WEBHOOKS__CIRCUIT__COOL_DOWN", "1h")]);
    let (us, them) = (Company::found(&service), Company::demo(&service));
    let sink = Sink::open(&service, 1);
    us.subscribe(&service, &sink.urls, OURS, &json!({ "rate_limit": per_second }));
    let urls: Vec<_> = (0..dead).map(|number| format!("https://localhost:10009/{number}")).collect();
    them.subscribe(&service, &urls, THEIRS, &json!({}));
    let publisher = Publisher::for_company(&service, us);
    let mut caller = Caller::connect(service.address);
    let mut drain = || {
        sink.forget();
        let begin = Instant::now();
        caller.ask(201, &publisher.many(OURS, events));
        sink.await_arrivals(events);
        sink.span().1 - begin
    };
    drain();
    let without = drain();
    let mut database = Database::of(&service);
    let circuits = "update endpoints set open_until = now() + interval '59 minutes', consecutive_failures = 10
                    where subscription_id in (select subscription_id from subscription_endpoints where url like '%:10009/%')";
    database.execute(circuits);
    let two = Publisher::for_company(&service, them).many(THEIRS, 2);
    Caller::connect(service.address).ask(201, &two);
    while database.number("select count(*) from waiting") < 2 * dead as i64 {}
    let with = drain();
    let parts = format!(
        "{:.2} s for {events} events at {per_second}/s beside {dead} dead endpoints ÷ {:.2} s alone",
        with.as_secs_f64(),
        without.as_secs_f64()
    );
    figures.show("neighbours, dead endpoints", with.as_secs_f64() / without.as_secs_f64(), Aim::AtMost(1.1), &parts);
}
