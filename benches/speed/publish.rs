//! `POST events` compared with PostgreSQL alone: events/s, each durable before its response, ÷ `pgbench` single-row inserts/s with
//! as many connections; the gain of a batch; and what is left of the rate while a subscriber gets all of them, with what each event costs
//! from its request to its recorded delivery.

use crate::figures::{Aim, Figures};
use crate::support::database::Database;
use crate::support::hub;
use crate::support::load::rate;
use crate::support::pgbench::Pgbench;
use crate::support::program::Program;
use crate::support::publisher::Publisher;
use crate::support::service::Service;
use crate::support::sink::Sink;
use crate::support::usage::{Cpu, resident_mib};

const CALLERS: usize = 16;
const ROUNDS: usize = 3;
const BATCH: usize = 100;
const EVENT: &str = "order.created";

pub fn measure(figures: &mut Figures, program: &Program) {
    let to_nobody = to_nobody(figures, program);
    while_delivered(figures, program, to_nobody);
}

/// Events that nobody has subscribed to. Returns how many are published in a second, one by one.
fn to_nobody(figures: &mut Figures, program: &Program) -> f64 {
    let service = Service::of(program, &[]);
    let publisher = Publisher::of(&service);
    let (one, many) = (publisher.one(EVENT), publisher.many(EVENT, BATCH));
    let pgbench = Pgbench::prepare(&service, CALLERS);
    let time = figures.time(8);
    let (mut inserts, mut single, mut batches) = (0.0, 0.0, 0.0);
    for _ in 0..ROUNDS {
        inserts += pgbench.inserts_per_second(time) / ROUNDS as f64;
        single += rate(service.address, CALLERS, time, 201, || &one) / ROUNDS as f64;
        batches += BATCH as f64 * rate(service.address, CALLERS, time, 201, || &many) / ROUNDS as f64;
    }
    let parts = format!("{single:.0} events/s ÷ {inserts:.0} inserts/s of pgbench, {CALLERS} connections each");
    figures.show("publish", single / inserts, Aim::AtLeast(0.5), &parts);
    figures.note("publish, events/s", single);
    let parts = format!("{batches:.0} events/s in batches of {BATCH} ÷ {single:.0} singly");
    figures.show("publish, batch", batches / single, Aim::AtLeast(5.0), &parts);
    let alone = rate(service.address, 1, time, 201, || &one);
    figures.show("publish, one caller in ms", 1000.0 / alone, Aim::Stated, &format!("{alone:.0} events/s, one after the other"));
    figures.show("publish, memory in MiB", resident_mib(&service), Aim::AtMost(100.0), "the service's process afterwards");
    single
}

/// The usual case: one webhook gets each event while others are published.
fn while_delivered(figures: &mut Figures, program: &Program, to_nobody: f64) {
    let service = Service::of(program, &[]);
    let sink = Sink::open(&service, 1);
    hub::subscribe(&service, &sink.urls, EVENT);
    let one = Publisher::of(&service).one(EVENT);
    let mut database = Database::of(&service);
    let (cpu, wal) = (Cpu::of(&service), database.wal());
    let per_second = rate(service.address, CALLERS, figures.time(8), 201, || &one);
    let events = database.number(&format!("select count(*) from events where name = '{EVENT}'"));
    sink.await_arrivals(events as usize);
    hub::await_recorded(&service);
    let (cpu, wal) = (Cpu::of(&service).since(cpu), database.wal() - wal);
    let name = "publish while delivered";
    let parts =
        format!("{per_second:.0} events/s while one webhook gets them ÷ {to_nobody:.0} that nobody gets, {CALLERS} connections each");
    figures.show(name, per_second / to_nobody, Aim::Stated, &parts);
    figures.note(&format!("{name}, events/s"), per_second);
    let parts = format!("of the service and PostgreSQL for each of {events} events, published and delivered");
    figures.show(&format!("{name}, CPU in ms"), cpu.total() * 1000.0 / events as f64, Aim::Stated, &parts);
    cpu.note(figures, name, events as f64);
    figures.note(&format!("{name}, bytes of WAL"), wal as f64 / events as f64);
}
