//! Which gateway a callback comes from: the one it names, else the one whose signature header it carries, else the only one.

use chrono::TimeDelta;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::gateways::{SIGNING_SECRET, card_signature, paid, sha256_hex};
use crate::support::{Answer, World};

fn any(name: &str, header: &str) -> Value {
    let events = json!({ "payment_intent.succeeded": "payment.succeeded" });
    let pointers = json!({ "reference": "/data/object/id", "amount": "/data/object/amount", "currency": "/data/object/currency" });
    let settings = json!({ "signature": { "header": header }, "events": events, "pointers": pointers });
    json!({ "name": name, "driver": "hmac", "signing_secret": SIGNING_SECRET, "settings": settings })
}

async fn post(world: &World, headers: &[(&'static str, &str)], body: &Value) -> Answer {
    world.pass(TimeDelta::milliseconds(1));
    let key = world.key_of(world.company, &[Scope::Callbacks]).await;
    let mut request = world.request(Method::POST, "/webhooks").key(&key).json(body);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    request.send().await
}

async fn last_gateway(world: &World) -> Value {
    world.last_callback().await["gateway"].clone()
}

#[tokio::test]
async fn the_only_gateway_needs_no_name_and_several_do() {
    let world = World::new().await;
    let body = paid("evt_1");
    let hex = sha256_hex(SIGNING_SECRET, &body.to_string());
    post(&world, &[], &body).await.refused(404, "gateway_not_configured");
    world.gateway(json!({ "name": "Cash", "driver": "manual" })).await;
    post(&world, &[], &body).await.refused(404, "gateway_not_configured");
    let first = world.gateway(any("First", "X-First")).await;
    post(&world, &[], &body).await.refused(400, "callback_not_genuine");
    let second = world.gateway(any("Second", "X-Second")).await;
    post(&world, &[], &body).await.refused(422, "gateway_ambiguous");

    // The signature header selects the gateway.
    post(&world, &[("x-second", &hex)], &body).await.ok(200);
    assert_eq!(last_gateway(&world).await, second["id"]);
    post(&world, &[("x-first", &hex), ("x-second", &hex)], &body).await.refused(422, "gateway_ambiguous");
    // The name of the gateway takes precedence.
    let id = first["id"].as_str().unwrap();
    post(&world, &[("x-first", &hex), ("x-second", &hex), ("x-gateway-id", id)], &body).await.ok(200);
    assert_eq!(last_gateway(&world).await, first["id"]);
    let mut named = paid("evt_3");
    named["gateway_uuid"] = second["uuid"].clone();
    let signature = sha256_hex(SIGNING_SECRET, &named.to_string());
    post(&world, &[("x-second", &signature), ("x-gateway-id", id)], &named).await.ok(200);
    assert_eq!(last_gateway(&world).await, second["id"]);
}

#[tokio::test]
async fn one_that_cannot_be_used_is_in_nobodys_way() {
    let world = World::new().await;
    let body = paid("evt_1");
    world.gateway(any("First", "X-First")).await;
    sqlx::query("update gateways set signing_secret = 'broken'").execute(&world.pool).await.unwrap();
    world.gateway(any("Second", "X-Second")).await;
    post(&world, &[("x-second", &sha256_hex(SIGNING_SECRET, &body.to_string()))], &body).await.ok(200);
}

#[tokio::test]
async fn a_gateway_that_is_not_in_use_takes_nothing() {
    let world = World::new().await;
    let gateway = world.card().await;
    let path = format!("gateways/{}", gateway["id"].as_str().unwrap());
    let body = paid("evt_1");
    let signature = card_signature(SIGNING_SECRET, &body.to_string(), world.clock.now());
    world.ledger(Method::PUT, &path).json(&json!({ "status": "inactive" })).send().await.ok(200);
    world.call_back(&gateway, &body).await.refused(404, "gateway_not_configured");
    post(&world, &[("card-signature", &signature)], &body).await.refused(404, "gateway_not_configured");
    world.ledger(Method::PUT, &path).json(&json!({ "status": "active" })).send().await.ok(200);
    world.ledger(Method::DELETE, &path).send().await.ok(200);
    world.call_back(&gateway, &body).await.refused(404, "gateway_not_configured");
    let mut named = body.clone();
    for unknown in [gateway["uuid"].clone(), json!("gateway_01h455vb4pex5vsknk084sn02q"), json!("x"), json!(5)] {
        named["gateway_uuid"] = unknown;
        post(&world, &[("card-signature", &signature)], &named).await.refused(404, "gateway_not_configured");
    }
    let manual = world.gateway(json!({ "name": "Cash", "driver": "manual" })).await;
    named["gateway_uuid"] = manual["uuid"].clone();
    post(&world, &[], &named).await.refused(404, "gateway_not_configured");
    world.call_back(&manual, &body).await.refused(404, "gateway_not_configured");
}
