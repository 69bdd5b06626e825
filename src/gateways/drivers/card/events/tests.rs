//! Every event type, with the relevant part of its object.

use serde_json::json;

use super::*;
use crate::gateways::facts::FactKind::*;

fn understood(kind: &str, data: Value) -> PaymentUpdate {
    let event = json!({ "id": "evt_1", "type": kind, "data": data });
    understand(kind, &Object::of(&event).unwrap()).unwrap().unwrap()
}

#[test]
fn every_type_tells_its_fact_about_its_transaction() {
    let intent = json!({ "id": "pi_1", "amount": 1000, "amount_received": 900, "currency": "usd" });
    let charge = json!({ "id": "ch_1", "payment_intent": "pi_1", "amount": 1000, "currency": "usd" });
    let lone = json!({ "id": "ch_1", "payment_intent": null, "amount": 1000, "currency": "usd" });
    let refund = |status: &str| json!({ "id": "re_1", "charge": "ch_1", "payment_intent": "pi_1", "amount": 300, "currency": "usd", "status": status });
    let dispute = |status: &str| json!({ "id": "dp_1", "charge": "ch_1", "payment_intent": "pi_1", "amount": 1000, "currency": "usd", "status": status });
    let session =
        |status: &str| json!({ "id": "cs_1", "payment_intent": "pi_1", "amount_total": 1000, "currency": "usd", "payment_status": status });
    for (kind, object, transaction, fact, amount) in [
        ("payment_intent.succeeded", intent.clone(), "pi_1", PaymentSucceeded, Some(900)),
        ("payment_intent.payment_failed", intent.clone(), "pi_1", PaymentFailed, Some(1000)),
        ("payment_intent.canceled", intent.clone(), "pi_1", PaymentFailed, Some(1000)),
        ("payment_intent.processing", intent.clone(), "pi_1", PaymentPending, Some(1000)),
        ("payment_intent.amount_capturable_updated", intent, "pi_1", PaymentPending, Some(1000)),
        ("charge.succeeded", charge.clone(), "pi_1", PaymentSucceeded, Some(1000)),
        ("charge.succeeded", lone, "ch_1", PaymentSucceeded, Some(1000)),
        ("charge.captured", charge.clone(), "pi_1", PaymentSucceeded, Some(1000)),
        ("charge.pending", charge.clone(), "pi_1", PaymentPending, Some(1000)),
        ("charge.failed", charge.clone(), "pi_1", PaymentFailed, Some(1000)),
        ("charge.expired", charge, "pi_1", PaymentFailed, Some(1000)),
        ("checkout.session.completed", session("paid"), "pi_1", PaymentSucceeded, Some(1000)),
        ("checkout.session.completed", session("no_payment_required"), "pi_1", PaymentSucceeded, Some(1000)),
        ("checkout.session.completed", session("unpaid"), "pi_1", PaymentPending, Some(1000)),
        ("checkout.session.async_payment_succeeded", session("paid"), "pi_1", PaymentSucceeded, Some(1000)),
        ("checkout.session.async_payment_failed", session("unpaid"), "pi_1", PaymentFailed, Some(1000)),
        ("checkout.session.expired", json!({ "id": "cs_1" }), "cs_1", PaymentFailed, None),
        ("checkout.session.completed", json!({ "id": "cs_1", "mode": "setup", "setup_intent": "seti_1" }), "seti_1", SetupSucceeded, None),
        ("refund.created", refund("pending"), "pi_1", RefundPending, Some(300)),
        ("refund.created", refund("succeeded"), "pi_1", RefundProcessed, Some(300)),
        ("refund.updated", refund("failed"), "pi_1", RefundFailed, Some(300)),
        ("refund.failed", refund("failed"), "pi_1", RefundFailed, Some(300)),
        ("charge.refund.updated", refund("canceled"), "pi_1", RefundFailed, Some(300)),
        ("charge.dispute.created", dispute("needs_response"), "pi_1", DisputeCreated, Some(1000)),
        ("charge.dispute.updated", dispute("under_review"), "pi_1", DisputeUpdated, Some(1000)),
        ("charge.dispute.funds_withdrawn", dispute("needs_response"), "pi_1", DisputeUpdated, Some(1000)),
        ("charge.dispute.funds_reinstated", dispute("won"), "pi_1", DisputeWon, Some(1000)),
        ("charge.dispute.funds_reinstated", dispute("under_review"), "pi_1", DisputeUpdated, Some(1000)),
        ("charge.dispute.closed", dispute("lost"), "pi_1", DisputeLost, Some(1000)),
        ("charge.dispute.closed", dispute("won"), "pi_1", DisputeWon, Some(1000)),
        ("setup_intent.succeeded", json!({ "id": "seti_1", "customer": "cus_1" }), "seti_1", SetupSucceeded, None),
    ] {
        let update = understood(kind, json!({ "object": object }));
        let only = update.facts.iter().find(|fact| fact.kind != AuthorisationReleased).unwrap();
        assert_eq!((update.transaction.as_str(), only.kind, only.amount), (transaction, fact, amount), "{kind}");
        assert!(only.amount.is_none() || only.currency.as_ref().unwrap().as_str() == "USD", "{kind}");
    }
}

