//! Tracking numbers and statuses: decisions, section 9; interface 2, Events (tracking_number.*, tracking_status.*).

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::fleet::{id, names, to, uuid};

async fn number_of(world: &World, order: &Value) -> Value {
    world.fleet_list(&format!("tracking-numbers?order={}", id(order))).await["tracking_numbers"][0].take()
}

#[tokio::test]
async fn an_order_goes_by_the_number_of_its_carrier() {
    let world = World::new().await;
    let (order, other) = (world.order(json!({})).await, world.order(json!({})).await);
    let number = number_of(&world, &order).await;
    let (changed, events) = world.published(world.change("tracking-numbers", &number, json!({ "tracking_number": "1Z 999" }))).await;
    assert_eq!(names(&events), ["order.updated", "tracking_number.updated"]);
    assert_eq!((events[0].subject, &events[0].data["tracking_number"]), (uuid(&order), &json!("1Z 999")));
    assert_eq!((events[1].subject, &events[1].data["order"]), (uuid(&number), &order["id"]));
    assert_eq!(changed["tracking_number"], "1Z 999");
    assert_eq!(world.listed("orders?tracking_number=1Z%20999").await, [id(&order)]);
    // A number has one spelling.
    let same =
        world.published_names(world.change("tracking-numbers", &number, json!({ "tracking_number": "1z 999", "order": id(&order) })));
    assert!(same.await.is_empty());
    assert_eq!(world.listed("orders?tracking_number=1z%20999").await, [id(&order)]);

    let number = number_of(&world, &other).await;
    let path = format!("tracking-numbers/{}", id(&number));
    for (body, member) in [
        (json!({ "tracking_number": "1Z 999" }), "tracking_number"),
        (json!({ "tracking_number": "" }), "tracking_number"),
        (json!({ "order": id(&order) }), "order"),
    ] {
        assert_eq!(world.refused_members(Method::PUT, &path, &body).await, [member], "{body}");
    }
    assert_eq!(number_of(&world, &other).await, number);
}

#[tokio::test]
async fn the_number_of_a_deleted_order_stays_with_it_and_can_be_anothers() {
    let world = World::new().await;
    let (order, other) = (world.order(json!({})).await, world.order(json!({})).await);
    let (number, others) = (number_of(&world, &order).await, number_of(&world, &other).await);
    world.change("tracking-numbers", &number, json!({ "tracking_number": "1Z 999" })).await;
    world.fleet(Method::DELETE, &format!("orders/{}", id(&order))).send().await.ok(200);
    let path = format!("tracking-numbers/{}", id(&number));
    assert_eq!(world.refused_members(Method::PUT, &path, &json!({ "tracking_number": "1Z 998" })).await, ["order"]);
    assert_eq!(number_of(&world, &order).await["tracking_number"], "1Z 999");
    world.change("tracking-numbers", &others, json!({ "tracking_number": "1Z 999" })).await;
    assert_eq!(world.listed("orders?tracking_number=1Z%20999").await, [id(&other)]);
}

#[tokio::test]
async fn what_happens_on_the_way_is_recorded_by_hand() {
    let world = World::new().await;
    let order = world.order(json!({})).await;
    let body = json!({ "order": id(&order), "status": "at_the_depot", "details": "It will be sorted.", "place": "Depot North", "latitude": 1, "longitude": 2 });
    let (status, events) = world.published(world.create("tracking-statuses", body)).await;
    assert_eq!((names(&events), events[0].subject), (vec!["tracking_status.created"], uuid(&status)));
    assert_eq!((&status["status"], &status["place"], &status["order"]), (&json!("at_the_depot"), &json!("Depot North"), &order["id"]));
    let (changed, events) = world.published(world.change("tracking-statuses", &status, json!({ "details": "It was sorted." }))).await;
    assert_eq!(names(&events), ["tracking_status.updated"]);
    assert_eq!((&events[0].data["details"], &changed["status"]), (&json!("It was sorted."), &json!("at_the_depot")));
    assert_eq!(world.fleet(Method::GET, &format!("orders/{}", id(&order))).send().await.ok(200)["order"], order, "the order is unchanged");
    assert_eq!(world.listed("tracking-statuses?status=at_the_depot").await, [id(&status)]);
}

#[tokio::test]
async fn only_the_order_says_how_far_it_has_come() {
    let world = World::new().await;
    let (order, other) = (world.order(json!({ "skip_dispatch": true })).await, world.order(json!({})).await);
    to(&world, &order, "started").await.ok(200);
    let started = world.fleet_list("tracking-statuses?status=started").await["tracking_statuses"][0].take();
    let by_hand = world.create("tracking-statuses", json!({ "order": id(&order), "status": "at_the_depot" })).await;
    for (method, path, body, member) in [
        (Method::POST, "tracking-statuses".to_owned(), json!({ "order": id(&order), "status": "completed" }), "status"),
        (Method::POST, "tracking-statuses".to_owned(), json!({ "order": id(&order), "status": "At the depot" }), "status"),
        (Method::POST, "tracking-statuses".to_owned(), json!({ "order": id(&order) }), "status"),
        (Method::POST, "tracking-statuses".to_owned(), json!({ "status": "at_the_depot" }), "order"),
        (Method::POST, "tracking-statuses".to_owned(), json!({ "order": id(&order), "status": "lost", "latitude": 1 }), "longitude"),
        (Method::PUT, format!("tracking-statuses/{}", id(&by_hand)), json!({ "status": "completed" }), "status"),
        (Method::PUT, format!("tracking-statuses/{}", id(&by_hand)), json!({ "order": id(&other) }), "order"),
        (Method::PUT, format!("tracking-statuses/{}", id(&started)), json!({ "status": "at_the_depot" }), "status"),
    ] {
        assert_eq!(world.refused_members(method, &path, &body).await, [member], "{path}: {body}");
    }
    let described =
        world.change("tracking-statuses", &started, json!({ "details": "The driver is on the way.", "status": "started" })).await;
    assert_eq!(described["details"], "The driver is on the way.");
}
