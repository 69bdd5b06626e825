//! Holds, captures, releases and refunds of one payment in every order: the payment ends the same, and subscribers hear what happened. The tests of
//! `facts::State` check more of them without the route.

use serde_json::{Value, json};

use crate::support::World;
use crate::support::gateways::event;

/// A callback about a charge or payment intent, without the ids of its payment: type, id of the object, and members. Its `previous_attributes` are those
/// of the event.
type Told = (&'static str, &'static str, Value);

/// All orders of some callbacks.
fn orders(callbacks: &[Told]) -> Vec<Vec<Told>> {
    if callbacks.is_empty() {
        return vec![Vec::new()];
    }
    let beginning_with = |first: usize| {
        let mut rest = callbacks.to_vec();
        let first = rest.remove(first);
        orders(&rest).into_iter().map(move |rest| [vec![first.clone()], rest].concat())
    };
    (0..callbacks.len()).flat_map(beginning_with).collect()
}

/// The status, the amount and the refunded amount of a payment, and its events so far, oldest first: name, amount, and state of the payment.
type Outcome = (Value, Vec<(String, i64, Value)>);

/// Lets these callbacks arrive, as those of one payment.
async fn arrive(world: &World, gateway: &Value, number: usize, callbacks: &[Told]) -> Outcome {
    let intent = format!("pi_{number}");
    for (place, (kind, id, members)) in callbacks.iter().enumerate() {
        let mut object = json!({ "id": format!("{id}_{number}"), "currency": "usd" });
        let is_intent = kind.starts_with("payment_intent.");
        object[if is_intent { "id" } else { "payment_intent" }] = json!(intent);
        object.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let before = object.as_object_mut().unwrap().remove("previous_attributes");
        let mut callback = event(&format!("evt_{number}_{place}"), kind, object);
        callback["data"]["previous_attributes"] = before.unwrap_or_default();
        world.call_back(gateway, &callback).await.ok(200);
    }
    let sql = "select status, amount, refunded from payments where transaction_id = $1";
    let (status, amount, refunded): (String, Option<i64>, i64) = sqlx::query_as(sql).bind(&intent).fetch_one(&world.pool).await.unwrap();
    let sql = "select name, body from events where name ~ '^(payment|refund)' order by id";
    let rows: Vec<(String, Vec<u8>)> = sqlx::query_as(sql).fetch_all(&world.pool).await.unwrap();
    let events = rows.into_iter().filter_map(|(name, body)| {
        let data = serde_json::from_slice::<Value>(&body).unwrap()["data"].take();
        (data["gateway_transaction_id"] == json!(intent)).then(|| (name, data["amount"].as_i64().unwrap(), data["payment"].clone()))
    });
    (json!([status, amount, refunded]), events.collect())
}

/// The amounts of the events of this name.
fn amounts(events: &[(String, i64, Value)], name: &str) -> Vec<i64> {
    events.iter().filter(|(named, ..)| named == name).map(|(_, amount, _)| *amount).collect()
}

/// The payment of 5000 failed, and subscribers know at the end that nothing was refunded.
fn assert_failed_and_not_refunded((payment, events): &Outcome, order: &[Told]) {
    assert_eq!(*payment, json!(["failed", 5000, 0]), "{order:?}");
    // A refund of which nothing else is known may be one of a payment whose beginning was never told. What follows puts it right.
    assert_eq!(amounts(events, "refund.processed").is_empty(), order[0].0 != "refund.created", "{order:?}");
    let (.., last) = events.last().unwrap();
    assert_eq!((&last["status"], &last["refunded_amount"]), (&json!("failed"), &json!(0)), "{order:?}");
}

#[tokio::test]
async fn a_cancelled_authorisation_whose_release_is_told_as_a_refund_was_not_refunded() {
    let world = World::new().await;
    let card = world.card().await;
    let held = json!({ "amount": 5000, "captured": false, "amount_captured": 0 });
    let released = json!({ "amount": 5000, "captured": false, "amount_captured": 0, "amount_refunded": 5000, "refunded": true });
    let callbacks = [
        ("charge.succeeded", "ch", held),
        ("payment_intent.canceled", "pi", json!({ "amount": 5000, "amount_received": 0, "latest_charge": "ch" })),
        ("refund.created", "re", json!({ "amount": 5000, "status": "succeeded" })),
        ("charge.refunded", "ch", released),
    ];
    for (number, order) in orders(&callbacks).iter().enumerate() {
        assert_failed_and_not_refunded(&arrive(&world, &card, number, order).await, order);
    }
}

