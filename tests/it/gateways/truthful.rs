//! A callback never says more than what happened: released authorisations, captures in parts, units, inquiries, tries, and what the payment has passed.

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::gateways::{SECRET_KEY, SIGNING_SECRET, event, paid, refund, sha256_hex};
use crate::support::{Answer, World};

/// A charge of 50 dollars.
fn charge(more: Value) -> Value {
    let mut charge = json!({ "id": "ch_1", "payment_intent": "pi_1", "amount": 5000, "currency": "usd" });
    charge.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    charge
}

/// The total of the refunds of a charge was another one before.
fn after(mut event: Value, refunded_before: i64) -> Value {
    event["data"]["previous_attributes"] = json!({ "amount_refunded": refunded_before });
    event
}

/// A gateway of the driver `hmac`, and a callback from it that is accepted.
async fn hmac(world: &World, settings: Value) -> Value {
    let mut all = json!({ "signature": { "header": "X-Signature" } });
    all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    world.hmac_gateway(&all).await
}

async fn post(world: &World, gateway: &Value, body: &Value) -> Answer {
    world.pass(TimeDelta::milliseconds(1));
    let signature = sha256_hex(SIGNING_SECRET, &body.to_string());
    world.request(Method::POST, gateway["callback_path"].as_str().unwrap()).header("x-signature", &signature).json(body).send().await
}

#[tokio::test]
async fn a_released_authorisation_was_neither_paid_nor_refunded() {
    let world = World::new().await;
    let card = world.card().await;
    let held = charge(json!({ "captured": false, "amount_captured": 0 }));
    world.call_back(&card, &event("evt_1", "charge.succeeded", held)).await.ok(200);
    let released = charge(json!({ "captured": false, "amount_captured": 0, "amount_refunded": 5000, "refunded": true }));
    world.call_back(&card, &event("evt_2", "charge.refunded", released)).await.ok(200);
    let payment = world.payment().await;
    assert_eq!((&payment["status"], &payment["refunded_amount"]), (&json!("failed"), &json!(0)));
    assert_eq!(world.payment_event_names().await, ["payment.failed", "payment.pending"]);
}

#[tokio::test]
async fn a_payment_that_failed_at_any_gateway_was_not_refunded() {
    let world = World::new().await;
    let gateway = hmac(&world, json!({ "events": { "failed": "payment.failed", "refunded": "refund.processed" } })).await;
    for kind in ["failed", "refunded"] {
        let data = json!({ "id": "t1", "amount": 5000, "currency": "EUR" });
        post(&world, &gateway, &json!({ "id": format!("evt_{kind}"), "type": kind, "data": data })).await.ok(200);
    }
    let payment = world.payment().await;
    assert_eq!((&payment["status"], &payment["refunded_amount"]), (&json!("failed"), &json!(0)));
    assert_eq!(world.payment_event_names().await, ["payment.failed"]);
}

#[tokio::test]
async fn the_rest_of_a_partial_capture_is_no_refund() {
    let world = World::new().await;
    let card = world.card().await;
    let captured = charge(json!({ "captured": true, "amount_captured": 3000, "amount_refunded": 2000 }));
    let refunded = charge(json!({ "captured": true, "amount_captured": 3000, "amount_refunded": 2500 }));
    for callback in [
        event("evt_1", "charge.succeeded", charge(json!({ "captured": false }))),
        event("evt_2", "charge.captured", captured.clone()),
        after(event("evt_3", "charge.refunded", captured), 0),
        after(event("evt_4", "charge.refunded", refunded), 2000),
    ] {
        world.call_back(&card, &callback).await.ok(200);
    }
    let payment = world.payment().await;
    assert_eq!((&payment["status"], &payment["amount"]), (&json!("partially_refunded"), &json!(3000)));
    assert_eq!(payment["refunded_amount"], 500);
    let refunds: Vec<_> = world.payment_events().await.into_iter().filter(|(name, _)| name == "refund.processed").collect();
    assert_eq!(refunds.iter().map(|(_, data)| data["amount"].as_i64().unwrap()).collect::<Vec<_>>(), [500]);
}

#[tokio::test]
async fn a_release_that_the_provider_reports_as_a_refund_is_none() {
    let world = World::new().await;
    let card = world.card().await;
    let captured = charge(json!({ "captured": true, "amount_captured": 3000, "amount_refunded": 2000 }));
    world.call_back(&card, &event("evt_1", "charge.captured", captured)).await.ok(200);
    world.call_back(&card, &refund("evt_2", "re_1", 2000, "succeeded")).await.ok(200);
    assert_eq!(world.payment().await["status"], "succeeded");
    world.call_back(&card, &refund("evt_3", "re_2", 500, "succeeded")).await.ok(200);
    assert_eq!(world.payment().await["refunded_amount"], 500);
    assert_eq!(world.payment_event_names().await, ["payment.succeeded", "refund.processed"]);
}

