//! Payments and callbacks, as somebody looks for why one is not as it should be.

use chrono::TimeDelta;
use portico::operators::Role;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::gateways::{SIGNING_SECRET, event, paid, refund, sha256_hex};

#[tokio::test]
async fn a_payment_tells_its_facts_and_events_in_order() {
    let world = World::new().await;
    let gateway = world.card().await;
    world.call_back(&gateway, &paid("evt_1")).await.ok(200);
    world.pass(TimeDelta::minutes(1));
    world.call_back(&gateway, &refund("evt_2", "re_1", 300, "succeeded")).await.ok(200);
    let payment = world.payment().await;
    let mut tab = world.signed_in(Role::Viewer).await;
    let page = tab.open(&format!("/console/search?q={}", payment["id"].as_str().unwrap())).await;
    assert_eq!(page.address, format!("/console/payments/{}", payment["id"].as_str().unwrap()));
    page.says(payment["gateway_transaction_id"].as_str().unwrap()).says("of it refunded");
    let order = ["payment.succeeded</a> was published", "refund.processed</a> was published"].map(|text| page.html.find(text).unwrap());
    assert!(order.is_sorted(), "{order:?}");
    let callback = page.between("/console/callbacks/", "\"");
    let callback = tab.open(&format!("/console/callbacks/{callback}")).await;
    callback
        .says("The signature was right, and all it told was recorded.")
        .says(payment["id"].as_str().unwrap())
        .says_nothing_of("/process\"");
}

/// A gateway whose settings point to the wrong place for the amount.
async fn misguided(world: &World) -> Value {
    let settings = json!({ "signature": { "header": "X-Signature" }, "events": { "paid": "payment.succeeded" }, "pointers": { "amount": "/data/sum" } });
    world.hmac_gateway(&settings).await
}

#[tokio::test]
async fn a_callback_shows_no_secret_and_is_processed_again() {
    let world = World::new().await;
    let gateway = misguided(&world).await;
    let body = json!({
        "id": "evt_1", "type": "paid", "client_secret": "pi_1_secret_9", "card": "4242424242424242", "note": "<script>alert(1)</script>",
        "data": { "id": "t_1", "amount": 500, "currency": "EUR" },
    });
    let signature = sha256_hex(SIGNING_SECRET, &body.to_string());
    let path = gateway["callback_path"].as_str().unwrap();
    world.request(Method::POST, path).header("x-signature", &signature).json(&body).send().await.refused(400, "callback_not_understood");
    let callback = world.last_callback().await;
    for hidden in ["pi_1_secret_9", "4242424242424242"] {
        assert!(!callback["body"].as_str().unwrap().contains(hidden), "{callback}");
    }
    let page = format!("/console/callbacks/{}", callback["id"].as_str().unwrap());
    let mut tab = world.signed_in(Role::Developer).await;
    let shown = tab.open(&page).await;
    shown.says("could not be processed yet").says("callback_not_understood").says("Process again").says("••••");
    shown.says("No payment was changed by it.");
    shown.says_nothing_of("pi_1_secret_9").says_nothing_of("4242424242424242").says_nothing_of("<script>alert");
    tab.send(&format!("{page}/process"), &[]).await.says("could not be processed yet");

    // A sample tells what is wrong, and leaves no trace.
    let trial = format!("/console/gateways/{}/try", gateway["id"].as_str().unwrap());
    tab.open(&format!("/console/records/ledger/gateways/{}", gateway["id"].as_str().unwrap())).await.says(&trial);
    tab.open(&trial).await.says("nothing is recorded");
    tab.send(&trial, &[("sample", &body.to_string())]).await.says("Not everything is right.");
    let refused = tab.send(&trial, &[("sample", "not json")]).await;
    assert_eq!(refused.status, 422);
    refused.says("This is not a JSON object.").says("not json");
    let settings = json!({ "signature": { "header": "X-Signature" }, "events": { "paid": "payment.succeeded" }, "pointers": { "amount": "/data/amount" } });
    let path = format!("gateways/{}", gateway["id"].as_str().unwrap());
    world.ledger(Method::PUT, &path).json(&json!({ "settings": settings })).send().await.ok(200);
    tab.send(&trial, &[("sample", &body.to_string())]).await.says("Such a callback is understood.").says("5.00 EUR").says("t_1");
    assert_eq!(world.count("select count(*) from callbacks").await, 1);
    assert_eq!(world.count("select count(*) from payments").await, 0);

    // What is hidden was kept: it is processed as it came.
    tab.open(&page).await;
    tab.send(&format!("{page}/process"), &[]).await.says("The signature was right, and all it told was recorded.");
    assert_eq!(world.payment().await["amount"], 500);

    let mut viewer = world.signed_in(Role::Viewer).await;
    viewer.open(&page).await.says_nothing_of("/process\"").says_nothing_of(&trial);
    assert_eq!(viewer.open(&trial).await.status, 404);
    assert_eq!(viewer.send(&trial, &[("sample", "{}")]).await.status, 404);
    assert_eq!(viewer.send(&format!("{page}/process"), &[]).await.status, 403);
}

