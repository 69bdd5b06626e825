//! `POST /webhooks/{gateway}` compared with PostgreSQL alone: callbacks/s ÷ `pgbench` single-row inserts/s on the same server,
//! alternating, with as many connections: a few, and many. Every callback is a new payment that is verified, recorded, processed
//! and published.

use std::time::Instant;

use portico::kernel::clock::Clock;
use portico::kernel::crypto::hmac_sha256;
use serde_json::json;

use crate::figures::{Aim, Figures, millis};
use crate::support::calls::{Caller, request};
use crate::support::database::Database;
use crate::support::load::rate;
use crate::support::pgbench::Pgbench;
use crate::support::program::Program;
use crate::support::service::Service;

/// The number of connections in other benchmarks, and many.
const CALLERS: [usize; 2] = [16, 64];
const ROUNDS: usize = 4;
const SECRET: &str = "whsec_of_the_benchmark";

pub fn measure(figures: &mut Figures) {
    let (service, path) = of_new_payments(figures, &Program::own());
    of_many_refunds(figures, &service, &path);
}

/// Callbacks of usual length, which every edition understands.
pub fn measure_from_outside(figures: &mut Figures, program: &Program) {
    of_new_payments(figures, program);
}

/// Returns the service that they were sent to, and their path.
fn of_new_payments(figures: &mut Figures, program: &Program) -> (Service, String) {
    // The private PostgreSQL allows as many connections as the service may open; `pgbench` needs many more.
    let settings = [("PORTICO_GATEWAYS__CALLBACKS_PER_MINUTE", "4000000000"), ("PORTICO_DATABASE__MAX_CONNECTIONS", "200")];
    // Only the response is measured; delivering the events is measured elsewhere.
    let service = Service::of(program, &settings).restart(&["--no-worker"]);
    let path = card_gateway(&service);
    let (mut payment, mut number) = (payments(&path), 0_u64);
    let mut next = || {
        number += 1;
        payment()
    };
    let time = figures.time(5);
    for callers in CALLERS {
        let pgbench = Pgbench::prepare(&service, callers);
        let (mut callbacks, mut inserts) = (0.0, 0.0);
        for _ in 0..ROUNDS {
            inserts += pgbench.inserts_per_second(time) / ROUNDS as f64;
            callbacks += rate(service.address, callers, time, 200, &mut next) / ROUNDS as f64;
        }
        let parts = format!("{callbacks:.0} callbacks/s ÷ {inserts:.0} inserts/s of pgbench -M prepared, {callers} connections each");
        figures.show(&format!("callbacks, {callers}"), callbacks / inserts, Aim::AtLeast(0.4), &parts);
        figures.note(&format!("callbacks, {callers}, callbacks/s"), callbacks);
    }
    let mut database = Database::of(&service);
    let (payments, events) =
        (database.number("select count(*) from payments"), database.number("select count(*) from events where name = 'payment.succeeded'"));
    assert_eq!((payments, events), (i64::try_from(number).unwrap(), payments), "each callback creates a payment and an event");
    (service, path)
}

/// The callbacks of one new payment after the other, to this path.
pub fn payments(path: &str) -> impl FnMut() -> Vec<u8> + use<> {
    let (path, mut number) = (path.to_owned(), 0_u64);
    move || {
        number += 1;
        let intent = json!({ "id": format!("pi_{number}"), "amount": 1000, "amount_received": 1000, "currency": "usd" });
        let body = json!({ "id": format!("evt_{number}"), "type": "payment_intent.succeeded", "data": { "object": intent } }).to_string();
        request("POST", &path, &[("card-signature", &signature(&body))], &body)
    }
}

/// Callbacks that report many refunds at once: each refund takes as long, however many there are.
fn of_many_refunds(figures: &mut Figures, service: &Service, path: &str) {
    const NUMBERS: [usize; 2] = [100, 1_000];
    let mut caller = Caller::connect(service.address);
    let mut fastest = |refunds: usize| {
        let times = (0..figures.many(20, 5)).map(|turn| {
            let refund = |number| json!({ "id": format!("re_{number}"), "amount": 1, "currency": "usd" });
            let listed: Vec<_> = (0..refunds).map(refund).collect();
            let charge = json!({ "id": format!("ch_{refunds}_{turn}"), "currency": "usd", "refunds": { "data": listed } });
            let event = json!({ "id": format!("evt_{refunds}_{turn}"), "type": "charge.refunded", "data": { "object": charge } });
            let body = event.to_string();
            let callback = request("POST", path, &[("card-signature", &signature(&body))], &body);
            let begin = Instant::now();
            caller.ask(200, &callback);
            begin.elapsed()
        });
        millis(times.min().unwrap())
    };
    let [few, many] = NUMBERS.map(&mut fastest);
    let each = (many / NUMBERS[1] as f64) / (few / NUMBERS[0] as f64);
    let parts =
        format!("time for each of {} refunds in one callback ({many:.1} ms) ÷ for each of {} ({few:.1} ms)", NUMBERS[1], NUMBERS[0]);
    figures.show("callbacks, many refunds", each, Aim::AtMost(1.5), &parts);
}

/// Creates a card gateway; returns the path of its callbacks.
pub fn card_gateway(service: &Service) -> String {
    let gateway = json!({ "name": "Cards", "driver": "card", "secret_key": "sk_test_12345678", "signing_secret": SECRET }).to_string();
    let create = request("POST", "/ledger/int/v1/gateways", &[("authorization", &service.api_key())], &gateway);
    Caller::connect(service.address).ask(201, &create)["gateway"]["callback_path"].as_str().unwrap().to_owned()
}

/// The signature of a callback of this gateway.
pub fn signature(body: &str) -> String {
    let time = Clock::System.now().timestamp();
    format!("t={time},v1={}", hex::encode(hmac_sha256(SECRET.as_bytes(), &[format!("{time}.").as_bytes(), body.as_bytes()])))
}
