//! `POST events` compared with PostgreSQL alone: events/s, each durable before its response, ÷ `pgbench` single-row inserts/s with
//! as many connections; and the gain of a batch.

use crate::figures::{Aim, Figures};
use crate::support::load::rate;
use crate::support::pgbench::Pgbench;
use crate::support::publisher::Publisher;
use crate::support::service::Service;
use crate::support::usage::resident_mib;

const CALLERS: usize = 16;
const ROUNDS: usize = 3;
const BATCH: usize = 100;

pub fn measure(figures: &mut Figures) {
    let service = Service::start(&[]);
    let publisher = Publisher::of(&service);
    let (one, many) = (publisher.one("order.created"), publisher.many("order.created", BATCH));
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
    let parts = format!("{batches:.0} events/s in batches of {BATCH} ÷ {single:.0} singly");
    figures.show("publish, batch", batches / single, Aim::AtLeast(5.0), &parts);
    figures.show("publish, memory in MiB", resident_mib(&service), Aim::AtMost(100.0), "the service's process afterwards");
}