#[test]
fn what_a_subscription_costs_is_told_by_its_invoices_payments_alone() {
    let session = json!({ "id": "cs_1", "mode": "subscription", "payment_status": "paid", "amount_total": 1000, "currency": "usd" });
    let event = json!({ "object": session });
    assert!(understand("checkout.session.completed", &Object::of(&json!({ "data": event })).unwrap()).unwrap().is_none());
}

#[test]
fn an_authorised_charge_is_not_paid_yet() {
    let charge = json!({ "id": "ch_1", "amount": 1000, "currency": "usd", "captured": false });
    assert_eq!(understood("charge.succeeded", json!({ "object": charge })).facts[0].kind, PaymentPending);
}

#[test]
fn what_is_released_of_an_authorisation_was_never_paid_nor_refunded() {
    let told = |kind: &str, object: Value| {
        let facts = understood(kind, json!({ "object": object })).facts;
        facts.into_iter().map(|fact| (fact.kind, fact.amount, fact.total)).collect::<Vec<_>>()
    };
    let charge = |captured: bool, part: i64, returned: i64| json!({ "id": "ch_1", "amount": 5000, "captured": captured, "amount_captured": part, "amount_refunded": returned, "currency": "usd" });
    assert_eq!(
        told("charge.refunded", charge(false, 0, 5000)),
        [(PaymentFailed, Some(5000), None), (AuthorisationReleased, Some(5000), Some(5000))]
    );
    let released = (AuthorisationReleased, Some(2000), Some(5000));
    assert_eq!(told("charge.captured", charge(true, 3000, 2000)), [released, (PaymentSucceeded, Some(3000), None)]);
    let captured_and_refunded = [released, (PaymentSucceeded, Some(3000), None), (RefundedInAll, None, Some(2500))];
    assert_eq!(told("charge.captured", charge(true, 3000, 2500)), captured_and_refunded, "500 were refunded before");
    let nothing_new = (RefundedInAll, None, Some(2000));
    assert_eq!(told("charge.refunded", charge(true, 3000, 2000)), [released, nothing_new], "a later capture may show that it was refunded");
    assert_eq!(told("charge.refunded", charge(true, 3000, 2500)), [released, (RefundedInAll, None, Some(2500))]);
    assert_eq!(told("charge.captured", charge(true, 3000, 0)), [(PaymentSucceeded, Some(3000), None)], "another capture may follow");
    let intent = json!({ "id": "pi_1", "amount": 5000, "amount_received": 3000, "currency": "usd" });
    assert_eq!(told("payment_intent.succeeded", intent), [released, (PaymentSucceeded, Some(3000), None)]);
    let event = json!({ "object": charge(true, 3000, 2500), "previous_attributes": { "amount_refunded": 2000 } });
    let sum = &understood("charge.refunded", event).facts[1];
    assert_eq!((sum.amount, sum.total), (Some(500), Some(2500)));
}

