//! A complete delivery, described by its events: interface 2, Events.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::fleet::{id, to};

/// Checks the events of each step.
struct Emissions<'a> {
    world: &'a World,
}

impl Emissions<'_> {
    /// Runs `doing`, asserts that it publishes exactly the events `expected`, and returns its result.
    async fn by<T>(&self, doing: impl Future<Output = T>, expected: &[&str]) -> T {
        let (done, events) = self.world.published(doing).await;
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        let names: Vec<_> = events.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(names, expected);
        done
    }
}

#[tokio::test]
async fn a_delivery_from_the_order_to_the_proof() {
    let world = World::new().await;
    let emissions = Emissions { world: &world };
    let create = |plural: &'static str, body: Value| world.create(plural, body);

    let north = emissions.by(create("fleets", json!({ "name": "North" })), &["fleet.created"]).await;
    let ada = emissions.by(create("drivers", json!({ "name": "Ada", "phone": "+12015550123" })), &["driver.created"]).await;
    let van = emissions.by(create("vehicles", json!({ "name": "Van" })), &["vehicle.created"]).await;
    let ada_changes = |body: Value| world.change("drivers", &ada, body);
    let van_changes = |body: Value| world.change("vehicles", &van, body);
    emissions.by(ada_changes(json!({ "fleet": id(&north) })), &["driver.assigned", "driver.updated"]).await;
    emissions.by(van_changes(json!({ "driver": id(&ada), "fleet": id(&north) })), &["vehicle.assigned", "vehicle.updated"]).await;
    emissions.by(ada_changes(json!({ "online": true })), &["driver.online"]).await;

    let payload = json!({ "pickup": "1 Mill Lane", "dropoff": "2 High Street" });
    let placed = ["order.created", "tracking_number.created", "tracking_status.created"];
    let order = emissions.by(create("orders", json!({ "payload": payload })), &placed).await;
    let order_changes = |body: Value| world.change("orders", &order, body);
    let assigned = ["order.driver_assigned", "driver.assigned", "order.updated"];
    emissions.by(order_changes(json!({ "driver": id(&ada), "vehicle": id(&van) })), &assigned).await;
    emissions.by(order_changes(json!({ "notes": "Ring twice." })), &["order.updated"]).await;

    for (status, event) in [("dispatched", "order.dispatched"), ("started", "order.started")] {
        emissions.by(to(&world, &order, status), &[event, "order.updated", "tracking_status.created"]).await.ok(200);
    }
    for (plural, record, event) in [("drivers", &ada, "driver.location_changed"), ("vehicles", &van, "vehicle.location_changed")] {
        let track = world.fleet(Method::POST, &format!("{plural}/{}/track", id(record))).json(&json!({ "latitude": 1, "longitude": 2 }));
        emissions.by(track.send(), &[event]).await.ok(200);
    }
    let depot = json!({ "order": id(&order), "status": "at_the_depot" });
    let depot = emissions.by(create("tracking-statuses", depot), &["tracking_status.created"]).await;
    let sorted = world.change("tracking-statuses", &depot, json!({ "details": "It was sorted." }));
    emissions.by(sorted, &["tracking_status.updated"]).await;
    let number = world.fleet_list("tracking-numbers").await["tracking_numbers"][0].take();
    let renumbered = world.change("tracking-numbers", &number, json!({ "tracking_number": "CARRIER-7" }));
    emissions.by(renumbered, &["tracking_number.updated", "order.updated"]).await;

    let flat = json!({ "report": "Flat tyre", "vehicle": id(&van), "order": id(&order) });
    let flat = emissions.by(create("issues", flat), &["issue.created"]).await;
    emissions.by(world.change("issues", &flat, json!({ "status": "in_progress" })), &["issue.updated"]).await;
    emissions.by(world.change("issues", &flat, json!({ "status": "resolved" })), &["issue.resolved", "issue.updated"]).await;
    emissions.by(van_changes(json!({ "meta": { "tyres": "new" } })), &["vehicle.updated"]).await;

    let proof = json!({ "order": id(&order), "type": "signature", "data": "M0 0L9 9" });
    emissions.by(create("proofs", proof), &["proof_of_delivery.created"]).await;
    emissions.by(to(&world, &order, "completed"), &["order.completed", "order.updated", "tracking_status.created"]).await.ok(200);
    emissions.by(ada_changes(json!({ "online": false })), &["driver.offline"]).await;

    let second = emissions.by(create("orders", json!({})), &placed).await;
    emissions.by(to(&world, &second, "cancelled"), &["order.cancelled", "order.updated", "tracking_status.created"]).await.ok(200);

    all_nineteen_were_published(&world).await;
    every_event_of_the_order_is_whole(&world, &order, &ada).await;
}

/// Asserts that all nineteen events of interface 2 were published.
async fn all_nineteen_were_published(world: &World) {
    let nineteen = "order.created order.dispatched order.started order.completed order.cancelled order.updated driver.assigned \
                    driver.location_changed driver.online driver.offline driver.updated tracking_status.created tracking_number.created \
                    proof_of_delivery.created vehicle.updated vehicle.assigned issue.created issue.updated issue.resolved";
    let published: Vec<String> = sqlx::query_scalar("select distinct name from events").fetch_all(&world.pool).await.unwrap();
    let missing: Vec<_> = nineteen.split_whitespace().filter(|name| !published.iter().any(|published| published == name)).collect();
    assert_eq!((missing, nineteen.split_whitespace().count()), (vec![], 19));
}

/// Asserts that `driver_assigned` is an object with the driver's name and phone from the assignment on, `payload` has two lines, and
/// the order in the last event is the one that `GET` shows.
async fn every_event_of_the_order_is_whole(world: &World, order: &Value, driver: &Value) {
    let events: Vec<(String, Vec<u8>)> =
        sqlx::query_as("select name, body from events where name like 'order.%' and subject_id = $1 order by created_at, id")
            .bind(crate::support::fleet::uuid(order))
            .fetch_all(&world.pool)
            .await
            .unwrap();
    let mut last = Value::Null;
    for (name, body) in &events {
        last = serde_json::from_slice::<Value>(body).unwrap()["data"].take();
        assert_eq!(last["payload"], json!({ "pickup": "1 Mill Lane", "dropoff": "2 High Street" }));
        let assigned = json!({ "id": driver["id"], "uuid": driver["uuid"], "name": "Ada", "phone": "+12015550123" });
        assert_eq!(last["driver_assigned"], if name == "order.created" { Value::Null } else { assigned }, "{name}");
    }
    assert!(events.len() > 5);
    let found = world.fleet(Method::GET, &format!("orders/{}", id(order))).send().await.ok(200)["order"].take();
    for (member, value) in found.as_object().unwrap() {
        assert_eq!(&last[member], value, "{member}");
    }
}
