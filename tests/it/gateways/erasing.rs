//! The bodies of callbacks have the data of payers, and are kept for a time only.

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::customers::EMAIL;
use crate::support::gateways::paid;
use crate::support::program::printed;

#[tokio::test]
async fn the_body_of_a_callback_is_erased_when_its_time_is_over_and_what_followed_stays() {
    let world = World::with(&[("gateways.body_retention", "30d")]).await;
    let card = world.card().await;
    world.call_back(&card, &paid("evt_1")).await.ok(200);
    let ignored = json!({ "id": "evt_2", "type": "balance.available", "data": { "object": {} } });
    world.call_back(&card, &ignored).await.ok(200);
    let (kept, payment) = (world.last_callback().await, world.payment().await);
    assert!(kept["body"].as_str().unwrap().contains("evt_2") && kept["body_erased_at"].is_null());
    world.pass(TimeDelta::days(29));
    world.state.gateways.run_due().await.unwrap();
    assert_eq!(world.count("select count(*) from callbacks where body <> ''").await, 2);

    world.pass(TimeDelta::days(2));
    world.state.gateways.run_due().await.unwrap();
    assert_eq!(world.count("select count(*) from callbacks where body <> ''").await, 0);
    let erased = world.last_callback().await;
    assert_eq!((&erased["body"], &erased["body_size"], erased["body_erased_at"].is_string()), (&json!(""), &kept["body_size"], true));
    assert_eq!(world.payment().await, payment);
    // It is still recognised when it is repeated, and cannot be processed again.
    let again: Value = world.call_back(&card, &paid("evt_1")).await.ok(200);
    assert!(again.to_string().contains("Already processed"), "{again}");
    assert_eq!(world.count("select count(*) from callbacks").await, 2);
    let process = format!("callbacks/{}/process", erased["id"].as_str().unwrap());
    let refused = world.ledger(Method::POST, &process).json(&json!({})).send().await;
    refused.refused(400, "callback_not_understood");
}

#[tokio::test]
async fn a_customer_gets_the_callbacks_about_their_payments_until_the_account_is_erased() {
    let world = World::new().await;
    let (card, login) = (world.card().await, world.register(EMAIL).await);
    let customer = login["customer"]["id"].as_str().unwrap();
    let mut event = paid("evt_1");
    event["data"]["object"]["metadata"] = json!({ "customer_id": customer });
    world.call_back(&card, &event).await.ok(200);
    let mut of_others = paid("evt_2");
    of_others["data"]["object"]["id"] = json!("pi_2");
    world.call_back(&card, &of_others).await.ok(200);
    let export = printed(&["customer", "export", customer], &[("database.url", &world.database)]).await;
    let export: Value = serde_json::from_str(&export).unwrap();
    let [callback] = &export["callbacks"].as_array().unwrap()[..] else { panic!("one callback: {export}") };
    assert!(callback["body"].as_str().unwrap().contains("evt_1"), "{callback}");

    let close = format!("/storefront/int/v1/customers/{customer}/close");
    world.api(Method::POST, &close).json(&json!({})).send().await.ok(200);
    world.pass(TimeDelta::days(31));
    world.state.storefront.sweep().await.unwrap();
    let left: Vec<String> = sqlx::query_scalar("select key from callbacks where body <> ''").fetch_all(&world.pool).await.unwrap();
    assert_eq!(left, ["evt_2"]);
}