#[tokio::test]
async fn a_callback_that_was_understood_in_part_says_what_was_not_recorded() {
    let world = World::new().await;
    let gateway = world.card().await;
    let metadata = json!({ "order_id": "A-1001" });
    let intent = json!({ "id": "pi_1", "amount": 1000, "amount_received": 1000, "currency": "usd", "metadata": metadata });
    world.call_back(&gateway, &event("evt_1", "payment_intent.succeeded", intent)).await.ok(200);
    let mut tab = world.signed_in(Role::Viewer).await;
    let page = tab.open(&format!("/console/callbacks/{}", world.last_callback().await["id"].as_str().unwrap())).await;
    page.says("what it told was recorded, but for this:").says("A-1001").says("partly_understood").says_nothing_of("all it told");
}

#[tokio::test]
async fn only_a_body_that_was_cut_off_is_said_to_be_kept_in_part() {
    const CUT: &str = "only the beginning is kept";
    let world = World::new().await;
    let gateway = world.card().await;
    let secret = "s".repeat(6000);
    let intent = json!({ "id": "pi_1", "amount": 1000, "amount_received": 1000, "currency": "usd", "client_secret": secret });
    world.call_back(&gateway, &event("evt_1", "payment_intent.succeeded", intent.clone())).await.ok(200);
    let mut tab = world.signed_in(Role::Viewer).await;
    let shown = format!("/console/callbacks/{}", world.last_callback().await["id"].as_str().unwrap());
    tab.open(&shown).await.says("••••").says_nothing_of(CUT).says_nothing_of(&secret);

    let path = gateway["callback_path"].as_str().unwrap();
    for (note, is_cut) in [(String::new(), false), ("n".repeat(6000), true)] {
        world.pass(TimeDelta::seconds(1));
        world.request(Method::POST, path).json(&json!({ "note": note })).send().await.refused(400, "callback_not_genuine");
        let refused = tab.open(&format!("/console/callbacks/{}", world.last_callback().await["id"].as_str().unwrap())).await;
        assert_eq!(refused.html.contains(CUT), is_cut);
    }

    sqlx::query("update callbacks set body = '', body_erased_at = created_at where status = 'processed'")
        .execute(&world.pool)
        .await
        .unwrap();
    tab.open(&shown).await.says("They were erased").says_nothing_of(CUT);
}

