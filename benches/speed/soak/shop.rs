//! The customers and the systems of a shop: what they ask for, and what was acknowledged to them.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use argon2::password_hash::PasswordHasher;
use argon2::{Algorithm, Argon2, Params, Version};
use axum::http::{HeaderMap, StatusCode};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::call::Call;
use super::proxy::BROKEN_BY;
use crate::callbacks::{card_gateway, signature};
use crate::support::customers;
use crate::support::publisher::Publisher;
use crate::support::service::Service;

const PASSWORD: &str = "correct horse battery";
/// So many that nobody has more sessions at once than are kept.
const CUSTOMERS: usize = 1_000;
const EVENT: &str = "driver.online";
/// When a request is sent again that failed.
const AGAIN: Duration = Duration::from_millis(200);

pub struct Shop {
    client: Client,
    /// The URL of the proxy.
    base: String,
    store_key: String,
    api_key: String,
    tokens: Vec<String>,
    callback_path: String,
    sample: Value,
    /// The number of the next request.
    next: AtomicUsize,
    ledger: Mutex<Ledger>,
}

/// What became of the requests.
#[derive(Default)]
pub struct Ledger {
    /// What has to arrive at the subscriber: see [`mark`].
    pub acknowledged: Vec<String>,
    /// The tokens of sign-ins.
    pub tokens: Vec<String>,
    /// How long requests took, beginning when they were due.
    pub times: Vec<Duration>,
    pub failures: Vec<Failure>,
    /// Requests that failed again.
    pub given_up: Vec<Failure>,
}

/// A request that failed.
#[derive(Debug)]
pub struct Failure {
    pub at: Instant,
    /// The number of the instance that was answering it and broke off.
    pub broken_by: Option<usize>,
    /// The answer was that there is too much to do.
    pub too_much: bool,
    /// What was asked for, and what came instead.
    pub text: String,
}

impl Ledger {
    /// The requests that have failed since then.
    pub fn failures_since(&self, since: Instant) -> Vec<String> {
        self.failures.iter().filter(|failure| failure.at >= since).map(|failure| failure.text.clone()).collect()
    }
}

impl Shop {
    /// A shop with customers who have passwords, of whom each is signed in, and a payment gateway.
    pub fn open(service: &Service, proxy: SocketAddr) -> Self {
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(19_456, 2, 1, None).unwrap());
        customers::insert(service, CUSTOMERS, Some(&argon2.hash_password(PASSWORD.as_bytes()).unwrap().to_string()));
        Self {
            client: Client::builder().no_proxy().timeout(Duration::from_secs(30)).build().unwrap(),
            base: format!("http://{proxy}"),
            store_key: service.demo.store_key.clone(),
            api_key: service.demo.api_key.clone(),
            tokens: customers::sign_in(service),
            callback_path: card_gateway(service),
            sample: Publisher::of(service).sample(EVENT),
            next: AtomicUsize::new(0),
            ledger: Mutex::default(),
        }
    }

    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap()
    }

    /// Sends the next request, and once more if it fails.
    pub async fn ask(&self, due: Instant) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let call = Call::number(number);
        let mut sent = self.send(call, number).await;
        if let Err(failure) = sent {
            self.ledger().failures.push(failure);
            sleep(AGAIN).await;
            sent = self.send(call, number).await;
        }
        let mut ledger = self.ledger();
        match sent {
            Ok(answer) => {
                ledger.times.push(due.elapsed());
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                match call {
                    Call::Order => ledger.acknowledged.push(text(&answer["order"]["id"])),
                    Call::Event => ledger.acknowledged.push(text(&answer["event"]["id"])),
                    Call::Callback => ledger.acknowledged.push(transaction(number)),
                    Call::SignIn => ledger.tokens.push(text(&answer["token"])),
                    Call::Me | Call::List => {}
                }
            }
            Err(failure) => ledger.given_up.push(failure),
        }
    }

    async fn send(&self, call: Call, number: usize) -> Result<Value, Failure> {
        let failure = |what: String| Failure { at: Instant::now(), broken_by: None, too_much: false, text: format!("{call:?}: {what}") };
        let unreadable = |error| failure(format!("{error:?}"));
        let answer = self.request(call, number).send().await.map_err(unreadable)?;
        let broken_by = answer.headers().get(BROKEN_BY).map(|number| number.to_str().unwrap().parse().unwrap());
        let (status, body) = (answer.status(), answer.bytes().await.map_err(unreadable)?);
        let json = serde_json::from_slice(&body).ok().filter(|_| status.is_success());
        json.ok_or_else(|| {
            let too_much = status == StatusCode::TOO_MANY_REQUESTS;
            Failure { broken_by, too_much, ..failure(format!("{status} {}", String::from_utf8_lossy(&body))) }
        })
    }

    fn request(&self, call: Call, number: usize) -> RequestBuilder {
        let (method, path) = call.route();
        let path = if call == Call::Callback { &self.callback_path } else { path };
        let request = self.client.request(method.parse().unwrap(), format!("{}{path}", self.base));
        match call {
            Call::Me => self.of_customer(request, &self.tokens[number % self.tokens.len()]),
            Call::SignIn => {
                // One of a hundred requests is a sign-in.
                let body = json!({ "identity": customers::email(number / 100 % CUSTOMERS), "password": PASSWORD });
                request.bearer_auth(&self.store_key).json(&body)
            }
            Call::List => request.bearer_auth(&self.api_key),
            Call::Order => {
                request.bearer_auth(&self.api_key).json(&json!({ "payload": { "pickup": "1 Mill Lane", "dropoff": "2 High Street" } }))
            }
            Call::Event => {
                let body = json!({ "event": EVENT, "data": self.sample, "idempotency_key": number.to_string() });
                request.bearer_auth(&self.api_key).json(&body)
            }
            Call::Callback => {
                let intent = json!({ "id": transaction(number), "amount": 1000, "amount_received": 1000, "currency": "usd" });
                let event = json!({ "id": format!("evt_{number}"), "type": "payment_intent.succeeded", "data": { "object": intent } });
                let body = event.to_string();
                request.header("card-signature", signature(&body)).header("content-type", "application/json").body(body)
            }
        }
    }

    fn of_customer(&self, request: RequestBuilder, token: &str) -> RequestBuilder {
        request.bearer_auth(&self.store_key).header("customer-token", token)
    }

    /// Whether a token works.
    pub async fn is_signed_in(&self, token: &str) -> bool {
        let request = self.of_customer(self.client.get(format!("{}{}", self.base, Call::Me.route().1)), token);
        request.send().await.is_ok_and(|answer| answer.status() == 200)
    }
}

/// The gateway's name of the payment of a callback.
fn transaction(number: usize) -> String {
    format!("pi_{number}")
}

/// By what a delivery is known to whoever caused its event: the id of the order, the name of the payment, or the id of the event.
pub fn mark(headers: &HeaderMap, body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap();
    let mark = match headers["x-service-event"].to_str().unwrap() {
        "order.created" => &body["data"]["id"],
        "payment.succeeded" => &body["data"]["gateway_transaction_id"],
        _ => &body["id"],
    };
    mark.as_str().unwrap().to_owned()
}
