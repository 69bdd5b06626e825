//! What one event, delivery, callback and sign-in by code costs: bytes of WAL, which replicas and archives get, bytes on the disk, and
//! processor time of the service and PostgreSQL. The arithmetic of `docs/scaling.md` is made of these figures.

use std::time::{Duration, Instant};

use crate::callbacks;
use crate::codes;
use crate::figures::{Aim, Figures};
use crate::support::calls::Caller;
use crate::support::customers;
use crate::support::database::Database;
use crate::support::hub;
use crate::support::load::rate;
use crate::support::program::Program;
use crate::support::publisher::Publisher;
use crate::support::service::Service;
use crate::support::sink::Sink;
use crate::support::usage::Cpu;

const CALLERS: usize = 16;
/// The maximum number of events per request.
const BATCH: usize = 500;

pub fn measure(figures: &mut Figures) {
    measure_from_outside(figures, &Program::own());
    of_sign_ins(figures);
}

/// What can be measured without changing the limits of a store, which not every edition has.
pub fn measure_from_outside(figures: &mut Figures, program: &Program) {
    of_events(figures, program);
    of_deliveries(figures, program);
    of_callbacks(figures, program);
}

/// Events that nobody has subscribed to, each published and answered alone.
fn of_events(figures: &mut Figures, program: &Program) {
    let service = Service::of(program, &[]);
    let one = Publisher::of(&service).one("order.created");
    let time = figures.time(10);
    let count = "select count(*) from events";
    let spent = Spent::by(&service, count, || {
        rate(service.address, CALLERS, time, 201, || &one);
        await_none(&service, "outbox");
    });
    spent.show(figures, "event", "published alone, fanned out to nobody");
}

/// Deliveries to one endpoint, with their events, published in batches.
fn of_deliveries(figures: &mut Figures, program: &Program) {
    let deliveries = figures.many(50_000, 2_000);
    let service = Service::of(program, &[]);
    let sink = Sink::open(&service, 1);
    hub::subscribe(&service, &sink.urls, "*");
    let publisher = Publisher::of(&service);
    let spent = Spent::by(&service, "select count(*) from deliveries", || {
        let (mut caller, mut events) = (Caller::connect(service.address), deliveries);
        while events > 0 {
            caller.ask(201, &publisher.many("order.created", events.min(BATCH)));
            events -= events.min(BATCH);
        }
        sink.await_arrivals(deliveries);
        hub::await_recorded(&service);
    });
    spent.show(figures, "delivery", "with its event, published in batches and delivered at the first attempt");
}

/// Callbacks of a card gateway, each with a payment and an event.
fn of_callbacks(figures: &mut Figures, program: &Program) {
    let service = Service::of(program, &[("PORTICO_GATEWAYS__CALLBACKS_PER_MINUTE", "4000000000")]);
    let path = callbacks::card_gateway(&service);
    let mut next = callbacks::payments(&path);
    let time = figures.time(10);
    let spent = Spent::by(&service, "select count(*) from callbacks", || {
        rate(service.address, CALLERS, time, 200, &mut next);
        await_none(&service, "outbox");
    });
    spent.show(figures, "callback", "with its payment and its event");
}

/// Sign-ins by a code in a text.
fn of_sign_ins(figures: &mut Figures) {
    let service = Service::start(&[]);
    customers::insert(&service, codes::CUSTOMERS, None);
    Database::of(&service).execute("update stores set texts_per_day = 1000000, texts_per_country_and_day = 1000000");
    let before = codes::sign_in(&service, 0, figures.time(2)).count;
    Database::of(&service).execute("analyze");
    let time = figures.time(10);
    let spent = Spent::by(&service, "select count(*) from customer_tokens", || {
        codes::sign_in(&service, before, time);
    });
    spent.show(figures, "sign-in by code", "a text asked for, and its code checked");
}

/// Waits until nothing waits in a table of the queue.
fn await_none(service: &Service, table: &str) {
    let (mut database, until) = (Database::of(service), Instant::now() + Duration::from_secs(60));
    while database.number(&format!("select count(*) from {table}")) > 0 {
        assert!(Instant::now() < until, "{table} is not emptied");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What some work has cost.
struct Spent {
    count: i64,
    wal: i64,
    disk: i64,
    cpu: Cpu,
}

impl Spent {
    /// Works; `count` is the statement that counts the units.
    fn by(service: &Service, count: &str, work: impl FnOnce()) -> Self {
        let before = Self::until_now(service, count);
        work();
        let after = Self::until_now(service, count);
        Self {
            count: after.count - before.count,
            wal: after.wal - before.wal,
            disk: after.disk - before.disk,
            cpu: after.cpu.since(before.cpu),
        }
    }

    fn until_now(service: &Service, count: &str) -> Self {
        let mut database = Database::of(service);
        let (cpu, wal) = (Cpu::of(service), database.wal());
        // What has left the queue is no lasting cost.
        database.execute("vacuum");
        let disk = database.number("select sum(pg_total_relation_size(oid))::bigint from pg_class where relkind = 'r'");
        Self { count: database.number(count), wal, disk, cpu }
    }

    fn show(&self, figures: &mut Figures, unit: &str, what: &str) {
        let each = |spent: i64| spent as f64 / self.count as f64;
        figures.show(&format!("cost of a {unit}, bytes of WAL"), each(self.wal), Aim::Stated, &format!("{what}; {} of them", self.count));
        figures.show(&format!("cost of a {unit}, bytes on disk"), each(self.disk), Aim::Stated, "tables and indexes, vacuumed");
        let millis = self.cpu.total() * 1000.0 / self.count as f64;
        figures.show(&format!("cost of a {unit}, CPU in ms"), millis, Aim::Stated, "of the service and PostgreSQL");
        self.cpu.note(figures, &format!("cost of a {unit}"), self.count as f64);
    }
}