#[test]
fn a_total_says_what_is_new_in_it_unless_that_may_be_the_release() {
    let added = |captured: i64, before: i64, total: i64| {
        let charge = json!({ "id": "ch_1", "amount": 10_000, "captured": true, "amount_captured": captured, "amount_refunded": total, "currency": "usd" });
        let event = json!({ "object": charge, "previous_attributes": { "amount_refunded": before } });
        let facts = understood("charge.refunded", event).facts;
        let sum = facts.into_iter().find(|fact| fact.kind == RefundedInAll).unwrap();
        assert_eq!(sum.total, Some(total));
        sum.amount
    };
    assert_eq!(added(3000, 0, 2000), Some(2000), "nothing was released yet");
    assert_eq!(added(6000, 2000, 6000), None, "the release of 4000, after a refund before the last capture");
    assert_eq!(added(6000, 5000, 9000), None, "the release, or a refund of its amount");
    assert_eq!(added(6000, 0, 5000), None, "a refund before the last capture, or the release and a refund");
    assert_eq!(added(6000, 4000, 4500), Some(500));
    assert_eq!(added(6000, 6000, 6300), Some(300));
}

#[test]
fn what_is_cancelled_releases_what_was_held_and_nothing_that_was_paid() {
    let released = |kind: &str, more: Value| {
        let mut object = json!({ "id": "pi_1", "amount": 5000, "currency": "usd" });
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let facts = understood(kind, json!({ "object": object })).facts;
        assert_eq!((facts[0].kind, facts[0].amount), (PaymentFailed, Some(5000)));
        facts.iter().filter(|fact| fact.kind == AuthorisationReleased).filter_map(|fact| fact.amount).sum::<i64>()
    };
    let held = json!({ "amount_received": 0, "latest_charge": "ch_1" });
    assert_eq!(released("payment_intent.canceled", held), 5000);
    assert_eq!(released("payment_intent.canceled", json!({})), 5000);
    assert_eq!(released("payment_intent.canceled", json!({ "latest_charge": null })), 0, "nothing was held");
    for (method, held) in [("later", 5000), ("automatic", 0), ("automatic_async", 0)] {
        let declined = json!({ "amount_received": 0, "latest_charge": "ch_1", "capture_method": method });
        assert_eq!(released("payment_intent.canceled", declined), held, "{method}");
    }
    assert_eq!(released("payment_intent.canceled", json!({ "amount_received": 3000 })), 0, "it was paid");
    assert_eq!(released("charge.expired", json!({ "captured": false, "amount_captured": 0 })), 5000);
    assert_eq!(released("charge.failed", json!({ "captured": false })), 0, "another attempt may follow");
}

#[test]
fn a_release_is_no_refund_in_later_versions_of_the_interface() {
    let told = |version: &str, returned: i64| {
        let charge = json!({ "id": "ch_1", "amount": 5000, "captured": true, "amount_captured": 3000, "amount_refunded": returned, "currency": "usd" });
        let event = json!({ "api_version": version, "data": { "object": charge } });
        let facts = understand("charge.refunded", &Object::of(&event).unwrap()).unwrap().unwrap().facts;
        facts.into_iter().map(|fact| (fact.kind, fact.amount, fact.total)).collect::<Vec<_>>()
    };
    assert_eq!(told("2025-02-24.acacia", 2000), [(AuthorisationReleased, Some(2000), Some(5000)), (RefundedInAll, None, Some(2000))]);
    assert_eq!(told("2025-03-31.basil", 2000), [(RefundedInAll, None, Some(2000))]);
    assert_eq!(told("2025-02-24.acacia", 500), [(RefundedInAll, None, Some(500))], "nothing has been released yet");

    let intent = json!({ "id": "pi_1", "amount": 5000, "amount_received": 3000, "currency": "usd" });
    let event = json!({ "api_version": "2025-03-31.basil", "data": { "object": intent } });
    let facts = understand("payment_intent.succeeded", &Object::of(&event).unwrap()).unwrap().unwrap().facts;
    assert_eq!(facts.iter().map(|fact| fact.kind).collect::<Vec<_>>(), [PaymentSucceeded]);
}