#[tokio::test]
async fn a_refund_after_a_partial_capture_is_one_where_releases_are_none() {
    let world = World::new().await;
    let card = world.card().await;
    let of_version = |mut event: Value| {
        event["api_version"] = json!("2025-03-31.basil");
        event
    };
    let captured = json!({ "captured": true, "amount_captured": 3000, "amount_refunded": 0 });
    let refunded = json!({ "captured": true, "amount_captured": 3000, "amount_refunded": 2000 });
    world.call_back(&card, &of_version(event("evt_1", "charge.captured", charge(captured)))).await.ok(200);
    world.call_back(&card, &of_version(after(event("evt_2", "charge.refunded", charge(refunded)), 0))).await.ok(200);
    let payment = world.payment().await;
    assert_eq!((&payment["status"], &payment["refunded_amount"]), (&json!("partially_refunded"), &json!(2000)));
    assert_eq!(world.payment_event_names().await, ["payment.succeeded", "refund.processed"]);
}

#[tokio::test]
async fn a_sum_that_was_too_large_is_put_right_by_a_callback_that_knows_better() {
    let world = World::new().await;
    let card = world.card().await;
    world.call_back(&card, &event("evt_1", "charge.refunded", charge(json!({ "amount_refunded": 2500 })))).await.ok(200);
    assert_eq!(world.payment().await["refunded_amount"], 2500);
    let intent = json!({ "id": "pi_1", "amount": 5000, "amount_received": 3000, "currency": "usd" });
    world.call_back(&card, &event("evt_2", "payment_intent.succeeded", intent)).await.ok(200);
    let payment = world.payment().await;
    assert_eq!((&payment["refunded_amount"], &payment["status"]), (&json!(500), &json!("partially_refunded")));
}

#[tokio::test]
async fn captures_in_parts_add_up_and_are_two_facts() {
    let world = World::new().await;
    let gateway = hmac(&world, json!({ "events": { "captured": "payment.succeeded" }, "pointers": { "capture": "/data/capture" } })).await;
    for (id, amount) in [("cap_1", 3000), ("cap_2", 7000), ("cap_2", 7000)] {
        let data = json!({ "id": "t1", "capture": id, "amount": amount, "currency": "EUR" });
        post(&world, &gateway, &json!({ "id": format!("evt_{id}"), "type": "captured", "data": data })).await.ok(200);
    }
    let payment = world.payment().await;
    assert_eq!((&payment["amount"], payment["history"].as_array().unwrap().len()), (&json!(10_000), 2));
    let events = world.payment_events().await;
    let told: Vec<_> = events.iter().map(|(_, data)| json!([data["amount"], data["reference"], data["payment"]["amount"]])).collect();
    assert_eq!(json!(told), json!([[3000, "cap_1", 3000], [7000, "cap_2", 10_000]]));
}

#[tokio::test]
async fn captures_in_different_currencies_are_not_added() {
    let world = World::new().await;
    let gateway = hmac(&world, json!({ "events": { "captured": "payment.succeeded" }, "pointers": { "capture": "/data/capture" } })).await;
    for (id, amount, currency) in [("cap_1", 3000, "EUR"), ("cap_2", 7000, "USD")] {
        let data = json!({ "id": "t1", "capture": id, "amount": amount, "currency": currency });
        post(&world, &gateway, &json!({ "id": format!("evt_{id}"), "type": "captured", "data": data })).await.ok(200);
    }
    let payment = world.payment().await;
    assert_eq!((&payment["amount"], &payment["currency"]), (&json!(7000), &json!("USD")));
    let events = world.payment_events().await;
    let told: Vec<_> = events.iter().map(|(_, data)| json!([data["amount"], data["currency"]])).collect();
    assert_eq!(json!(told), json!([[3000, "EUR"], [7000, "USD"]]));
}

#[tokio::test]
async fn amounts_are_in_minor_units_whatever_the_provider_calls_them() {
    let world = World::new().await;
    let card = world.card().await;
    let intent = json!({ "id": "pi_1", "amount": 500, "amount_received": 500, "currency": "ugx" });
    world.call_back(&card, &event("evt_1", "payment_intent.succeeded", intent)).await.ok(200);
    let payment = world.payment().await;
    assert_eq!((&payment["amount"], &payment["currency"]), (&json!(5), &json!("UGX")), "five shillings");

    let world = World::new().await;
    let gateway = hmac(&world, json!({ "events": { "paid": "payment.succeeded" }, "decimals": { "XOF": 2 } })).await;
    let data = json!({ "id": "t1", "amount": 150_000, "currency": "XOF" });
    post(&world, &gateway, &json!({ "id": "evt_1", "type": "paid", "data": data })).await.ok(200);
    assert_eq!(world.payment().await["amount"], 1500);
}

