//! The memory that the limits use for a million different callers: the general throttle in memory, the others in PostgreSQL.

use std::thread::sleep;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use portico::kernel::clock::Clock;
use portico::kernel::rate_limit;

use crate::figures::{Aim, Figures};
use crate::support::calls::{address_of, request};
use crate::support::database::Database;
use crate::support::load::rate;
use crate::support::service::Service;
use crate::support::usage::resident_mib;

const CALLERS: usize = 8;
/// The service evicts expired entries every minute.
const UNTIL_SWEPT: Duration = Duration::from_secs(65);

pub fn measure(figures: &mut Figures) {
    let service = Service::start(&[("PORTICO_STOREFRONT__REQUESTS_PER_MINUTE", "600")]);
    in_memory(figures, &service);
    in_postgres(figures, &service);
}

fn in_memory(figures: &mut Figures, service: &Service) {
    let (keys, key) = (figures.many(1_000_000, 20_000), service.store_key());
    let mut number = 0;
    let mut next = || {
        number += 1;
        let headers = [("authorization", key.as_str()), ("x-forwarded-for", &address_of(number))];
        request("GET", "/storefront/v1/customers/me", &headers, "")
    };
    // Requests without a token are refused, but they count.
    rate(service.address, CALLERS, Duration::from_millis(200), 401, &mut next);
    let before = resident_mib(service);
    let begin = Instant::now();
    let mut most: f64 = before;
    let mut sent = 0.0;
    while sent < keys as f64 {
        let slice = Duration::from_millis(200);
        sent += rate(service.address, CALLERS, slice, 401, &mut next) * slice.as_secs_f64();
        most = most.max(resident_mib(service));
    }
    let parts = format!("{sent:.0} addresses within {:.0} s; {before:.0} MiB before", begin.elapsed().as_secs_f64());
    figures.show("limiter, most memory in MiB", most, Aim::AtMost(200.0), &parts);
    if !figures.quick {
        sleep(UNTIL_SWEPT);
        figures.show("limiter, memory after a sweep in MiB", resident_mib(service), Aim::AtMost(200.0), "a minute later");
    }
}

fn in_postgres(figures: &mut Figures, service: &Service) {
    let keys = figures.many(1_000_000, 50_000);
    let mut database = Database::of(service);
    let now = Clock::System.now();
    // The first hit of each key, as `kernel::rate_limit` writes it, but in one statement.
    let hits = format!(
        "insert into rate_limits (bucket, hits, expires_at)
         select format('sending:{}:%s/32', '10.0.0.0'::inet + n), array[now()], now() + interval '1 minute' from generate_series(1, {keys}) as n",
        service.demo.store,
    );
    let size = |database: &mut Database| database.number("select pg_total_relation_size('rate_limits')") as f64 / keys as f64;
    database.execute(&hits);
    let first = size(&mut database);
    let sweep = |database: &mut Database| {
        database.with(async |conn| rate_limit::sweep(conn, now + TimeDelta::hours(1)).await).unwrap();
        assert_eq!(database.number("select count(*) from rate_limits"), 0);
        // As autovacuum does a moment later.
        database.execute("vacuum rate_limits");
    };
    let begin = Instant::now();
    sweep(&mut database);
    let swept = begin.elapsed().as_secs_f64();
    let empty = size(&mut database);
    // The pages of an index can be reused only after the next vacuum.
    for _ in 0..2 {
        database.execute(&hits);
        sweep(&mut database);
    }
    database.execute(&hits);
    let last = size(&mut database);
    let parts = format!("{keys} of them; {swept:.1} s to sweep and vacuum, then {empty:.0} bytes each");
    figures.show("limiter, bytes on disk for each caller", first, Aim::AtMost(500.0), &parts);
    figures.show("limiter, growth", last / first, Aim::AtMost(2.0), "as many callers again after three sweeps ÷ the first ones");
}
