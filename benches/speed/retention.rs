//! Publishing while expired days are dropped: the p99 from publishing to arrival ÷ the same without, in one run; and while somebody has
//! read the log for hours, such as a backup, so that the days cannot be dropped and are tried again and again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::figures::{Aim, Figures, millis};
use crate::support::database::Database;
use crate::support::hub::{self, Statements};
use crate::support::publisher::{Publisher, percentile};
use crate::support::service::Service;
use crate::support::sink::Sink;

const EVENT: &str = "order.created";
const PER_SECOND: u32 = 200;
/// How often housekeeping is tried. The service tries every hour.
const RETRY: Duration = Duration::from_secs(1);
/// The age in days of the day that has expired.
const AGE: i64 = 35;
/// A version 7 UUID of the instant `at`, different for each `n`.
const ID: &str = "overlay(md5(n::text)::uuid::text placing left(uuid_v7_floor(at)::text, 14) || '7' from 1)::uuid";

pub fn measure(figures: &mut Figures) {
    let deliveries = figures.many(500_000, 5_000);
    let service = Service::start(&[]);
    let sink = Sink::open(&service, 1);
    hub::subscribe(&service, &sink.urls, EVENT);
    let bench = Bench { publisher: Publisher::of(&service), sink, time: figures.time(10), service };
    place(&bench.service, deliveries);
    bench.p99();
    let alone = bench.p99();

    let reader = Reader::begin(&bench.service);
    let (with, _) = bench.p99_beside_housekeeping(|done| done.load(Ordering::Relaxed));
    drop(reader);
    assert!(bench.expired() > 0, "the day was dropped in spite of the reader");
    show(figures, "retention, publishing beside a long reader", with, alone, &format!("a day of {deliveries} deliveries that is in use"));

    let (with, time) = bench.p99_beside_housekeeping(|_| true);
    assert_eq!(bench.expired(), 0, "the day was not dropped");
    show(figures, "retention, publishing while a day is dropped", with, alone, &format!("a day of {deliveries} deliveries being dropped"));
    figures.show(
        "retention, seconds to drop a day",
        time.as_secs_f64(),
        Aim::AtMost(60.0),
        &format!("{deliveries} deliveries, one in 20 kept"),
    );
}

fn show(figures: &mut Figures, name: &str, with: Duration, alone: Duration, beside: &str) {
    let parts = format!("p99 {:.2} ms beside {beside} ÷ {:.2} ms alone", millis(with), millis(alone));
    figures.show(name, with.as_secs_f64() / alone.as_secs_f64(), Aim::TailAtMost(1.5), &parts);
}

struct Bench {
    service: Service,
    sink: Sink,
    publisher: Publisher,
    time: Duration,
}

impl Bench {
    fn p99(&self) -> Duration {
        percentile(&self.publisher.latencies(&self.service, &self.sink, EVENT, PER_SECOND, self.time), 0.99)
    }

    /// The same while housekeeping runs, again and again until it `is_enough`, which gets whether the measurement is over; and the time that
    /// housekeeping took.
    fn p99_beside_housekeeping(&self, is_enough: impl Fn(&AtomicBool) -> bool + Sync) -> (Duration, Duration) {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let housekeeping = scope.spawn(|| {
                let (statements, begin) = (Statements::of(&self.service), Instant::now());
                loop {
                    let _is_put_off = statements.keep_house();
                    if is_enough(&done) {
                        break begin.elapsed();
                    }
                    thread::sleep(RETRY);
                }
            });
            let p99 = self.p99();
            done.store(true, Ordering::Relaxed);
            (p99, housekeeping.join().unwrap())
        })
    }

    /// The deliveries of the expired day that are not kept for longer.
    fn expired(&self) -> i64 {
        Database::of(&self.service).number(&format!(
            "select count(*) from deliveries where state <> 'failed' and id < uuid_v7_floor(now() - interval '{} days')",
            AGE - 2
        ))
    }
}

/// A transaction that has read the log and sees it as it was.
struct Reader(Database);

impl Reader {
    fn begin(service: &Service) -> Self {
        let mut database = Database::of(service);
        database.execute(
            "begin isolation level repeatable read;
             set local idle_in_transaction_session_timeout = 0;
             select count(*) from events;
             select count(*) from deliveries;
             select count(*) from attempts",
        );
        Self(database)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.execute("rollback");
    }
}

/// Inserts a day of events, each with a closed delivery of one attempt. One delivery in twenty failed, so that it is kept for longer.
fn place(service: &Service, deliveries: usize) {
    let mut database = Database::of(service);
    let company = service.demo.company.uuid();
    let subscription: String = database.column("select id::text from subscriptions limit 1").remove(0);
    let day = format!("(date_trunc('day', now() at time zone 'UTC') - interval '{AGE} days') at time zone 'UTC'");
    let instants =
        format!("generate_series(1, {deliveries}) as n, lateral (select {day} + n * interval '100 milliseconds' as at) as instant");
    database.execute(&format!(
        "do $$
         declare parent text;
         begin
             foreach parent in array array['events', 'deliveries', 'attempts'] loop
                 execute format('create table %I partition of %I for values from (%L) to (%L)',
                                parent || to_char({day} at time zone 'UTC', '_YYYYMMDD'), parent,
                                uuid_v7_floor({day}), uuid_v7_floor({day} + interval '1 day'));
             end loop;
         end $$;
         set session_replication_role = replica;
         begin;
         insert into events (id, company_id, name, body, created_at)
         select {ID}, '{company}', '{EVENT}', '{{}}', at from {instants};
         insert into deliveries (id, company_id, subscription_id, event_id, event, state, attempts, created_at, closed_at)
         select {ID}, '{company}', '{subscription}', {ID}, '{EVENT}', case when n % 20 = 0 then 'failed' else 'delivered' end, 1, at, at
         from {instants};
         insert into attempts (id, delivery_id, number, started_at, duration_ms, status, request_headers, response_headers, response_body)
         select {ID}, {ID}, 1, at, 12, 200, '{{}}', '{{}}', '' from {instants};
         commit"
    ));
    for statement in ["vacuum analyze events", "vacuum analyze deliveries", "vacuum analyze attempts", "checkpoint"] {
        database.execute(statement);
    }
}