#[tokio::test]
async fn an_event_of_the_past_says_how_the_payment_is_now() {
    let world = World::new().await;
    let card = world.card().await;
    world.call_back(&card, &paid("evt_2")).await.ok(200);
    let declined =
        json!({ "id": "pi_1", "amount": 1000, "currency": "usd", "last_payment_error": { "message": "Your card was declined." } });
    world.call_back(&card, &event("evt_1", "payment_intent.payment_failed", declined)).await.ok(200);
    let events = world.payment_events().await;
    let (name, failed) = &events[0];
    assert_eq!((name.as_str(), &failed["status"]), ("payment.failed", &json!("failed")));
    let now = json!({ "status": "succeeded", "amount": 1000, "refunded_amount": 0, "currency": "USD", "dispute": null });
    assert_eq!(failed["payment"], now);

    let dispute = json!({ "id": "dp_1", "payment_intent": "pi_1", "amount": 1000, "currency": "usd", "status": "won" });
    world.call_back(&card, &event("evt_4", "charge.dispute.closed", dispute.clone())).await.ok(200);
    world.call_back(&card, &event("evt_3", "charge.dispute.created", dispute)).await.ok(200);
    let events = world.payment_events().await;
    let (name, chargeback) = &events[0];
    assert_eq!((name.as_str(), &chargeback["payment"]["dispute"]), ("chargeback.created", &json!("won")));
    assert_eq!(world.payment_event_names().await, ["chargeback.created", "payment.failed", "payment.succeeded"]);
}

#[tokio::test]
async fn test_events_at_a_live_gateway_are_ignored_and_so_are_live_ones_at_a_test_gateway() {
    let world = World::new().await;
    let card = world.card().await;
    let of_mode = |id: &str, live: bool| {
        let mut event = paid(id);
        event["livemode"] = json!(live);
        event
    };
    assert_eq!(world.call_back(&card, &of_mode("evt_1", false)).await.ok(200)["message"], "Ignored.");
    let callback = world.last_callback().await;
    assert_eq!((&callback["status"], &callback["reason"]), (&json!("ignored"), &json!("test_event")));
    assert!(callback["detail"].as_str().unwrap().contains("test mode"), "{callback}");
    let path = format!("gateways/{}", card["id"].as_str().unwrap());
    let tried =
        world.ledger(Method::POST, &format!("{path}/test")).json(&json!({ "sample": of_mode("evt_1", false) })).send().await.ok(200);
    assert_eq!((&tried["ok"], &tried["contents"]), (&json!(false), &json!(null)));

    world.ledger(Method::PUT, &path).json(&json!({ "secret_key": SECRET_KEY.replace("live", "test") })).send().await.ok(200);
    assert_eq!(world.call_back(&card, &of_mode("evt_2", true)).await.ok(200)["message"], "Ignored.");
    assert_eq!(world.last_callback().await["reason"], "live_event");
    assert_eq!(world.count("select count(*) from payments").await, 0);

    // The key was the wrong one: the callback is processed by hand once it is right.
    world.ledger(Method::PUT, &path).json(&json!({ "secret_key": SECRET_KEY })).send().await.ok(200);
    let again = format!("callbacks/{}/process", world.last_callback().await["id"].as_str().unwrap());
    let processed = world.ledger(Method::POST, &again).send().await.ok(200)["callback"].take();
    assert_eq!((&processed["status"], &processed["reason"]), (&json!("processed"), &json!(null)));
    assert_eq!(world.call_back(&card, &of_mode("evt_3", true)).await.ok(200)["message"], "Webhook received.");
    assert_eq!(world.payment_event_names().await, ["payment.succeeded"]);
}

#[tokio::test]
async fn an_inquiry_becomes_a_chargeback_once_if_it_does() {
    let world = World::new().await;
    let card = world.card().await;
    let dispute = |id: &str, kind: &str, status: &str| {
        event(id, kind, json!({ "id": "dp_1", "payment_intent": "pi_1", "amount": 1000, "currency": "usd", "status": status }))
    };
    world.call_back(&card, &paid("evt_0")).await.ok(200);
    world.call_back(&card, &dispute("evt_1", "charge.dispute.created", "warning_needs_response")).await.ok(200);
    world.call_back(&card, &dispute("evt_2", "charge.dispute.updated", "warning_under_review")).await.ok(200);
    let payment = world.payment().await;
    assert_eq!((&payment["status"], &payment["dispute"]), (&json!("succeeded"), &json!(null)));
    assert_eq!(world.payment_event_names().await, ["payment.succeeded"]);
    world.call_back(&card, &dispute("evt_3", "charge.dispute.updated", "needs_response")).await.ok(200);
    world.call_back(&card, &dispute("evt_4", "charge.dispute.funds_withdrawn", "needs_response")).await.ok(200);
    assert_eq!(world.payment().await["status"], "disputed");
    assert_eq!(world.payment_event_names().await, ["chargeback.created", "payment.succeeded"]);
}