#[test]
fn amounts_come_in_the_units_of_the_provider() {
    for (currency, amount, minor) in
        [("ugx", 500, 5), ("isk", 500, 5), ("mga", 5, 500), ("jpy", 500, 500), ("bhd", 500, 500), ("huf", 500, 500)]
    {
        let charge = json!({ "id": "ch_1", "amount": 1_000_000, "amount_refunded": amount, "currency": currency });
        let event = json!({ "object": charge, "previous_attributes": { "amount_refunded": 0 } });
        let sum = &understood("charge.refunded", event).facts[0];
        assert_eq!((sum.amount, sum.total), (Some(minor), Some(minor)), "{currency}");
    }
}

#[test]
fn an_inquiry_is_no_dispute_until_it_becomes_one() {
    let kind_of = |kind: &str, status: &str| {
        let dispute = json!({ "id": "dp_1", "charge": "ch_1", "amount": 1000, "currency": "usd", "status": status });
        understood(kind, json!({ "object": dispute })).facts[0].kind
    };
    assert_eq!(kind_of("charge.dispute.created", "warning_needs_response"), InquiryOpened);
    assert_eq!(kind_of("charge.dispute.updated", "warning_under_review"), InquiryOpened);
    assert_eq!(kind_of("charge.dispute.closed", "warning_closed"), InquiryClosed);
    assert_eq!(kind_of("charge.dispute.updated", "needs_response"), DisputeUpdated);
}

#[test]
fn the_status_decides_a_dispute_and_nothing_else_does() {
    let told = |kind: &str, status: Value| {
        let dispute = json!({ "id": "dp_1", "charge": "ch_1", "amount": 1000, "currency": "usd", "status": status });
        let update = understood(kind, json!({ "object": dispute }));
        (update.facts[0].kind, update.remarks.sentences())
    };
    for kind in ["created", "updated", "funds_withdrawn", "funds_reinstated", "closed"] {
        let kind = format!("charge.dispute.{kind}");
        for (status, fact) in [("prevented", InquiryClosed), ("won", DisputeWon), ("lost", DisputeLost), ("warning_closed", InquiryClosed)]
        {
            assert_eq!(told(&kind, json!(status)), (fact, None), "{kind} {status}");
        }
    }
    for (status, words) in
        [(json!("charge_refunded"), "the status \"charge_refunded\""), (json!(null), "no status"), (json!(7), "the status 7,")]
    {
        let (fact, remarks) = told("charge.dispute.closed", status);
        assert_eq!(fact, DisputeUpdated);
        assert!(remarks.as_ref().is_some_and(|remarks| remarks.contains(words)), "{remarks:?}");
    }
}

#[test]
fn what_is_there_and_cannot_be_read_is_told() {
    let pending = json!({ "id": "pi_1", "amount": "a lot", "currency": "usd", "metadata": { "order_id": "cart-7", "customer_id": 5 } });
    let update = understood("payment_intent.processing", json!({ "object": pending }));
    assert_eq!((update.facts[0].kind, update.facts[0].amount), (PaymentPending, None));
    let remarks = update.remarks.sentences().unwrap();
    for words in ["The order \"cart-7\"", "The customer 5 ", "/amount is not a number"] {
        assert!(remarks.contains(words), "{words}: {remarks}");
    }
    let told = json!({ "id": "pi_1", "amount": "", "metadata": { "order_id": "" } });
    assert_eq!(understood("payment_intent.processing", json!({ "object": told })).remarks.sentences(), None);
}

