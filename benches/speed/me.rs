//! `GET customers/me` compared with PostgreSQL alone: requests/s ÷ `pgbench -S -M prepared` transactions/s on the same server,
//! alternating, with as many connections.
//!
//! Five hundred customers with open apps take turns, which is the case that `storefront::caches` serves. The second figure is for
//! customers who ask rarely, each of whom is looked up in the database.

use std::time::Duration;

use crate::figures::{Aim, Figures, millis};
use crate::support::calls::request;
use crate::support::load::{load, rate};
use crate::support::pgbench::Pgbench;
use crate::support::program::Program;
use crate::support::service::Service;
use crate::support::{customers, usage};

const CALLERS: usize = 8;
const ROUNDS: usize = 4;
/// Customers with open apps.
const ACTIVE: usize = 500;

pub fn measure(figures: &mut Figures, program: &Program) {
    let service = Service::of(program, &[]);
    customers::insert(&service, figures.many(100_000, 20_000), None);
    let key = service.store_key();
    let me = |token: &String| request("GET", "/storefront/v1/customers/me", &[("authorization", &key), ("customer-token", token)], "");
    let requests: Vec<_> = customers::sign_in(&service).iter().map(me).collect();
    let asked_by = |customers: usize, time: Duration| {
        let mut turns = requests[..customers].iter().cycle();
        rate(service.address, CALLERS, time, 200, || turns.next().unwrap())
    };
    let pgbench = Pgbench::prepare(&service, CALLERS);

    let time = figures.time(5);
    let (mut active, mut everybody, mut postgres) = (0.0, 0.0, 0.0);
    for _ in 0..ROUNDS {
        postgres += pgbench.selects_per_second(time) / ROUNDS as f64;
        active += asked_by(ACTIVE, time) / ROUNDS as f64;
        everybody += asked_by(requests.len(), time) / ROUNDS as f64;
    }
    let alone = load(service.address, 1, time, &[200], |_, turn| requests[turn % ACTIVE].clone());
    let parts = |rate: f64| format!("{rate:.0} requests/s ÷ {postgres:.0} transactions/s of pgbench -S -M prepared");
    figures.show("me", active / postgres, Aim::AtLeast(0.60), &parts(active));
    figures.note("me, requests/s", active);
    figures.show("me, uncached", everybody / postgres, Aim::Stated, &parts(everybody));
    figures.note("me, uncached, requests/s", everybody);
    let parts = format!("p99 {:.2} ms, one caller", millis(alone.percentile(0.99)));
    figures.show("me, p50 in ms", millis(alone.percentile(0.50)), Aim::Stated, &parts);
    figures.show(
        "me, memory in MiB",
        usage::resident_mib(&service),
        Aim::Stated,
        "the service's process afterwards, twenty thousand sessions cached",
    );
}
