//! Pages that change while somebody looks at them.

use chrono::TimeDelta;
use portico::operators::Role;
use serde_json::json;

use crate::support::World;
use crate::support::fleet::id;
use crate::support::receiver::Reply;

#[tokio::test]
async fn a_list_shows_what_is_new_as_long_as_its_visitor_may_see_it() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Owner).await;
    let mut orders = tab.follow("/console/records/fleet/orders").await;
    assert!(orders.next().await.unwrap().contains("There is nothing here yet."));
    world.order(json!({ "internal_id": "A-1" })).await;
    let region = orders.next().await.unwrap();
    assert!(region.contains("A-1") && !region.contains("<html"), "{region}");

    tab.send("/console/sign-out", &[]).await;
    assert_eq!(orders.next().await, None);
    assert_eq!(world.tab().follow("/console/records/fleet/orders").await.status(), 303);
}

#[tokio::test]
async fn a_delivery_shows_its_attempts_as_they_are_made() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("hooks.test").await;
    receiver.will([Reply::status(500)]);
    world.order(json!({ "internal_id": "A-1" })).await;
    world.deliver().await;
    let mut tab = world.signed_in(Role::Support).await;
    let list = tab.open("/console/records/developers/deliveries?status=retrying").await;
    let delivery = format!("/console/deliveries/{}", list.between("/console/deliveries/", "\""));
    let mut followed = tab.follow(&delivery).await;
    let first = followed.next().await.unwrap();
    assert!(first.contains("Attempt 1") && !first.contains("Attempt 2"), "{first}");
    world.pass(TimeDelta::minutes(6));
    world.deliver().await;
    // The page may be made while the attempt is under way.
    while !followed.next().await.unwrap().contains("Attempt 2") {}
    tab.send("/console/sign-out", &[]).await;
    assert_eq!(followed.next().await, None);
}

#[tokio::test]
async fn a_page_that_does_not_change_by_itself_is_not_followed() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    let mut tab = world.signed_in(Role::Viewer).await;
    assert_eq!(tab.follow(&format!("/console/records/fleet/drivers/{}", id(&driver))).await.status(), 204);
    assert_eq!(tab.follow("/console/records/fleet/nothing").await.status(), 404);
}
