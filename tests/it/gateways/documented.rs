//! The gateways of `docs/gateways.md`, configured as the page says and called with their own requests.

use chrono::TimeDelta;
use portico::kernel::clock::timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::gateways::{card_signature, paid, sha256_base64, sha256_hex, sha512_hex};
use crate::support::page::json_below;
use crate::support::{Answer, World};

const PAGE: &str = include_str!("../../../docs/gateways.md");

async fn post(world: &World, gateway: &Value, header: &'static str, signature: &str, body: &Value) -> Answer {
    world.request(Method::POST, gateway["callback_path"].as_str().unwrap()).header(header, signature).json(body).send().await
}

#[tokio::test]
async fn the_card_provider() {
    let world = World::new().await;
    let settings = json_below(PAGE, "The card provider");
    let gateway = world.gateway(settings.clone()).await;
    let body = paid("evt_1");
    let signature = card_signature(settings["signing_secret"].as_str().unwrap(), &body.to_string(), world.clock.now());
    assert_eq!(post(&world, &gateway, "stripe-signature", &signature, &body).await.ok(200)["message"], "Webhook received.");
    assert_eq!(world.payment_event_names().await, ["payment.succeeded"]);
}

#[tokio::test]
async fn razorpay() {
    let world = World::new().await;
    let settings = json_below(PAGE, "Razorpay");
    let gateway = world.gateway(settings.clone()).await;
    let order = world.order(json!({})).await;
    let payment = |status: &str| json!({ "entity": { "id": "pay_1", "amount": 50000, "currency": "INR", "status": status, "notes": { "order_id": order["id"] }, "error_description": "As agreed" } });
    let refund = |id: &str, amount: i64| json!({ "entity": { "id": id, "payment_id": "pay_1", "amount": amount, "currency": "INR" } });
    let dispute = json!({ "entity": { "id": "disp_1", "payment_id": "pay_1", "amount": 50000, "currency": "INR" } });
    let mut callbacks = Vec::new();
    for (event, payload) in [
        ("payment.authorized", json!({ "payment": payment("authorized") })),
        ("payment.captured", json!({ "payment": payment("captured") })),
        ("refund.processed", json!({ "payment": payment("captured"), "refund": refund("rfnd_1", 20000) })),
        ("refund.processed", json!({ "payment": payment("captured"), "refund": refund("rfnd_2", 5000) })),
        ("payment.dispute.created", json!({ "payment": payment("captured"), "dispute": dispute })),
    ] {
        let body = json!({ "entity": "event", "event": event, "contains": [], "payload": payload, "created_at": 1_779_358_500 });
        let signature = sha256_hex(settings["signing_secret"].as_str().unwrap(), &body.to_string());
        assert_eq!(post(&world, &gateway, "x-razorpay-signature", &signature, &body).await.ok(200)["message"], "Webhook received.");
        assert_eq!(post(&world, &gateway, "x-razorpay-signature", &signature, &body).await.ok(200)["message"], "Already processed.");
        callbacks.push(json!([world.last_callback().await["id"], timestamp(world.clock.now())]));
        world.pass(TimeDelta::minutes(1));
    }
    let paid = world.payment().await;
    assert_eq!((&paid["status"], &paid["amount"], &paid["refunded_amount"]), (&json!("disputed"), &json!(50000), &json!(25000)));
    assert_eq!((&paid["order"], &paid["currency"]), (&order["id"], &json!("INR")));
    let expected = ["chargeback.created", "payment.pending", "payment.succeeded", "refund.processed", "refund.processed"];
    assert_eq!(world.payment_event_names().await, expected);
    let history = [
        ("payment_pending", None, 50000),
        ("payment_succeeded", None, 50000),
        ("refund_processed", Some("rfnd_1"), 20000),
        ("refund_processed", Some("rfnd_2"), 5000),
        ("dispute_created", Some("disp_1"), 50000),
    ];
    let history: Vec<_> = history
        .iter()
        .zip(&callbacks)
        .map(|((fact, reference, amount), callback)| {
            json!({ "fact": fact, "reference": reference, "amount": amount, "total": null, "currency": "INR", "message": "As agreed",
                    "callback": callback[0], "at": callback[1] })
        })
        .collect();
    assert_eq!(paid["history"], json!(history));
    for (words, count) in [("PAY_1", 1), ("pay_2", 0)] {
        let found = world.ledger(Method::GET, &format!("payments?query={words}")).send().await.ok(200);
        assert_eq!(found["payments"].as_array().unwrap().len(), count, "{words}");
    }
}

#[tokio::test]
async fn square() {
    let world = World::new().await;
    let settings = json_below(PAGE, "Square");
    let gateway = world.gateway(settings.clone()).await;
    let address = settings["settings"]["signature"]["signed"].as_str().unwrap().strip_suffix("{body}").unwrap();
    let money = |amount: i64| json!({ "amount": amount, "currency": "USD" });
    for (id, kind, object) in [
        ("e1", "payment.created", json!({ "payment": { "id": "P1", "status": "APPROVED", "amount_money": money(1500) } })),
        ("e2", "payment.updated", json!({ "payment": { "id": "P1", "status": "COMPLETED", "amount_money": money(1500) } })),
        (
            "e3",
            "refund.updated",
            json!({ "refund": { "id": "P1_R1", "payment_id": "P1", "status": "COMPLETED", "amount_money": money(1500) } }),
        ),
    ] {
        let body = json!({ "merchant_id": "M", "type": kind, "event_id": id, "data": { "type": "x", "id": "y", "object": object } });
        let signature = sha256_base64(settings["signing_secret"].as_str().unwrap(), &format!("{address}{body}"));
        post(&world, &gateway, "x-square-hmacsha256-signature", &signature, &body).await.ok(200);
        let of_the_body_alone = sha256_base64(settings["signing_secret"].as_str().unwrap(), &body.to_string());
        post(&world, &gateway, "x-square-hmacsha256-signature", &of_the_body_alone, &body).await.refused(400, "callback_not_genuine");
    }
    let paid = world.payment().await;
    assert_eq!((&paid["status"], &paid["amount"], &paid["gateway_transaction_id"]), (&json!("refunded"), &json!(1500), &json!("P1")));
    assert_eq!(world.payment_event_names().await, ["payment.pending", "payment.succeeded", "refund.processed"]);
}

#[tokio::test]
async fn paystack() {
    let world = World::new().await;
    let settings = json_below(PAGE, "Paystack");
    let gateway = world.gateway(settings.clone()).await;
    let charge = json!({ "event": "charge.success", "data": {
        "id": 302961, "status": "success", "reference": "qTPrJoy9Bx", "amount": 10000, "currency": "NGN", "gateway_response": "Approved" } });
    let refund = json!({ "event": "refund.processed", "data": {
        "status": "processed", "transaction_reference": "qTPrJoy9Bx", "refund_reference": "TRF_1", "amount": "10000", "currency": "NGN" } });
    for body in [charge, refund] {
        let signature = sha512_hex(settings["signing_secret"].as_str().unwrap(), &body.to_string());
        post(&world, &gateway, "x-paystack-signature", &signature, &body).await.ok(200);
    }
    let paid = world.payment().await;
    assert_eq!((&paid["status"], &paid["gateway_transaction_id"]), (&json!("refunded"), &json!("qTPrJoy9Bx")));
    assert_eq!(world.payment_events().await[0].1["message"], "Approved");
    assert_eq!(world.payment_event_names().await, ["payment.succeeded", "refund.processed"]);
}
