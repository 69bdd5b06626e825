//! Payment gateways: their signatures and their events.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use hmac::{Hmac, KeyInit, Mac};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Sha256, Sha512};

use crate::support::request::Request;
use crate::support::{Answer, World};

/// The signing secret of a story's card gateway.
pub const SIGNING_SECRET: &str = "whsec_8aF4yjnVhTC9N2bQ";
/// The API key for calls to the card gateway.
pub const SECRET_KEY: &str = "sk_live_PsTnV6hQqYc2";

impl World {
    /// A request to `ledger/int/v1`.
    pub fn ledger(&self, method: Method, path: &str) -> Request {
        self.api(method, &format!("/ledger/int/v1/{path}"))
    }

    /// Creates a gateway.
    pub async fn gateway(&self, body: Value) -> Value {
        self.ledger(Method::POST, "gateways").json(&body).send().await.ok(201)["gateway"].take()
    }

    /// Creates the company's card gateway.
    pub async fn card(&self) -> Value {
        self.gateway(json!({ "name": "Cards", "driver": "card", "secret_key": SECRET_KEY, "signing_secret": SIGNING_SECRET })).await
    }

    /// Creates a gateway of the driver `hmac` with these settings.
    pub async fn hmac_gateway(&self, settings: &Value) -> Value {
        self.gateway(json!({ "name": "Any", "driver": "hmac", "signing_secret": SIGNING_SECRET, "settings": settings })).await
    }

    /// Posts an event of the card gateway to its callback path, signed with the current time. Concurrent calls arrive at the same
    /// instant; sequential calls arrive one millisecond apart.
    pub async fn call_back(&self, gateway: &Value, event: &Value) -> Answer {
        self.pass(TimeDelta::milliseconds(1));
        let body = event.to_string();
        let signature = card_signature(SIGNING_SECRET, &body, self.clock.now());
        self.request(Method::POST, gateway["callback_path"].as_str().unwrap()).header("card-signature", &signature).json(event).send().await
    }

    /// The only payment, with its history.
    pub async fn payment(&self) -> Value {
        let list = self.ledger(Method::GET, "payments").send().await.ok(200);
        let [payment] = &list["payments"].as_array().unwrap()[..] else { panic!("one payment: {list}") };
        let path = format!("payments/{}", payment["id"].as_str().unwrap());
        self.ledger(Method::GET, &path).send().await.ok(200)["payment"].take()
    }

    /// The newest callback, with its details.
    pub async fn last_callback(&self) -> Value {
        let list = self.ledger(Method::GET, "callbacks?limit=1").send().await.ok(200);
        let path = format!("callbacks/{}", list["callbacks"][0]["id"].as_str().unwrap());
        self.ledger(Method::GET, &path).send().await.ok(200)["callback"].take()
    }

    /// The names and `data` of all events about payments so far, sorted by name.
    pub async fn payment_events(&self) -> Vec<(String, Value)> {
        let sql = "select name, body from events where name ~ '^(payment|refund|setup|chargeback)' order by name, id";
        let rows: Vec<(String, Vec<u8>)> = sqlx::query_as(sql).fetch_all(&self.pool).await.unwrap();
        let data = |body: Vec<u8>| serde_json::from_slice::<Value>(&body).unwrap()["data"].take();
        rows.into_iter().map(|(name, body)| (name, data(body))).collect()
    }

    /// The names of these events.
    pub async fn payment_event_names(&self) -> Vec<String> {
        self.payment_events().await.into_iter().map(|(name, _)| name).collect()
    }
}

/// The signature header of a card provider.
pub fn card_signature(secret: &str, body: &(impl AsRef<[u8]> + ?Sized), at: DateTime<Utc>) -> String {
    let time = at.timestamp();
    format!("t={time},v1={}", hex::encode(sha256(secret, &[format!("{time}.").as_bytes(), body.as_ref()].concat())))
}

pub fn sha256_hex(secret: &str, message: &str) -> String {
    hex::encode(sha256(secret, message.as_bytes()))
}

pub fn sha256_base64(secret: &str, message: &str) -> String {
    STANDARD.encode(sha256(secret, message.as_bytes()))
}

fn sha256(secret: &str, message: &[u8]) -> Vec<u8> {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

pub fn sha512_hex(secret: &str, message: &str) -> String {
    let mut mac = <Hmac<Sha512> as KeyInit>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(message.as_bytes());
    hex::encode(mac.finalize().into_bytes())
}

/// An event of the card provider.
pub fn event(id: &str, kind: &str, object: Value) -> Value {
    json!({ "id": id, "type": kind, "data": { "object": object } })
}

/// A payment of 10 dollars that succeeded.
pub fn paid(id: &str) -> Value {
    event(id, "payment_intent.succeeded", json!({ "id": "pi_1", "amount": 1000, "amount_received": 1000, "currency": "usd" }))
}

/// A refund of this payment.
pub fn refund(id: &str, refund: &str, amount: i64, status: &str) -> Value {
    let object = json!({ "id": refund, "payment_intent": "pi_1", "amount": amount, "currency": "usd", "status": status });
    event(id, "refund.updated", object)
}
