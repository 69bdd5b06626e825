//! From a request to what followed from it, and back.

use portico::operators::Role;
use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::fleet::id;
use crate::support::receiver::Reply;

#[tokio::test]
async fn a_request_leads_to_the_change_its_events_their_deliveries_and_answers_and_back() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("hooks.test").await;
    let order = world.order(json!({ "internal_id": "A-1" })).await;
    world.deliver().await;
    receiver.will([Reply::status(503)]);
    let path = format!("/fleet/int/v1/orders/{}", id(&order));
    let changed = world.api(Method::PUT, &path).json(&json!({ "notes": "Ring twice." })).send().await;
    let request = changed.header("x-request-id").unwrap().to_owned();
    let mut tab = world.signed_in(Role::Owner).await;
    let trace = tab.open(&format!("/console/search?q={request}")).await;
    assert_eq!(trace.address, format!("/console/requests/{request}"));
    trace.says("order.updated").says_nothing_of("order.created");

    world.deliver().await;
    let trace = tab.open(&trace.address).await;
    trace.says(&receiver.url()).says("which answered 503").says("retrying").says(&format!("/console/webhooks/{}", id(&webhook)));

    // Every page on the way leads back.
    for page in ["/console/events/", "/console/deliveries/"] {
        let step = format!("{page}{}", trace.between(page, "\""));
        tab.open(&step).await.says(&format!("href=\"/console/requests/{request}\""));
    }
}

#[tokio::test]
async fn a_change_is_told_with_who_made_it_and_what_it_changed() {
    let world = World::new().await;
    let (_, webhook) = world.subscriber("hooks.test").await;
    let mut tab = world.signed_in(Role::Owner).await;
    let page = format!("/console/webhooks/{}", id(&webhook));
    tab.open(&page).await;
    tab.send(&format!("{page}/pause"), &[]).await;
    let changes = world.get("changes?kind=webhook&action=updated").await["changes"].take();
    let request = changes[0]["request_id"].as_str().unwrap();
    let trace = tab.open(&format!("/console/requests/{request}")).await;
    trace.says(id(&webhook)).says("was changed by").says("operator_");
    let change = format!("/console/records/developers/changes/{}", trace.between("/console/records/developers/changes/", "\""));
    tab.open(&change).await.says(&format!("href=\"/console/requests/{request}\""));

    // Changes are not for everybody, and what is left is nothing.
    let mut viewer = world.signed_in(Role::Viewer).await;
    let hidden = viewer.open(&format!("/console/requests/{request}")).await;
    assert_eq!(hidden.status, 200);
    hidden.says("nothing that you may see").says_nothing_of(id(&webhook));
}

#[tokio::test]
async fn a_request_that_nothing_is_known_of_tells_nothing() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Owner).await;
    tab.open("/console/requests/01a20995a353718ab83beb40566acca4").await.says("nothing that you may see");
    for text in ["7", "01a20995-a353-718a-b83b-eb40566acc", "event_01m84sb8tke65bgezb81b6nk54", "%22%3E"] {
        assert_eq!(tab.open(&format!("/console/requests/{text}")).await.status, 404, "{text}");
    }
    assert_eq!(tab.open("/portal/requests/01a20995a353718ab83beb40566acca4").await.status, 404);
}