#[tokio::test]
async fn a_sample_may_contain_what_a_callback_may() {
    let world = World::new().await;
    let gateway = world.card().await;
    let mut tab = world.signed_in(Role::Developer).await;
    let trial = format!("/console/gateways/{}/try", gateway["id"].as_str().unwrap());
    let test = format!("gateways/{}/test", gateway["id"].as_str().unwrap());
    tab.open(&trial).await;
    for note in [r#""\ud83d""#, r#""a\u0000b""#, "1e999", "NaN", "[-Infinity, Infinity]", "\"two\nlines\""] {
        let object = format!(r#"{{"id":"pi_1","amount":1000,"amount_received":1000,"currency":"usd","note":{note}}}"#);
        let body = format!(r#"{{"id":"evt_1","type":"payment_intent.succeeded","data":{{"object":{object}}}}}"#);
        let shown = tab.send(&trial, &[("sample", &body)]).await;
        shown.says("Such a callback is understood.").says("10.00 USD");
        let tested = world.ledger(Method::POST, &test).json(&json!({ "sample": body })).send().await.ok(200);
        assert_eq!((&tested["ok"], &tested["contents"]["facts"][0]["amount"]), (&json!(true), &json!(1000)), "{note}");
    }
    for sample in [json!("{"), json!("[]"), json!(7)] {
        let refused = world.ledger(Method::POST, &test).json(&json!({ "sample": sample })).send().await.refused(422, "body_invalid");
        assert!(refused["fields"]["sample"].is_array(), "{refused}");
    }
}

#[tokio::test]
async fn a_payment_says_what_was_told_in_the_reader_s_language_and_what_a_total_counts() {
    let world = World::new().await;
    let gateway = world.card().await;
    let intent = json!({ "id": "pi_1", "amount": 5000, "currency": "eur", "last_payment_error": { "message": "Your card was declined." } });
    world.call_back(&gateway, &event("evt_1", "payment_intent.payment_failed", intent)).await.ok(200);
    let charge = json!({
        "id": "ch_1", "payment_intent": "pi_1", "amount": 5000, "currency": "eur", "captured": true, "amount_captured": 3000, "amount_refunded": 2500,
    });
    world.call_back(&gateway, &event("evt_2", "charge.captured", charge.clone())).await.ok(200);
    world.call_back(&gateway, &event("evt_3", "charge.refunded", charge)).await.ok(200);
    let payment = world.payment().await;
    assert_eq!(payment["refunded_amount"], 500);
    let address = format!("/console/payments/{}", payment["id"].as_str().unwrap());
    let mut tab = world.signed_in(Role::Viewer).await;
    let page = tab.open(&address).await;
    page.says("Your card was declined.")
        .says_nothing_of("declined..")
        .says("25.00 EUR including what was released")
        .says("5.00 EUR of it refunded");
    page.says("refunded in all").says("authorisation released");
    let page = tab.send("/console/preferences", &[("language", "de"), ("here", &address)]).await;
    page.says("25.00 EUR samt Freigegebenem")
        .says("Zahlung gescheitert")
        .says("Reservierung freigegeben")
        .says_nothing_of("authorisation released");
}

#[tokio::test]
async fn a_payment_says_which_refunds_do_not_count_and_which_amounts_are_sums() {
    let world = World::new().await;
    let gateway = world.card().await;
    let object = |more: Value| {
        let mut object = json!({ "id": "ch_1", "payment_intent": "pi_1", "amount": 10_000, "currency": "eur" });
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object
    };
    let declined = object(json!({ "captured": false, "failure_message": "Call your bank!" }));
    world.call_back(&gateway, &event("evt_1", "charge.failed", declined)).await.ok(200);
    let refund = object(json!({ "id": "re_1", "amount": 500, "status": "succeeded" }));
    world.call_back(&gateway, &event("evt_2", "refund.created", refund)).await.ok(200);
    let address = format!("/console/payments/{}", world.payment().await["id"].as_str().unwrap());
    let mut tab = world.signed_in(Role::Viewer).await;
    tab.open(&address).await.says("5.00 EUR, not counted: nothing is paid.").says("Call your bank!").says_nothing_of("bank!.");

    let captured = |amount: i64| object(json!({ "captured": true, "amount_captured": amount, "amount_refunded": 0 }));
    world.call_back(&gateway, &event("evt_3", "charge.captured", captured(3000))).await.ok(200);
    tab.open(&address).await.says("30.00 EUR").says_nothing_of("30.00 EUR in all").says_nothing_of("not counted");
    world.call_back(&gateway, &event("evt_4", "charge.captured", captured(10_000))).await.ok(200);
    tab.open(&address).await.says("30.00 EUR in all").says("100.00 EUR in all");
    let page = tab.send("/console/preferences", &[("language", "de"), ("here", &address)]).await;
    page.says("insgesamt 30.00 EUR").says("insgesamt 100.00 EUR");
}
