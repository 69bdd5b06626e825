//! Any order and any repetition of a payment's callbacks ends in the same state and publishes each normalised event once. The tests
//! of `facts::State` check the same for thousands of stories without the route.

use futures::future::join_all;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::chance::chance;
use crate::support::gateways::{event, paid, refund};

/// A payment that failed once, succeeded, was refunded in two parts of which one failed, and was disputed.
fn story() -> Vec<Value> {
    let intent = json!({ "id": "pi_1", "amount": 1000, "currency": "usd" });
    let charge = |refunded: i64, before: i64| {
        let mut event = total(refunded);
        event["data"]["previous_attributes"] = json!({ "amount_refunded": before });
        event
    };
    let dispute = json!({ "id": "dp_1", "payment_intent": "pi_1", "amount": 1000, "currency": "usd", "status": "needs_response" });
    vec![
        event("evt_processing", "payment_intent.processing", intent.clone()),
        event("evt_failed", "payment_intent.payment_failed", intent),
        paid("evt_paid"),
        event("evt_charge", "charge.succeeded", json!({ "id": "ch_1", "payment_intent": "pi_1", "amount": 1000, "currency": "usd" })),
        charge(300, 0),
        refund("evt_re_1", "re_1", 300, "succeeded"),
        charge(500, 300),
        refund("evt_re_2", "re_2", 200, "succeeded"),
        refund("evt_re_2_back", "re_2", 200, "failed"),
        event("evt_dispute", "charge.dispute.created", dispute),
    ]
}

/// A charge that says what was refunded so far, and not what of it is new.
fn total(refunded: i64) -> Value {
    let object = json!({ "id": "ch_1", "payment_intent": "pi_1", "amount": 1000, "amount_refunded": refunded, "currency": "usd" });
    event(&format!("evt_sum_{refunded}"), "charge.refunded", object)
}

/// The fields of the payment that do not depend on when its facts were recorded.
fn time_independent(mut payment: Value) -> Value {
    for member in ["id", "uuid", "gateway", "history", "created_at", "updated_at"] {
        payment.as_object_mut().unwrap().remove(member);
    }
    payment
}

#[tokio::test]
async fn any_order_and_repetition_ends_in_one_state_and_publishes_each_event_once() {
    let mut runner = chance();
    let mut outcomes = Vec::new();
    for round in 0..8 {
        let world = World::new().await;
        let gateway = world.card().await;
        let mut arrivals = story();
        if round > 0 {
            let twice: Vec<_> = story().into_iter().chain(story()).collect();
            arrivals = Just(twice).prop_shuffle().new_tree(&mut runner).unwrap().current();
        }
        for event in &arrivals {
            world.call_back(&gateway, event).await.ok(200);
        }
        outcomes.push((time_independent(world.payment().await), world.payment_event_names().await));
    }
    let (payment, names) = &outcomes[0];
    assert_eq!((&payment["status"], &payment["refunded_amount"], &payment["dispute"]), (&json!("disputed"), &json!(300), &json!("open")));
    assert_eq!(
        names,
        &[
            "chargeback.created",
            "payment.failed",
            "payment.pending",
            "payment.succeeded",
            "refund.failed",
            "refund.processed",
            "refund.processed"
        ]
    );
    for outcome in &outcomes {
        assert_eq!(outcome, &outcomes[0]);
    }
}

#[tokio::test]
async fn all_of_them_at_once_end_there_too() {
    let world = World::new().await;
    let gateway = world.card().await;
    let arrivals: Vec<_> = story().into_iter().chain(story()).collect();
    for answer in join_all(arrivals.iter().map(|event| world.call_back(&gateway, event))).await {
        answer.ok(200);
    }
    let payment = world.payment().await;
    assert_eq!((&payment["status"], &payment["refunded_amount"], &payment["amount"]), (&json!("disputed"), &json!(300), &json!(1000)));
    assert_eq!(world.payment_event_names().await.len(), 7);
}

#[tokio::test]
async fn a_refund_before_its_payment_ends_like_one_after_it() {
    let world = World::new().await;
    let gateway = world.card().await;
    world.call_back(&gateway, &refund("evt_2", "re_1", 1000, "succeeded")).await.ok(200);
    let early = world.payment().await;
    assert_eq!((&early["status"], &early["amount"], &early["refunded_amount"]), (&json!("partially_refunded"), &json!(null), &json!(1000)));
    world.call_back(&gateway, &paid("evt_1")).await.ok(200);
    let payment = world.payment().await;
    assert_eq!((&payment["status"], &payment["amount"]), (&json!("refunded"), &json!(1000)));
    let events = world.payment_events().await;
    assert_eq!(events.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["payment.succeeded", "refund.processed"]);
    assert_eq!(
        (&events[1].1["amount"], &events[1].1["reference"], &events[1].1["status"]),
        (&json!(1000), &json!("re_1"), &json!("processed"))
    );
}

#[tokio::test]
async fn what_totals_alone_publish_depends_on_the_order_and_adds_up_to_what_was_refunded() {
    let refunds = || [refund("evt_re_1", "re_1", 300, "succeeded"), refund("evt_re_2", "re_2", 400, "succeeded")];
    for (arrivals, expected) in [
        (vec![total(300), total(700)], json!([[300, null], [400, null]])),
        (vec![total(700), total(300)], json!([[700, null]])),
        ([vec![total(700)], refunds().to_vec()].concat(), json!([[700, null]])),
        ([refunds().to_vec(), vec![total(300), total(700)]].concat(), json!([[300, "re_1"], [400, "re_2"]])),
    ] {
        let world = World::new().await;
        let gateway = world.card().await;
        for event in &arrivals {
            world.call_back(&gateway, event).await.ok(200);
        }
        let events = world.payment_events().await;
        let published: Vec<_> = events.iter().map(|(_, data)| json!([data["amount"], data["reference"]])).collect();
        assert_eq!(json!(published), expected, "{arrivals:?}");
        assert_eq!(world.payment().await["refunded_amount"], 700);
    }
}
