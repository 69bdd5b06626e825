//! Which callbacks of an `hmac` gateway are repetitions of one.

use portico::kernel::crypto::hmac_sha256;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::gateways::SIGNING_SECRET;

/// A gateway whose events have the ids of their transactions.
async fn gateway(world: &World, more: Value) -> Value {
    let mut settings = json!({
        "signature": { "header": "X-Signature" },
        "pointers": { "reference": "/id", "amount": "/amount", "currency": "/currency", "status": null },
        "events": { "pending": "payment.pending", "paid": "payment.succeeded", "refunded": "refund.processed" },
    });
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    world.hmac_gateway(&settings).await
}

async fn call_back(world: &World, gateway: &Value, body: Value) -> String {
    let signature = hex::encode(hmac_sha256(SIGNING_SECRET.as_bytes(), &[body.to_string().as_bytes()]));
    let post = world.request(Method::POST, gateway["callback_path"].as_str().unwrap()).header("x-signature", &signature);
    post.json(&body).send().await.ok(200)["message"].as_str().unwrap().to_owned()
}

fn body(kind: &str) -> Value {
    json!({ "id": "tx_1", "type": kind, "amount": 1000, "currency": "eur" })
}

#[tokio::test]
async fn pending_and_paid_of_one_transaction_are_two() {
    let world = World::new().await;
    let gateway = gateway(&world, json!({})).await;
    assert_eq!(call_back(&world, &gateway, body("pending")).await, "Webhook received.");
    assert_eq!(call_back(&world, &gateway, body("paid")).await, "Webhook received.");
    for kind in ["pending", "paid"] {
        assert_eq!(call_back(&world, &gateway, body(kind)).await, "Already processed.");
    }
    assert_eq!(world.payment().await["status"], "succeeded");
    assert_eq!(world.payment_event_names().await, ["payment.pending", "payment.succeeded"]);
    let found = world.ledger(Method::GET, "callbacks?event_id=tx_1").send().await.ok(200);
    assert_eq!(found["callbacks"].as_array().unwrap().len(), 2, "both are found by the id that the gateway sent");
}

#[tokio::test]
async fn so_are_two_statuses_where_the_settings_point_to_one() {
    let world = World::new().await;
    let pointers = json!({ "reference": "/id", "amount": "/amount", "currency": "/currency", "status": "/status" });
    let events = json!({ "*": { "NEW": "payment.pending", "DONE": "payment.succeeded" } });
    let gateway = gateway(&world, json!({ "pointers": pointers, "events": events })).await;
    let body = |status: &str| json!({ "id": "tx_1", "status": status, "amount": 1000, "currency": "eur" });
    assert_eq!(call_back(&world, &gateway, body("NEW")).await, "Webhook received.");
    assert_eq!(call_back(&world, &gateway, body("DONE")).await, "Webhook received.");
    assert_eq!(call_back(&world, &gateway, body("NEW")).await, "Already processed.");
    assert_eq!(world.payment().await["status"], "succeeded");
}

#[tokio::test]
async fn by_the_id_alone_they_are_one_if_the_gateway_is_set_so() {
    let world = World::new().await;
    let gateway = gateway(&world, json!({ "once_by": "id" })).await;
    assert_eq!(call_back(&world, &gateway, body("pending")).await, "Webhook received.");
    assert_eq!(call_back(&world, &gateway, body("paid")).await, "Already processed.");
}

#[tokio::test]
async fn what_was_recorded_before_variants_were_is_repeated_by_its_key_and_type() {
    let world = World::new().await;
    let (gateway, card) = (gateway(&world, json!({})).await, world.card().await);
    call_back(&world, &gateway, body("pending")).await;
    let event = crate::support::gateways::paid("evt_1");
    world.call_back(&card, &event).await.ok(200);
    sqlx::query("update callbacks set variant = null").execute(&world.pool).await.unwrap();
    assert_eq!(call_back(&world, &gateway, body("pending")).await, "Already processed.");
    assert_eq!(world.call_back(&card, &event).await.ok(200)["message"], "Already processed.");
    assert_eq!(call_back(&world, &gateway, body("paid")).await, "Webhook received.");
}

#[tokio::test]
async fn a_refund_or_capture_whose_id_cannot_be_read_is_not_booked_as_another_one() {
    let world = World::new().await;
    let pointers =
        json!({ "reference": "/id", "amount": "/amount", "currency": "/currency", "part": "/part", "capture": "/part", "id": "/event" });
    let gateway = gateway(&world, json!({ "pointers": pointers })).await;
    let path = gateway["callback_path"].as_str().unwrap();
    for (number, kind) in ["refunded", "refunded", "paid", "paid"].into_iter().enumerate() {
        let mut body = body(kind);
        (body["event"], body["part"]) = (json!(number), json!({ "id": "r1" }));
        let signature = hex::encode(hmac_sha256(SIGNING_SECRET.as_bytes(), &[body.to_string().as_bytes()]));
        let post = world.request(Method::POST, path).header("x-signature", &signature).json(&body);
        post.send().await.refused(400, "callback_not_understood");
        let detail = world.last_callback().await["detail"].take();
        assert!(detail.as_str().unwrap().contains("is neither a text nor a number"), "{detail}");
        world.pass(chrono::TimeDelta::seconds(1));
    }
    assert_eq!(world.count("select count(*) from payments").await, 0);
    let mut readable = body("refunded");
    (readable["event"], readable["part"]) = (json!("e9"), json!("r1"));
    assert_eq!(call_back(&world, &gateway, readable).await, "Webhook received.");
    assert_eq!(world.payment().await["refunded_amount"], 1000);
}
