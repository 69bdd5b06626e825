//! Moving a company that is in use to another cell: for how long its requests have to wait, and how fast its log follows.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use portico::kernel::ids::CompanyId;
use serde_json::Value;

use crate::figures::{Aim, Figures};
use crate::support::calls::Caller;
use crate::support::cells::{Cells, Companies, EVENT, Host, Instance, until};
use crate::support::database::Database;
use crate::support::publisher::Publisher;
use crate::support::sink::Sink;

/// The pause between two requests of a client.
const PACE: Duration = Duration::from_millis(20);
/// How many requests of each kind succeed before the company moves, and after.
const BESIDE: usize = 50;

pub fn measure(figures: &mut Figures) {
    let (open, closed) = (figures.many(50_000, 1_000), figures.many(500_000, 2_000));
    let host = Host::start();
    let sink = Sink::open(&host.service, 1);
    let cells = Cells::on(&host, 2);
    let companies = Companies::found(&cells, 1);
    let (company, instance) = (&companies[0], Instance::serve(&host, &cells));
    companies.subscribe(&instance, &sink);
    fill(&mut Database::at(&cells.urls[company.cell]), company.id, open, closed);
    let sample = Publisher::of(&host.service).sample(EVENT);

    let (publishing, signing_in, stop) = (Client::default(), Client::default(), AtomicBool::new(false));
    let (moved, waits) = thread::scope(|scope| {
        let (instance, stop, sample) = (&instance, &stop, &sample);
        let clients = [
            scope.spawn(|| publishing.ask(instance, stop, 201, |_| company.publish(sample, 1))),
            scope.spawn(|| signing_in.ask(instance, stop, 200, |turn| company.sign_in(turn))),
        ];
        let asked = |more: usize| {
            let before = [&publishing, &signing_in].map(Client::count);
            until("both clients go on", || {
                [&publishing, &signing_in].iter().zip(before).all(|(client, before)| client.count() >= before + more)
            });
        };
        asked(BESIDE);
        let moved = host.run(&cells, &["company", "move", &company.id.to_string(), "--to", "c1", "--grace", "0", "--json"]);
        asked(BESIDE);
        stop.store(true, Ordering::SeqCst);
        let waits = clients.map(|client| client.join().unwrap());
        (serde_json::from_str::<Value>(&moved).unwrap()["company"].take(), waits)
    });
    sink.await_arrivals(publishing.count());
    let figure = |name: &str| moved[name].as_u64().unwrap() as f64;
    let (rows, log, seconds) = (figure("rows"), figure("log_rows"), figure("log_ms") / 1_000.0);
    assert!(rows >= 2.0 * open as f64 && log >= closed as f64, "{moved}");
    let [publishing, signing_in] = waits.map(|wait| wait.as_secs_f64());
    let parts = format!(
        "{publishing:.2} s for publishing, {signing_in:.2} s for sign-ins; {rows} rows, of which {} events and deliveries that wait",
        2 * open
    );
    figures.show("moving, seconds in which requests wait", publishing.max(signing_in), Aim::AtMost(5.0), &parts);
    let parts = format!("{log} deliveries and events in {seconds:.1} s, each delivery with its attempt");
    figures.show("moving, rows of the log/s", log / seconds, Aim::Stated, &parts);
}

/// A client that repeats what is answered 503, as the documentation says.
#[derive(Default)]
struct Client(AtomicUsize);

impl Client {
    /// How many requests have succeeded.
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Sends requests until it is told to stop, and returns the longest time until one succeeded, from when it was sent first.
    fn ask(&self, instance: &Instance, stop: &AtomicBool, expected: u16, next: impl Fn(usize) -> Vec<u8>) -> Duration {
        let (mut caller, mut longest) = (Caller::connect(instance.address), Duration::ZERO);
        while !stop.load(Ordering::SeqCst) {
            let (request, begin) = (next(self.count()), Instant::now());
            loop {
                let (status, body) = caller.call(&request);
                if status == expected {
                    break;
                }
                assert_eq!(status, 503, "{}", String::from_utf8_lossy(body));
                thread::sleep(PACE);
            }
            longest = longest.max(begin.elapsed());
            self.0.fetch_add(1, Ordering::SeqCst);
            thread::sleep(PACE);
        }
        longest
    }
}

/// Events whose deliveries wait for a second attempt, and deliveries that have ended.
fn fill(database: &mut Database, company: CompanyId, open: usize, closed: usize) {
    let company = company.uuid();
    let id = "overlay(md5(n::text)::uuid::text placing left(uuid_v7_floor(at)::text, 14) || '7' from 1)::uuid";
    let rows = |from: usize, to: usize| {
        format!("generate_series({from}, {to}) as n, lateral (select now() - n * interval '80 milliseconds' as at) as instant")
    };
    let (waiting, ended) = (rows(1, open), rows(open + 1, open + closed));
    let body = "convert_to(repeat('{\"order\":\"a usual one\"}', 20), 'UTF8')";
    database.execute(&format!(
        "insert into events (id, company_id, name, body, created_at) select {id}, '{company}', 'order.created', {body}, at from {waiting};
         insert into waiting (id, company_id, subscription_id, event_id, event, lane, due_at, attempts, failures, created_at, updated_at)
         select {id}, '{company}', subscription.id, {id}, 'order.created', 1, now() + interval '1 day', 1, 1, at, at
         from (select id from subscriptions where company_id = '{company}') as subscription, {waiting};
         insert into events (id, company_id, name, body, created_at) select {id}, '{company}', 'order.created', {body}, at from {ended};
         insert into deliveries (id, company_id, subscription_id, event_id, event, state, attempts, created_at, closed_at)
         select {id}, '{company}', gen_random_uuid(), {id}, 'order.created', 'delivered', 1, at, at from {ended};
         insert into attempts (id, delivery_id, number, started_at, duration_ms, status, request_headers, response_headers, response_body)
         select {id}, {id}, 1, at, 12, 200, '{{\"content-type\":\"application/json\"}}', '{{\"content-length\":\"0\"}}', '' from {ended};
         insert into feed (company_id, number, event_id)
         select '{company}', row_number() over (order by id), id from events where company_id = '{company}';
         insert into feed_heads (company_id, last) values ('{company}', {});",
        open + closed
    ));
    for statement in ["vacuum analyze", "checkpoint"] {
        database.execute(statement);
    }
}
