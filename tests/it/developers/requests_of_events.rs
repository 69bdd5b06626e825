//! From a request to the events that it published: decisions, section 9.

use reqwest::Method;
use serde_json::json;

use crate::support::World;
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
