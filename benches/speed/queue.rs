//! The size of the tables that deliveries pass through, with autovacuum alone: in the last of several equal waves of deliveries ÷ in
//! the first one.

use crate::figures::{Aim, Figures};
use crate::support::database::Database;
use crate::support::hub;
use crate::support::service::Service;
use crate::support::sink::Sink;

const ENDPOINTS: usize = 10;
const WAVES: usize = 6;

pub fn measure(figures: &mut Figures) {
    let deliveries = figures.many(20_000, 2_000);
    let service = Service::start(&[]);
    let mut database = Database::of(&service);
    // By default, autovacuum looks for work once a minute; a wave takes seconds.
    database.execute("alter system set autovacuum_naptime = '1s'");
    database.execute("select pg_reload_conf()");
    let sink = Sink::open(&service, ENDPOINTS);
    hub::subscribe(&service, &sink.urls, "*");
    let sizes: Vec<_> = (0..WAVES).map(|_| most_in_a_wave(&service, &sink, &mut database, deliveries)).collect();
    let (first, last) = (sizes[0], sizes[WAVES - 1]);
    let parts = format!("{last:.0} KiB at most in wave {WAVES} of {deliveries} deliveries ÷ {first:.0} KiB in the first");
    figures.show("queue, growth", last / first, Aim::AtMost(1.5), &parts);
}

/// Delivers `deliveries` deliveries that all become due at once; returns the largest size of the tables meanwhile, in KiB.
fn most_in_a_wave(service: &Service, sink: &Sink, database: &mut Database, deliveries: usize) -> f64 {
    sink.forget();
    hub::publish(service, deliveries / ENDPOINTS);
    let mut most = 0;
    while sink.received().arrivals.len() < deliveries {
        let sizes = "select sum(pg_total_relation_size(name::regclass))::bigint from unnest(array['outbox', 'waiting', 'in_flight', 'endpoints']) as name";
        most = most.max(database.number(sizes));
    }
    hub::await_recorded(service);
    most as f64 / 1024.0
}
