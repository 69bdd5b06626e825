//! `POST /webhooks/{gateway}` compared with PostgreSQL alone: callbacks/s ÷ `pgbench` single-row inserts/s on the same server,
//! alternating, with as many connections: a few, and many. Every callback is a new payment that is verified, recorded, processed
//! and published.

use portico::kernel::clock::Clock;
use portico::kernel::crypto::hmac_sha256;
use serde_json::json;

use crate::figures::{Aim, Figures};
use crate::support::calls::{Caller, request};
use crate::support::database::Database;
use crate::support::load::rate;
use crate::support::pgbench::Pgbench;
use crate::support::service::Service;

/// The number of connections in other benchmarks, and many.
const CALLERS: [usize; 2] = [16, 64];
const ROUNDS: usize = 4;
const SECRET: &str = "whsec_of_the_benchmark";

pub fn measure(figures: &mut Figures) {
    // The private PostgreSQL allows as many connections as the service may open; `pgbench` needs many more.
    let settings = [("PORTICO_GATEWAYS__CALLBACKS_PER_MINUTE", "4000000000"), ("PORTICO_DATABASE__MAX_CONNECTIONS", "200")];
    // Only the response is measured; delivering the events is measured elsewhere.
    let service = Service::start(&settings).restart(&["--no-worker"]);
    let path = card_gateway(&service);

    let mut number = 0_u64;
    let mut next = || {
        number += 1;
        let intent = json!({ "id": format!("pi_{number}"), "amount": 1000, "amount_received": 1000, "currency": "usd" });
        let body = json!({ "id": format!("evt_{number}"), "type": "payment_intent.succeeded", "data": { "object": intent } }).to_string();
        request("POST", &path, &[("card-signature", &signature(&body))], &body)
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
    }
    let mut database = Database::of(&service);
    let (payments, events) =
        (database.number("select count(*) from payments"), database.number("select count(*) from events where name = 'payment.succeeded'"));
    assert_eq!((payments, events), (i64::try_from(number).unwrap(), payments), "each callback creates a payment and an event");
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
