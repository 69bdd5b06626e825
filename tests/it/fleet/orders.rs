//! Orders: decisions, section 9 (their fields and related records); interface 2, Events.

use chrono::TimeDelta;
use portico::callers::Scope;
use portico::kernel::ids::{CustomerId, DriverId, VehicleId};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::World;
use crate::support::fleet::{id, to, uuid};

#[tokio::test]
async fn a_new_order_has_a_number_and_nothing_else_happened_to_it() {
    let world = World::new().await;
    let customer = CustomerId::from(Uuid::from_u128(1));
    let van = world.vehicle("Van").await;
    let vehicle = id(&van);
    let order = world
        .order(json!({
            "type": "parcel",
            "internal_id": "A-7",
            "customer": customer.uuid(),
            "vehicle": { "id": vehicle },
            "payload": { "pickup": "1 Main St", "dropoff": "2 Side St" },
            "notes": "Ring twice.\nSecond floor.",
            "scheduled_at": "2026-05-22T12:00:00.123456+02:00",
            "meta": { "colour": "red" },
        }))
        .await;
    let number = order["tracking_number"].as_str().unwrap();
    assert_eq!(number.len(), 12);
    assert_eq!(
        order,
        json!({
            "id": id(&order), "uuid": uuid(&order), "status": "created", "tracking_number": number, "internal_id": "A-7", "type": "parcel",
            "driver_assigned": null, "customer": customer, "contact_email": null, "contact_phone": null, "vehicle": vehicle,
            "payload": { "pickup": "1 Main St", "dropoff": "2 Side St" }, "notes": "Ring twice.\nSecond floor.", "skip_dispatch": false,
            "scheduled_at": "2026-05-22T10:00:00.123+00:00", "dispatched_at": null, "started_at": null, "completed_at": null,
            "cancelled_at": null, "failed_at": null, "meta": { "colour": "red" },
            "created_at": "2026-05-21T10:15:00.000+00:00", "updated_at": "2026-05-21T10:15:00.000+00:00",
        })
    );
}

#[tokio::test]
async fn a_new_order_brings_its_number_and_its_first_status() {
    let world = World::new().await;
    let (order, events) = world.published(world.order(json!({ "payload": { "pickup": "here" } }))).await;
    let names: Vec<_> = events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["order.created", "tracking_number.created", "tracking_status.created"]);

    let [created, number, status] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(created.subject, uuid(&order));
    for (member, value) in order.as_object().unwrap() {
        assert_eq!(&created.data[member], value, "{member}: an event shows the same as a response");
    }
    assert_eq!((&created.data["public_id"], &created.data["additionalData"]), (&order["id"], &json!({})));

    let numbers = world.fleet_list("tracking-numbers").await;
    assert_eq!(numbers["tracking_numbers"][0]["tracking_number"], order["tracking_number"]);
    assert_eq!(number.subject, uuid(&numbers["tracking_numbers"][0]));
    assert_eq!((&number.data["order"], &number.data["tracking_number"]), (&order["id"], &order["tracking_number"]));
    assert_eq!((&number.data["public_id"], &number.data["meta"]), (&number.data["id"], &json!({})));

    let statuses = world.fleet_list(&format!("tracking-statuses?order={}", id(&order))).await;
    assert_eq!(status.subject, uuid(&statuses["tracking_statuses"][0]));
    assert_eq!((&status.data["order"], &status.data["status"]), (&order["id"], &json!("created")));
    assert!(status.data["id"].as_str().unwrap().starts_with("status_") && number.data["id"].as_str().unwrap().starts_with("track_"));
}

#[tokio::test]
async fn a_driver_is_named_in_many_ways() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    let assigned = json!({ "id": id(&driver), "uuid": uuid(&driver), "name": "Ada", "phone": null });
    for member in ["driver", "driver_uuid", "driver_id", "driver_assigned"] {
        for form in [json!(id(&driver)), json!(uuid(&driver)), json!({ "id": id(&driver) }), assigned.clone()] {
            let order = world.order(json!({ member: form })).await;
            assert_eq!(order["driver_assigned"], assigned, "{member}: {form}");
        }
        assert_eq!(world.order(json!({ member: null })).await["driver_assigned"], json!(null));
    }
}