#[tokio::test]
async fn a_failed_payment_was_not_refunded_even_if_its_hold_was_never_told() {
    let world = World::new().await;
    let card = world.card().await;
    let refund = ("refund.created", "re", json!({ "amount": 5000, "status": "succeeded" }));
    let released = json!({ "amount": 5000, "captured": false, "amount_captured": 0, "amount_refunded": 5000, "refunded": true });
    let by_intent = [
        ("payment_intent.payment_failed", "pi", json!({ "amount": 5000 })),
        refund.clone(),
        ("payment_intent.canceled", "pi", json!({ "amount": 5000, "amount_received": 0, "latest_charge": "ch" })),
    ];
    let by_charge = [("charge.failed", "ch", json!({ "amount": 5000, "captured": false })), refund, ("charge.refunded", "ch", released)];
    for (number, order) in [by_intent, by_charge].iter().flat_map(|callbacks| orders(callbacks)).enumerate() {
        assert_failed_and_not_refunded(&arrive(&world, &card, number, &order).await, &order);
    }
}

#[tokio::test]
async fn a_refund_of_a_payment_that_failed_is_told_when_another_attempt_succeeds() {
    let world = World::new().await;
    let card = world.card().await;
    let callbacks = [
        ("payment_intent.payment_failed", "pi", json!({ "amount": 5000 })),
        ("refund.created", "re", json!({ "amount": 2000, "status": "succeeded" })),
        ("payment_intent.succeeded", "pi", json!({ "amount": 5000, "amount_received": 5000 })),
    ];
    for (number, order) in orders(&callbacks).iter().enumerate() {
        let (payment, events) = arrive(&world, &card, number, order).await;
        assert_eq!(payment, json!(["partially_refunded", 5000, 2000]), "{order:?}");
        assert_eq!(amounts(&events, "refund.processed"), [2000], "{order:?}");
    }
}

#[tokio::test]
async fn a_refund_that_is_ahead_of_its_payment_is_told_when_the_payment_succeeds() {
    let world = World::new().await;
    let card = world.card().await;
    let callbacks = [
        ("payment_intent.processing", "pi", json!({ "amount": 5000 })),
        ("refund.created", "re", json!({ "amount": 2000, "status": "succeeded" })),
        ("payment_intent.succeeded", "pi", json!({ "amount": 5000, "amount_received": 5000 })),
    ];
    let (payment, events) = arrive(&world, &card, 0, &callbacks[..2]).await;
    assert_eq!((payment, amounts(&events, "refund.processed")), (json!(["pending", 5000, 0]), vec![]));
    for (number, order) in (1..).zip(&orders(&callbacks)) {
        let (payment, events) = arrive(&world, &card, number, order).await;
        assert_eq!(payment, json!(["partially_refunded", 5000, 2000]), "{order:?}");
        assert_eq!(amounts(&events, "refund.processed"), [2000], "{order:?}");
    }
}

#[tokio::test]
async fn each_capture_in_parts_is_told_by_what_it_added() {
    let world = World::new().await;
    let card = world.card().await;
    let captured = |amount: i64| json!({ "amount": 10_000, "captured": true, "amount_captured": amount, "amount_refunded": 0 });
    let callbacks = [
        ("charge.captured", "ch", captured(3000)),
        ("charge.captured", "ch", captured(10_000)),
        ("payment_intent.succeeded", "pi", json!({ "amount": 10_000, "amount_received": 10_000 })),
    ];
    let (payment, events) = arrive(&world, &card, 0, &callbacks).await;
    assert_eq!((payment, amounts(&events, "payment.succeeded")), (json!(["succeeded", 10_000, 0]), vec![3000, 7000]));
    assert_eq!(events.last().unwrap().2["amount"], 10_000, "subscribers know the whole amount");
    let reversed: Vec<_> = callbacks.into_iter().rev().collect();
    let (payment, events) = arrive(&world, &card, 1, &reversed).await;
    assert_eq!((payment, amounts(&events, "payment.succeeded")), (json!(["succeeded", 10_000, 0]), vec![10_000]));
}

