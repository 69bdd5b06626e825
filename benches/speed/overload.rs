//! Three times as many requests as the service can answer, at four of its doors: how much of its capacity remains, how soon the others are
//! refused, and whether memory grows.
//!
//! The capacity is the most that some number of connections reach that send on as soon as they are answered; then more connections send at
//! three times that pace. All run on one thread of the same machine, so the callers take as much from the service every time.

use std::cell::Cell;
use std::time::Duration;

use argon2::password_hash::PasswordHasher;
use argon2::{Algorithm, Argon2, Params, Version};
use portico::kernel::clock::Clock;
use portico::kernel::crypto::hmac_sha256;
use serde_json::json;

use crate::figures::{Aim, Figures, millis};
use crate::support::calls::{Caller, request};
use crate::support::offer::offer;
use crate::support::publisher::{Publisher, percentile};
use crate::support::service::Service;
use crate::support::{customers, usage};

const PASSWORD: &str = "correct horse battery";
const CUSTOMERS: usize = 500;
const SECRET: &str = "whsec_of_the_benchmark";
/// Numbers of connections that are answered one after the other. With more of them, more requests share a commit.
const NUMBERS: [usize; 3] = [8, 32, 128];
/// How many times the capacity is offered.
const OVERLOAD: f64 = 3.0;

pub fn measure(figures: &mut Figures) {
    let service = Service::start(&[("PORTICO_GATEWAYS__CALLBACKS_PER_MINUTE", "4000000000")]).restart(&["--no-worker"]);
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(19_456, 2, 1, None).unwrap());
    customers::insert(&service, CUSTOMERS, Some(&argon2.hash_password(PASSWORD.as_bytes()).unwrap().to_string()));
    let tokens = customers::sign_in(&service);
    let (key, turn) = (service.store_key(), Cell::new(0));
    let next = || turn.replace(turn.get() + 1);

    door(figures, &service, "login", 200, || {
        let body = json!({ "identity": customers::email(next() % CUSTOMERS), "password": PASSWORD }).to_string();
        request("POST", "/storefront/v1/customers/login", &[("authorization", &key)], &body)
    });
    door(figures, &service, "me", 200, || {
        let token = &tokens[next() % tokens.len()];
        request("GET", "/storefront/v1/customers/me", &[("authorization", &key), ("customer-token", token)], "")
    });
    let event = Publisher::of(&service).one("order.created");
    door(figures, &service, "events", 201, || event.clone());

    let gateway = json!({ "name": "Cards", "driver": "card", "secret_key": "sk_test_12345678", "signing_secret": SECRET }).to_string();
    let create = request("POST", "/ledger/int/v1/gateways", &[("authorization", &service.api_key())], &gateway);
    let path = Caller::connect(service.address).ask(201, &create)["gateway"]["callback_path"].as_str().unwrap().to_owned();
    door(figures, &service, "callbacks", 200, || {
        let number = next();
        let intent = json!({ "id": format!("pi_{number}"), "amount": 1000, "amount_received": 1000, "currency": "usd" });
        let body = json!({ "id": format!("evt_{number}"), "type": "payment_intent.succeeded", "data": { "object": intent } }).to_string();
        let time = Clock::System.now().timestamp();
        let mac = hmac_sha256(SECRET.as_bytes(), &[format!("{time}.").as_bytes(), body.as_bytes()]);
        request("POST", &path, &[("card-signature", &format!("t={time},v1={}", hex::encode(mac)))], &body)
    });
}

/// Offers requests to one door.
fn door(figures: &mut Figures, service: &Service, name: &str, expected: u16, next: impl Fn() -> Vec<u8>) {
    let (many, time) = (figures.many(1_000, 200), figures.time(6));
    let run = |connections: usize, pace: Option<f64>, time: Duration| offer(service.address, connections, pace, time, expected, &next);
    let capacities = NUMBERS.map(|connections| (run(connections, None, time).good, connections));
    let (capacity, connections) = capacities.into_iter().max_by(|one, other| one.0.total_cmp(&other.0)).expect("there are some numbers");
    let flood = || run(many, Some(OVERLOAD * capacity), time);
    let first = flood();
    let before = usage::resident_mib(service);
    let second = flood();
    let after = usage::resident_mib(service);

    let good = (first.good + second.good) / 2.0;
    let parts = format!("{good:.0} answers/s of {:.0} requests/s on {many} connections ÷ {capacity:.0}/s on {connections}", second.sent);
    figures.show(&format!("overload, {name}"), good / capacity, Aim::AtLeast(0.8), &parts);
    match &second.refusals[..] {
        [] => figures.show(&format!("overload, {name}, refusals"), 0.0, Aim::Stated, "all waited and were answered"),
        refusals => {
            let parts = format!("ms until a refusal, p50 {:.1} ms, {} refusals", millis(percentile(refusals, 0.5)), refusals.len());
            figures.show(&format!("overload, {name}, refusals p99"), millis(percentile(refusals, 0.99)), Aim::TailAtMost(20.0), &parts);
        }
    }
    let parts = format!("{after:.0} MiB after two floods ÷ {before:.0} MiB after one");
    figures.show(&format!("overload, {name}, memory"), after / before, Aim::AtMost(1.1), &parts);
}