#[tokio::test]
async fn an_assignment_is_published_for_the_order_and_for_the_driver() {
    let world = World::new().await;
    let (ada, bob) = (world.driver("Ada").await, world.driver("Bob").await);
    let (order, events) = world.published(world.order(json!({ "driver": id(&ada) }))).await;
    let names: Vec<_> = events.iter().map(|event| event.name.as_str()).collect();
    let with_creation = ["driver.assigned", "order.created", "order.driver_assigned", "tracking_number.created", "tracking_status.created"];
    assert_eq!(names, with_creation);
    assert_eq!((events[0].subject, &events[0].data["id"], &events[0].data["name"]), (uuid(&ada), &ada["id"], &json!("Ada")));
    assert_eq!(events[0].data["additionalData"], json!({ "order": id(&order) }));
    assert_eq!((events[2].subject, &events[2].data["driver_assigned"]["id"]), (uuid(&order), &ada["id"]));

    let (_, events) = world.published(world.change_order(&order, json!({ "driver": id(&bob) }))).await;
    let names: Vec<_> = events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["driver.assigned", "order.driver_assigned", "order.updated"]);
    assert_eq!(events[0].subject, uuid(&bob));
    assert!(world.published_names(world.change_order(&order, json!({ "driver": id(&bob) }))).await.is_empty());
    assert_eq!(world.published_names(world.change_order(&order, json!({ "driver": null }))).await, ["order.updated"]);
}

#[tokio::test]
async fn a_dispatched_order_keeps_a_driver_and_a_closed_one_its_own() {
    let world = World::new().await;
    let (ada, bob) = (world.driver("Ada").await, world.driver("Bob").await);
    let order = world.order(json!({ "driver": id(&ada) })).await;
    let put = |body: Value| world.fleet(Method::PUT, &format!("orders/{}", id(&order))).json(&body).send();
    to(&world, &order, "dispatched").await.ok(200);
    put(json!({ "driver": null })).await.refused(422, "body_invalid");
    put(json!({ "driver": id(&bob) })).await.ok(200);
    to(&world, &order, "started").await.ok(200);
    put(json!({ "driver": null })).await.refused(422, "body_invalid");
    to(&world, &order, "completed").await.ok(200);
    for driver in [json!(null), ada["id"].clone()] {
        let refusal = put(json!({ "driver": driver })).await.refused(422, "body_invalid");
        assert!(refusal["fields"]["driver"].is_array());
    }
    put(json!({ "driver": id(&bob), "notes": "left at the door" })).await.ok(200);
}

#[tokio::test]
async fn only_a_driver_of_the_same_company_who_is_still_there_can_be_assigned() {
    let world = World::new().await;
    let (_, other) = world.another_company(&Scope::ALL).await;
    let foreign = world.fleet(Method::POST, "drivers").key(&other).json(&json!({ "name": "Eve" })).send().await.ok(201);
    let gone = world.driver("Gone").await;
    world.fleet(Method::DELETE, &format!("drivers/{}", id(&gone))).send().await.ok(200);
    let order = world.order(json!({})).await;
    let unknown = DriverId::from(Uuid::from_u128(7));
    for driver in
        [json!(id(&foreign["driver"])), json!(id(&gone)), json!(unknown), json!("nobody"), json!(7), json!({ "id": 7 }), json!(id(&order))]
    {
        let body = json!({ "driver": driver });
        for (method, path) in [(Method::POST, "orders".to_owned()), (Method::PUT, format!("orders/{}", id(&order)))] {
            let refusal = world.fleet(method, &path).json(&body).send().await.refused(422, "body_invalid");
            assert!(refusal["fields"]["driver"].is_array(), "{refusal}");
        }
    }
    assert_eq!(world.count("select count(*) from orders").await, 1);
}

