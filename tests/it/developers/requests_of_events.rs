//! From a request to the events that it published: decisions, section 9.

use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::customers::token;
use crate::support::fleet::id;

#[tokio::test]
async fn the_id_of_a_request_leads_to_the_events_that_it_published_and_to_no_others() {
    let world = World::new().await;
    let order = world.order(json!({ "internal_id": "A-1" })).await;
    let path = format!("/fleet/int/v1/orders/{}", id(&order));
    let changed = world.api(Method::PUT, &path).json(&json!({ "notes": "Ring twice." })).send().await;
    assert_eq!(changed.status, 200, "{changed:?}");
    let request = changed.header("x-request-id").unwrap().to_owned();

    let found = world.get(&format!("events?request_id={request}")).await["events"].take();
    let names: Vec<_> = found.as_array().unwrap().iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["order.updated"]);
    assert_eq!(found[0]["request_id"], request);
    let all = world.get("events?limit=100").await["events"].take();
    assert!(all.as_array().unwrap().iter().any(|event| event["event"] == "order.created" && event["request_id"] != request));
    world.api(Method::GET, "/developers/int/v1/events?request_id=7").send().await.refused(422, "parameter_invalid");
}

#[tokio::test]
async fn whoever_acts_on_an_account_its_events_know_the_request() {
    let world = World::new().await;
    let code = world.creation_code("ada@example.com").await;
    let registered = world.open_account("ada@example.com", &code).await;
    let request = registered.header("x-request-id").unwrap().to_owned();
    let account = registered.ok(201);
    let customer = account["customer"]["id"].as_str().unwrap();
    assert_eq!(events_of(&world, &request).await, ["customer.created"]);

    let path = format!("/storefront/v1/customers/{customer}");
    let renamed =
        world.request(Method::PUT, &path).key(&world.store_key).token(&token(&account)).json(&json!({ "title": "Dr" })).send().await;
    assert_eq!(events_of(&world, renamed.header("x-request-id").unwrap()).await, ["customer.updated"]);

    let closed = world.api(Method::POST, &format!("/storefront/int/v1/customers/{customer}/close")).send().await;
    assert_eq!(events_of(&world, closed.header("x-request-id").unwrap()).await, ["customer.closed"]);
}

async fn events_of(world: &World, request: &str) -> Vec<String> {
    let found = world.get(&format!("events?request_id={request}")).await["events"].take();
    found.as_array().unwrap().iter().map(|event| event["event"].as_str().unwrap().to_owned()).collect()
}