#[tokio::test]
async fn a_dispute_whose_beginning_never_came_is_told_when_it_is_closed() {
    let world = World::new().await;
    let card = world.card().await;
    let dispute = json!({ "id": "dp_1", "payment_intent": "pi_1", "amount": 1000, "currency": "usd", "status": "lost" });
    world.call_back(&card, &paid("evt_1")).await.ok(200);
    world.call_back(&card, &event("evt_2", "charge.dispute.closed", dispute)).await.ok(200);
    assert_eq!(world.payment_event_names().await, ["chargeback.created", "payment.succeeded"]);
}

#[tokio::test]
async fn a_dispute_that_was_prevented_is_none_and_one_that_is_closed_without_a_decision_is_not_won() {
    let dispute = |id: &str, kind: &str, status: Value| {
        event(id, kind, json!({ "id": "dp_1", "payment_intent": "pi_1", "amount": 1000, "currency": "usd", "status": status }))
    };
    let world = World::new().await;
    let card = world.card().await;
    world.call_back(&card, &paid("evt_1")).await.ok(200);
    world.call_back(&card, &dispute("evt_2", "charge.dispute.created", json!("prevented"))).await.ok(200);
    world.call_back(&card, &dispute("evt_3", "charge.dispute.closed", json!("prevented"))).await.ok(200);
    let payment = world.payment().await;
    assert_eq!((&payment["status"], &payment["dispute"]), (&json!("succeeded"), &json!(null)));
    assert_eq!(world.payment_event_names().await, ["payment.succeeded"]);

    world.call_back(&card, &dispute("evt_4", "charge.dispute.created", json!("needs_response"))).await.ok(200);
    world.call_back(&card, &dispute("evt_5", "charge.dispute.closed", json!(null))).await.ok(200);
    assert_eq!(world.payment().await["dispute"], "open");
    let callback = world.last_callback().await;
    assert_eq!((&callback["status"], &callback["reason"]), (&json!("processed"), &json!("partly_understood")));
    assert!(callback["detail"].as_str().unwrap().contains("closed with no status"), "{callback}");
    world.call_back(&card, &dispute("evt_6", "charge.dispute.updated", json!("lost"))).await.ok(200);
    assert_eq!(world.payment().await["dispute"], "lost", "before it is closed");
}

#[tokio::test]
async fn a_currency_that_cannot_be_read_is_not_the_default_one() {
    let world = World::new().await;
    let settings = json!({ "events": { "paid": "payment.succeeded" }, "amount_unit": "major", "currency": "EUR" });
    let gateway = hmac(&world, settings).await;
    let of =
        |id: &str, currency: Value| json!({ "id": id, "type": "paid", "data": { "id": id, "amount": "100.00", "currency": currency } });
    post(&world, &gateway, &of("t1", json!("USDT"))).await.refused(400, "callback_not_understood");
    assert_eq!(world.last_callback().await["detail"], "The currency \"USDT\" is no code of three letters.");
    assert_eq!(world.count("select count(*) from payments").await, 0);
    post(&world, &gateway, &of("t2", json!(null))).await.ok(200);
    let payment = world.payment().await;
    assert_eq!((&payment["amount"], &payment["currency"]), (&json!(10_000), &json!("EUR")));
}

#[tokio::test]
async fn a_refund_in_another_currency_gives_nothing_of_the_payment_back() {
    let world = World::new().await;
    let card = world.card().await;
    world.call_back(&card, &paid("evt_1")).await.ok(200);
    let refund = json!({ "id": "re_1", "payment_intent": "pi_1", "amount": 1000, "currency": "eur", "status": "succeeded" });
    world.call_back(&card, &event("evt_2", "refund.created", refund)).await.ok(200);
    let payment = world.payment().await;
    assert_eq!((&payment["status"], &payment["refunded_amount"]), (&json!("succeeded"), &json!(0)));
    let events = world.payment_events().await;
    assert_eq!((events[1].0.as_str(), &events[1].1["currency"]), ("refund.processed", &json!("EUR")));
}