#[tokio::test]
async fn only_a_vehicle_of_the_same_company_that_is_still_there_can_be_named() {
    let world = World::new().await;
    let (_, other) = world.another_company(&Scope::ALL).await;
    let foreign = world.fleet(Method::POST, "vehicles").key(&other).json(&json!({ "name": "Van" })).send().await.ok(201);
    let gone = world.vehicle("Gone").await;
    let order = world.order(json!({ "vehicle": id(&gone) })).await;
    let closed = world.order(json!({ "vehicle": id(&gone) })).await;
    world.delete("vehicles", &gone).await.refused(409, "record_in_use");
    for order in [&order, &closed] {
        to(&world, order, "cancelled").await.ok(200);
    }
    world.delete("vehicles", &gone).await.ok(200);
    let unknown = VehicleId::from(Uuid::from_u128(7));
    for vehicle in [json!(id(&foreign["vehicle"])), json!(id(&gone)), json!(unknown), json!("nothing")] {
        assert_eq!(world.refused_members(Method::POST, "orders", &json!({ "vehicle": vehicle })).await, ["vehicle"]);
    }
    let remembered = world.change_order(&closed, json!({ "notes": "It was the old van." })).await;
    assert_eq!(remembered["vehicle"], gone["id"]);
}

#[tokio::test]
async fn a_payload_changes_by_its_parts() {
    let world = World::new().await;
    let order = world.order(json!({ "payload": { "pickup": "here", "dropoff": "there" } })).await;
    for (payload, pickup, dropoff) in [
        (json!({ "dropoff": "elsewhere" }), json!("here"), json!("elsewhere")),
        (json!({}), json!("here"), json!("elsewhere")),
        (json!({ "pickup": null }), json!(null), json!("elsewhere")),
        (json!(null), json!(null), json!(null)),
    ] {
        let changed = world.change_order(&order, json!({ "payload": payload })).await;
        assert_eq!(changed["payload"], json!({ "pickup": pickup, "dropoff": dropoff }), "{payload}");
    }
}

#[tokio::test]
async fn bad_members_are_refused_by_name() {
    let world = World::new().await;
    for (body, member) in [
        (json!({ "payload": { "pickup": "a\nb" } }), "payload.pickup"),
        (json!({ "payload": { "dropoff": "x".repeat(501) } }), "payload.dropoff"),
        (json!({ "payload": { "dropoff": ["x"] } }), "payload.dropoff"),
        (json!({ "payload": { "dropof": "x" } }), "dropof"),
        (json!({ "payload": "here" }), "payload"),
        (json!({ "type": "x".repeat(51) }), "type"),
        (json!({ "internal_id": "x".repeat(101) }), "internal_id"),
        (json!({ "internal_id": "" }), "internal_id"),
        (json!({ "notes": "x".repeat(2001) }), "notes"),
        (json!({ "notes": "a\u{1b}[31m" }), "notes"),
        (json!({ "scheduled_at": "tomorrow" }), "scheduled_at"),
        (json!({ "scheduled_at": "99999-01-01T00:00:00Z" }), "scheduled_at"),
        (json!({ "scheduled_at": 5 }), "scheduled_at"),
        (json!({ "skip_dispatch": 1 }), "skip_dispatch"),
        (json!({ "customer": "driver_01h455vb4pex5vsknk084sn02q" }), "customer"),
        (json!({ "meta": [] }), "meta"),
        (json!({ "tracking_number": "MINE" }), "tracking_number"),
        (json!({ "dispatched_at": "2026-05-21T10:15:00Z" }), "dispatched_at"),
    ] {
        let refusal = world.fleet(Method::POST, "orders").json(&body).send().await.refused(422, "body_invalid");
        assert!(refusal["fields"][member].is_array(), "{body}: {refusal}");
    }
    assert_eq!(world.count("select count(*) from orders").await, 0);
    assert_eq!(world.count("select count(*) from events").await, 0);
}