#[test]
fn a_refunded_charge_tells_its_refunds_or_what_they_come_to() {
    let charge = |more: Value| {
        let mut charge = json!({ "id": "ch_1", "amount": 1000, "amount_refunded": 500, "currency": "usd" });
        charge.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        charge
    };
    let sum = understood("charge.refunded", json!({ "object": charge(json!({})), "previous_attributes": { "amount_refunded": 200 } }));
    assert_eq!((sum.facts[0].kind, sum.facts[0].amount, sum.facts[0].total), (RefundedInAll, Some(300), Some(500)));
    let without_previous = understood("charge.refunded", json!({ "object": charge(json!({})) }));
    assert_eq!((without_previous.facts[0].amount, without_previous.facts[0].total), (None, Some(500)));
    let refunds = json!([{ "id": "re_1", "amount": 200, "currency": "usd", "status": "succeeded" }, { "id": "re_2", "amount": 300, "currency": "usd" }]);
    let shown = understood("charge.refunded", json!({ "object": charge(json!({ "refunds": { "data": refunds } })) }));
    let references: Vec<_> = shown.facts.iter().map(|fact| (fact.kind, fact.reference.as_str())).collect();
    assert_eq!(references, [(RefundProcessed, "re_1"), (RefundProcessed, "re_2")]);
}

#[test]
fn orders_and_customers_are_read_from_what_the_shop_attached() {
    let order = "order_01h455vb4pex5vsknk084sn02q";
    let intent = json!({ "id": "pi_1", "amount": 1, "currency": "usd", "customer": { "id": "cus_1" }, "metadata": {
        "order_id": order, "customer_id": "01890a5d-ac96-774b-bcce-b302099a8057" } });
    let update = understood("payment_intent.succeeded", json!({ "object": intent }));
    assert_eq!(update.facts[0].order, order.parse().ok());
    assert_eq!(update.facts[0].customer, "customer_01h455vb4pex5vsknk084sn02q".parse().ok());
    assert_eq!(update.payer.as_deref(), Some("cus_1"));
}

#[test]
fn an_order_goes_by_any_of_its_names() {
    let order = "order_01h455vb4pex5vsknk084sn02q";
    for named in [
        json!({ "metadata": { "order_id": order } }),
        json!({ "metadata": { "order_uuid": "01890a5d-ac96-774b-bcce-b302099a8057" } }),
        json!({ "metadata": { "order": order } }),
        json!({ "client_reference_id": order }),
        json!({ "metadata": { "order_id": order, "order": "another" }, "client_reference_id": "cart-7" }),
    ] {
        let mut object = json!({ "id": "pi_1", "amount": 1, "currency": "usd" });
        object.as_object_mut().unwrap().extend(named.as_object().unwrap().clone());
        assert_eq!(understood("payment_intent.succeeded", json!({ "object": object })).facts[0].order, order.parse().ok(), "{named}");
    }
    let unknown = json!({ "id": "pi_1", "amount": 1, "currency": "usd", "client_reference_id": "cart-7" });
    assert_eq!(understood("payment_intent.succeeded", json!({ "object": unknown })).facts[0].order, None);
}

#[test]
fn what_lacks_the_needful_is_not_understood_and_what_is_of_no_use_is_nothing() {
    let read = |kind: &str, object: Value| understand(kind, &Object::inner(&object));
    for (kind, object) in [
        ("payment_intent.succeeded", json!({ "id": "pi_1", "currency": "usd" })),
        ("payment_intent.succeeded", json!({ "id": "pi_1", "amount": 10 })),
        ("payment_intent.succeeded", json!({ "amount": 10, "currency": "usd" })),
        ("payment_intent.succeeded", json!({ "id": "pi_1", "amount": -10, "currency": "usd" })),
        ("checkout.session.completed", json!({ "id": "cs_1", "amount_total": 10, "currency": "usd" })),
        ("refund.created", json!({ "charge": "ch_1", "amount": 10, "currency": "usd" })),
    ] {
        assert!(read(kind, object.clone()).is_err(), "{kind} {object}");
    }
    assert_eq!(read("invoice.paid", json!({ "id": "in_1" })), Ok(None));
    assert!(is_known("charge.failed") && !is_known("invoice.paid"));
}