#[tokio::test]
async fn a_refund_between_two_captures_is_no_release() {
    let world = World::new().await;
    let card = world.card().await;
    let captured = |more: Value| {
        let mut charge = json!({ "amount": 10_000, "captured": true });
        charge.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        charge
    };
    let callbacks = [
        ("charge.captured", "ch", captured(json!({ "amount_captured": 6000 }))),
        ("refund.created", "re", json!({ "amount": 4000, "status": "succeeded" })),
        ("charge.refunded", "ch", captured(json!({ "amount_captured": 6000, "amount_refunded": 4000 }))),
        ("charge.captured", "ch", captured(json!({ "amount_captured": 10_000, "amount_refunded": 4000 }))),
    ];
    for (number, order) in orders(&callbacks).iter().enumerate() {
        let (payment, events) = arrive(&world, &card, number, order).await;
        assert_eq!(payment, json!(["partially_refunded", 10_000, 4000]), "{order:?}");
        assert_eq!(amounts(&events, "payment.succeeded").iter().sum::<i64>(), 10_000, "{order:?}");
        assert_eq!(amounts(&events, "refund.processed").iter().sum::<i64>(), 4000, "{order:?}");
    }
}

/// A charge of 100 dollars of which so much was captured and returned.
fn charge(captured: i64, returned: i64) -> Value {
    json!({ "amount": 10_000, "captured": true, "amount_captured": captured, "amount_refunded": returned })
}

/// The same where so much had been returned before.
fn returned_more(captured: i64, before: i64, returned: i64) -> Value {
    let mut charge = charge(captured, returned);
    charge["previous_attributes"] = json!({ "amount_refunded": before });
    charge
}

#[tokio::test]
async fn a_refund_before_the_last_capture_is_published_once() {
    let world = World::new().await;
    let card = world.card().await;
    let refund = |amount: i64| json!({ "amount": amount, "status": "succeeded" });
    let one = vec![
        ("charge.captured", "ch", charge(3000, 0)),
        ("refund.created", "re_1", refund(2000)),
        ("charge.refunded", "ch", returned_more(3000, 0, 2000)),
        ("charge.captured", "ch", charge(6000, 6000)),
        ("refund.created", "re_9", refund(4000)),
        ("charge.refunded", "ch", returned_more(6000, 2000, 6000)),
    ];
    let two = vec![
        ("charge.captured", "ch", charge(3000, 0)),
        ("refund.created", "re_1", refund(2000)),
        ("charge.refunded", "ch", returned_more(3000, 0, 2000)),
        ("refund.created", "re_2", refund(1000)),
        ("charge.refunded", "ch", returned_more(3000, 2000, 3000)),
        ("charge.captured", "ch", charge(6000, 7000)),
        ("refund.created", "re_9", refund(4000)),
        ("charge.refunded", "ch", returned_more(6000, 3000, 7000)),
    ];
    for (number, (callbacks, refunds)) in [(one, vec![2000]), (two, vec![2000, 1000])].into_iter().enumerate() {
        let (payment, events) = arrive(&world, &card, number, &callbacks).await;
        assert_eq!(payment, json!(["partially_refunded", 6000, refunds.iter().sum::<i64>()]));
        assert_eq!(amounts(&events, "refund.processed"), refunds);
    }
}

#[tokio::test]
async fn the_last_capture_leaves_the_refund_before_it() {
    let world = World::new().await;
    let card = world.card().await;
    let callbacks = [
        ("charge.captured", "ch", charge(3000, 0)),
        ("charge.refunded", "ch", returned_more(3000, 0, 2000)),
        ("charge.captured", "ch", charge(6000, 6000)),
    ];
    let refund = ("refund.created", "re", json!({ "amount": 2000, "status": "succeeded" }));
    let later = vec![callbacks[0].clone(), callbacks[2].clone(), callbacks[1].clone(), refund];
    for (number, order) in orders(&callbacks).iter().chain([&later]).enumerate() {
        let (payment, events) = arrive(&world, &card, number, order).await;
        assert_eq!(payment, json!(["partially_refunded", 6000, 2000]), "{order:?}");
        assert_eq!(amounts(&events, "refund.processed"), [2000], "{order:?}");
        let (.., last) = events.last().unwrap();
        assert_eq!((&last["amount"], &last["refunded_amount"]), (&json!(6000), &json!(2000)), "{order:?}");
    }
}