#[tokio::test]
async fn orders_are_found_by_what_they_are_known_by() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    let customer = CustomerId::from(Uuid::from_u128(1));
    let first =
        world.order(json!({ "internal_id": "A-7", "driver": id(&driver), "type": "parcel", "payload": { "pickup": "Harbour 3" } })).await;
    world.pass(TimeDelta::seconds(1));
    let second = world.order(json!({ "customer": customer, "payload": { "dropoff": "Baker Street" } })).await;
    to(&world, &first, "dispatched").await.ok(200);
    let number = first["tracking_number"].as_str().unwrap();
    for (parameters, expected) in [
        ("status=dispatched".to_owned(), &first),
        (format!("driver={}", uuid(&driver)), &first),
        ("type=parcel".to_owned(), &first),
        ("internal_id=A-7".to_owned(), &first),
        ("query=a-7".to_owned(), &first),
        ("query=harbour".to_owned(), &first),
        (format!("tracking_number={number}"), &first),
        (format!("query={}", number.to_lowercase()), &first),
        ("status=created".to_owned(), &second),
        (format!("customer={customer}"), &second),
        ("query=baker%20street".to_owned(), &second),
    ] {
        let list = world.fleet_list(&format!("orders?{parameters}")).await;
        let found: Vec<_> = list["orders"].as_array().unwrap().iter().map(id).collect();
        assert_eq!(found, [id(expected)], "{parameters}");
    }
    world.fleet(Method::GET, "orders?status=flying").send().await.refused(422, "parameter_invalid");
}

#[tokio::test]
async fn a_dispatcher_finds_what_waits_for_a_driver() {
    let world = World::new().await;
    let (ada, bob, van) = (world.driver("Ada").await, world.driver("Bob").await, world.vehicle("Van").await);
    let bodies = [json!({}), json!({ "driver": id(&ada) }), json!({ "driver": id(&bob), "vehicle": id(&van) }), json!({})];
    let mut orders = Vec::new();
    for body in bodies {
        world.pass(TimeDelta::seconds(1));
        orders.push(world.order(body).await);
    }
    let [waits, given, leaves, cancelled] = &orders[..] else { panic!("{orders:?}") };
    to(&world, leaves, "dispatched").await.ok(200);
    to(&world, cancelled, "cancelled").await.ok(200);
    for (parameters, expected) in [
        ("driver=none".to_owned(), vec![waits, cancelled]),
        ("driver=none&status=created".to_owned(), vec![waits]),
        ("status=created,dispatched".to_owned(), vec![waits, given, leaves]),
        ("status=created,%20cancelled&driver=none".to_owned(), vec![waits, cancelled]),
        (format!("driver={},{}", id(&ada), uuid(&bob)), vec![given, leaves]),
        (format!("vehicle=none&driver={}", id(&ada)), vec![given]),
    ] {
        let expected: Vec<_> = expected.into_iter().map(|order| id(order).to_owned()).collect();
        assert_eq!(world.listed(&format!("orders?sort=created_at&{parameters}")).await, expected, "{parameters}");
    }
    for (parameters, name) in [
        ("status=created,".to_owned(), "status"),
        ("status=created,flying".to_owned(), "status"),
        ("status=none".to_owned(), "status"),
        (format!("driver=none,{}", id(&ada)), "driver"),
        ("driver=".to_owned(), "driver"),
    ] {
        let refusal = world.fleet(Method::GET, &format!("orders?{parameters}")).send().await.refused(422, "parameter_invalid");
        assert_eq!(refusal["parameter"], name, "{parameters}");
    }
}

#[tokio::test]
async fn a_deletion_of_an_order_is_published_once_and_keeps_its_track() {
    let world = World::new().await;
    let order = world.order(json!({})).await;
    let delete = || world.fleet(Method::DELETE, &format!("orders/{}", id(&order))).send();
    let (answer, events) = world.published(delete()).await;
    assert_eq!(answer.ok(200)["order"], order);
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].name.as_str(), events[0].subject, &events[0].data["status"]), ("order.deleted", uuid(&order), &json!("created")));
    delete().await.refused(404, "record_not_found");
    assert_eq!(world.fleet_list("tracking-numbers").await["tracking_numbers"].as_array().unwrap().len(), 1);
}
