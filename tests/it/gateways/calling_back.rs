//! The responses to callbacks, and their consequences.

use futures::future::join_all;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::customers::EMAIL;
use crate::support::fleet::id;
use crate::support::gateways::{SIGNING_SECRET, card_signature, event, paid};
use crate::support::waiting::until;

#[tokio::test]
async fn an_instance_without_a_worker_forgets_its_callers_too() {
    let world = World::new().await;
    let gateway = world.card().await;
    let path = gateway["callback_path"].as_str().unwrap();
    world.request(Method::POST, path).from("203.0.113.77").json(&json!({})).send().await.refused(400, "callback_not_genuine");
    let remembered = || format!("{:?}", world.state.gateways).contains("203.0.113.77");
    assert!(remembered());
    // A caller is removed once its limit has fully recovered. At 60,000 per minute, one callback takes one millisecond.
    until("the caller is removed", async || {
        world.state.sweep().await.unwrap();
        !remembered()
    })
    .await;
}

#[tokio::test]
async fn a_callback_becomes_a_payment_of_its_order_and_an_event() {
    let world = World::new().await;
    let gateway = world.card().await;
    let order = world.order(json!({})).await;
    let customer = world.register(EMAIL).await["customer"]["id"].as_str().unwrap().to_owned();
    let metadata = json!({ "order_id": id(&order), "customer_id": customer });
    let intent = json!({ "id": "pi_1", "amount": 1999, "amount_received": 1999, "currency": "eur", "metadata": metadata });
    let answer = world.call_back(&gateway, &event("evt_1", "payment_intent.succeeded", intent)).await;
    assert!(answer.header("ratelimit-limit").is_some());
    assert_eq!(answer.ok(200), json!({ "message": "Webhook received." }));

    let payment = world.payment().await;
    for (member, value) in [
        ("gateway", &gateway["id"]),
        ("gateway_transaction_id", &json!("pi_1")),
        ("kind", &json!("payment")),
        ("status", &json!("succeeded")),
        ("amount", &json!(1999)),
        ("refunded_amount", &json!(0)),
        ("currency", &json!("EUR")),
        ("order", &order["id"]),
        ("customer", &json!(customer)),
        ("dispute", &json!(null)),
    ] {
        assert_eq!(&payment[member], value, "{member}");
    }
    assert_eq!(payment["history"][0]["fact"], "payment_succeeded");

    let events = world.payment_events().await;
    let [(name, data)] = &events[..] else { panic!("expected one event: {events:?}") };
    assert_eq!(name, "payment.succeeded");
    assert_eq!(
        data,
        &json!({
            "id": payment["id"], "public_id": payment["id"], "uuid": payment["uuid"], "gateway": gateway["id"],
            "gateway_transaction_id": "pi_1", "status": "succeeded", "amount": 1999, "currency": "EUR",
            "payment": { "status": "succeeded", "amount": 1999, "refunded_amount": 0, "currency": "EUR", "dispute": null },
            "order_id": order["id"], "customer_id": customer, "meta": {}, "additionalData": {},
        })
    );

    let callback = world.last_callback().await;
    assert_eq!((&callback["status"], &callback["event_id"]), (&json!("processed"), &json!("evt_1")));
    assert_eq!((&callback["type"], &callback["gateway"]), (&json!("payment_intent.succeeded"), &gateway["id"]));
    assert!(callback["body"].as_str().unwrap().contains("amount_received"));
    assert_eq!(callback["payments"], json!([payment["id"]]));
    let of_the_order = world.ledger(Method::GET, &format!("payments?order={}&status=succeeded", id(&order))).send().await.ok(200);
    assert_eq!(of_the_order["payments"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_answers_are_received_already_processed_and_ignored() {
    let world = World::new().await;
    let gateway = world.card().await;
    let says = async |event| world.call_back(&gateway, &event).await.ok(200)["message"].take();
    assert_eq!(says(paid("evt_1")).await, "Webhook received.");
    assert_eq!(says(paid("evt_1")).await, "Already processed.");
    assert_eq!(says(event("evt_2", "invoice.paid", json!({ "id": "in_1" }))).await, "Ignored.");
    assert_eq!(world.last_callback().await["status"], "ignored");
    assert_eq!(says(event("evt_2", "invoice.paid", json!({ "id": "in_1" }))).await, "Already processed.");
    assert_eq!(world.payment_event_names().await, ["payment.succeeded"]);
}

#[tokio::test]
async fn two_hundred_identical_callbacks_at_once_are_one_record_one_event_and_two_hundred_answers() {
    let world = World::new().await;
    let gateway = world.card().await;
    let event = paid("evt_1");
    let answers = join_all((0..200).map(|_| world.call_back(&gateway, &event))).await;
    let messages: Vec<_> = answers.into_iter().map(|answer| answer.ok(200)["message"].as_str().unwrap().to_owned()).collect();
    assert_eq!(messages.iter().filter(|message| *message == "Webhook received.").count(), 1);
    assert_eq!(messages.iter().filter(|message| *message == "Already processed.").count(), 199);
    assert_eq!(world.count("select count(*) from callbacks").await, 1);
    assert_eq!(world.count("select count(*) from payment_facts").await, 1);
    assert_eq!(world.payment_event_names().await, ["payment.succeeded"]);
}

#[tokio::test]
async fn concurrent_events_about_the_same_payment_publish_it_once() {
    let world = World::new().await;
    let gateway = world.card().await;
    let events: Vec<_> = (0..50).map(|number| paid(&format!("evt_{number}"))).collect();
    for answer in join_all(events.iter().map(|event| world.call_back(&gateway, event))).await {
        assert_eq!(answer.ok(200)["message"], "Webhook received.");
    }
    assert_eq!(world.payment().await["history"].as_array().unwrap().len(), 50);
    assert_eq!(world.payment_event_names().await, ["payment.succeeded"]);
}

#[tokio::test]
async fn a_key_and_a_signature_are_needed_together_where_there_is_a_key() {
    let world = World::new().await;
    world.card().await;
    let key = world.key_of(world.company, &[Scope::Callbacks]).await;
    let body = paid("evt_1").to_string();
    let post = |key: &str| world.request(Method::POST, "/webhooks").key(key).json(&paid("evt_1"));
    let signature = card_signature(SIGNING_SECRET, &body, world.clock.now());
    assert_eq!(post(&key).header("card-signature", &signature).send().await.ok(200)["message"], "Webhook received.");
    post(&key).send().await.refused(400, "callback_not_genuine");
    let reader = world.key_of(world.company, &[Scope::Read, Scope::Write, Scope::Events]).await;
    post(&reader).header("card-signature", &signature).send().await.refused(403, "scope_missing");
    world.request(Method::POST, "/webhooks").json(&paid("evt_1")).send().await.refused(401, "api_key_invalid");
}

#[tokio::test]
async fn an_order_or_customer_of_another_company_is_never_linked() {
    let world = World::new().await;
    let (other, other_key) = world.another_company(&[Scope::Admin]).await;
    let created = world.request(Method::POST, "/fleet/int/v1/orders").key(&other_key).json(&json!({})).send().await.ok(201);
    let gateway = world.card().await;
    let metadata = json!({ "order_id": created["order"]["id"], "customer_id": "customer_01h455vb4pex5vsknk084sn02q" });
    let intent = json!({ "id": "pi_1", "amount": 5, "currency": "usd", "metadata": metadata });
    world.call_back(&gateway, &event("evt_1", "payment_intent.succeeded", intent)).await.ok(200);
    let payment = world.payment().await;
    assert_eq!((&payment["order"], &payment["customer"]), (&json!(null), &json!(null)));
    assert_eq!(world.payment_events().await[0].1.get("order_id"), None);
    let theirs = world.request(Method::GET, "/ledger/int/v1/payments").key(&other_key).send().await.ok(200);
    assert_eq!(theirs["payments"], json!([]), "{other} sees nothing of it");
    let path = format!("/ledger/int/v1/payments/{}", id(&payment));
    world.request(Method::GET, &path).key(&other_key).send().await.refused(404, "record_not_found");
}

#[tokio::test]
async fn an_order_that_only_a_later_callback_names_is_linked() {
    let world = World::new().await;
    let gateway = world.card().await;
    let order = world.order(json!({})).await;
    world.call_back(&gateway, &paid("evt_1")).await.ok(200);
    assert_eq!(world.payment().await["order"], json!(null));
    let charge =
        json!({ "id": "ch_1", "payment_intent": "pi_1", "amount": 1000, "currency": "usd", "metadata": { "order": order["uuid"] } });
    world.call_back(&gateway, &event("evt_2", "charge.succeeded", charge)).await.ok(200);
    assert_eq!(world.payment().await["order"], order["id"]);
}

#[tokio::test]
async fn the_payer_is_known_by_the_name_the_card_provider_gave_them() {
    let world = World::new().await;
    let gateway = world.card().await;
    let customer = world.register(EMAIL).await["customer"]["uuid"].as_str().unwrap().parse::<uuid::Uuid>().unwrap();
    sqlx::query("insert into card_customers (customer_id, gateway_id, idempotency_key, provider_id, created_at) values ($1, $2, 'k', 'cus_7', now())")
        .bind(customer)
        .bind(gateway["uuid"].as_str().unwrap().parse::<uuid::Uuid>().unwrap())
        .execute(&world.pool)
        .await
        .unwrap();
    world.call_back(&gateway, &event("evt_1", "setup_intent.succeeded", json!({ "id": "seti_1", "customer": "cus_7" }))).await.ok(200);
    let payment = world.payment().await;
    assert_eq!((&payment["kind"], &payment["status"], &payment["amount"]), (&json!("setup"), &json!("succeeded"), &json!(null)));
    assert!(payment["customer"].as_str().unwrap().starts_with("customer_"));
    assert_eq!(world.payment_event_names().await, ["setup.succeeded"]);
}

#[tokio::test]
async fn a_callback_has_one_mebibyte_at_most_and_comes_no_faster_than_allowed() {
    let world = World::with(&[("gateways.callbacks_per_minute", "3")]).await;
    let gateway = world.card().await;
    let path = gateway["callback_path"].as_str().unwrap().to_owned();
    let padded = |size: usize| {
        let mut event = paid("evt_1");
        event["padding"] = json!("");
        let missing = size - event.to_string().len();
        event["padding"] = json!("x".repeat(missing));
        event
    };
    assert_eq!(world.call_back(&gateway, &padded(1024 * 1024)).await.ok(200)["message"], "Webhook received.");
    world.call_back(&gateway, &padded(1024 * 1024 + 1)).await.refused(413, "body_too_large");
    let flood = join_all((0..5).map(|_| world.request(Method::POST, &path).from("203.0.113.9").body("{}").send())).await;
    let refused: Vec<_> = flood.into_iter().filter(|answer| answer.status == 429).collect();
    assert!(!refused.is_empty());
    for answer in refused {
        answer.refused(429, "rate_limited");
    }
}

#[tokio::test]
async fn unknown_gateways_are_limited_for_each_client_network() {
    let world = World::new().await;
    let gateway = world.card().await;
    let known = gateway["callback_path"].as_str().unwrap().to_owned();
    let ask = |path: String, address: &str| world.request(Method::POST, &path).from(address).body("{}").send();
    let unknown = |n: u128| format!("/webhooks/{}", uuid::Uuid::from_u128(n));
    let mut refused = None;
    for batch in 0..50 {
        let answers = join_all((0..100).map(|n| ask(unknown(1 + 100 * batch + n), "203.0.113.9"))).await;
        let (not_found, limited): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 404);
        assert!(batch >= 5 || (not_found.len(), limited.len()) == (100, 0), "600 in a minute are allowed");
        refused = refused.or(limited.into_iter().next());
        if refused.is_some() {
            break;
        }
    }
    refused.expect("there is a limit").refused(429, "rate_limited");
    // Another network is not affected, and a known gateway is not counted.
    ask(unknown(1), "203.0.114.10").await.refused(404, "gateway_not_configured");
    for _ in 0..700 {
        assert_ne!(ask(known.clone(), "203.0.114.10").await.status, 429);
    }
}
