//! Vehicles: decisions, section 9; interface 2, Events (vehicle.updated, vehicle.assigned).

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::fleet::{id, names, uuid};

#[tokio::test]
async fn a_vehicle_is_known_by_what_is_true_of_it() {
    let world = World::new().await;
    let ada = world.driver("Ada").await;
    let north = world.create("fleets", json!({ "name": "North" })).await;
    let body = json!({
        "name": "Van 7", "plate_number": "B-PT 7", "type": "van", "make": "Volt", "model": "Carrier", "year": 2024, "color": "white",
        "vin": "1hgcm82633a004352", "status": "maintenance", "driver": id(&ada), "fleet": { "id": id(&north) }, "online": true,
        "latitude": 52.5, "longitude": 13.4, "meta": { "seats": 3 },
    });
    let vehicle = world.create("vehicles", body).await;
    assert_eq!(
        vehicle,
        json!({
            "id": id(&vehicle), "uuid": uuid(&vehicle), "name": "Van 7", "plate_number": "B-PT 7", "type": "van", "make": "Volt",
            "model": "Carrier", "year": 2024, "color": "white", "vin": "1HGCM82633A004352", "status": "maintenance", "driver": id(&ada),
            "fleet": id(&north), "online": true, "latitude": 52.5, "longitude": 13.4, "heading": null, "speed": null, "altitude": null,
            "location_updated_at": "2026-05-21T10:15:00.000+00:00", "meta": { "seats": 3 },
            "created_at": "2026-05-21T10:15:00.000+00:00", "updated_at": "2026-05-21T10:15:00.000+00:00",
        })
    );
}

#[tokio::test]
async fn details_location_and_assignment_have_events_of_their_own() {
    let world = World::new().await;
    let (ada, north) = (world.driver("Ada").await, world.create("fleets", json!({ "name": "North" })).await);
    let (vehicle, events) = world.published(world.vehicle("Van")).await;
    assert_eq!(names(&events), ["vehicle.created"]);
    for (body, expected) in [
        (json!({ "plate_number": "B-PT 7" }), vec!["vehicle.updated"]),
        (json!({ "status": "out_of_service", "meta": { "a": 1 } }), vec!["vehicle.updated"]),
        (json!({ "online": true }), vec!["vehicle.updated"]),
        (json!({ "latitude": 1, "longitude": 2 }), vec!["vehicle.location_changed"]),
        (json!({ "heading": 90, "name": "Van 7" }), vec!["vehicle.location_changed", "vehicle.updated"]),
        (json!({ "driver": id(&ada) }), vec!["vehicle.assigned", "vehicle.updated"]),
        (json!({ "driver": id(&ada), "heading": 90 }), vec![]),
        (json!({ "driver": null }), vec!["vehicle.updated"]),
        (json!({ "driver": id(&ada), "fleet": id(&north) }), vec!["vehicle.assigned", "vehicle.updated"]),
    ] {
        let (_, events) = world.published(world.change("vehicles", &vehicle, body.clone())).await;
        assert_eq!(names(&events), expected, "{body}");
        assert!(events.iter().all(|event| event.subject == uuid(&vehicle) && event.data["id"] == vehicle["id"]));
    }
    assert_eq!(world.published_names(world.delete("vehicles", &vehicle)).await, ["vehicle.deleted"]);
}

#[tokio::test]
async fn an_assignment_says_to_whom() {
    let world = World::new().await;
    let (ada, north) = (world.driver("Ada").await, world.create("fleets", json!({ "name": "North" })).await);
    let (vehicle, events) = world.published(world.create("vehicles", json!({ "name": "Van", "driver": id(&ada) }))).await;
    assert_eq!(names(&events), ["vehicle.assigned", "vehicle.created"]);
    assert_eq!((&events[0].data["driver"], &events[0].data["additionalData"]), (&ada["id"], &json!({ "driver": id(&ada) })));
    let (_, events) = world.published(world.change("vehicles", &vehicle, json!({ "fleet": id(&north) }))).await;
    assert_eq!(events[0].data["additionalData"], json!({ "fleet": id(&north) }));
    assert_eq!((&events[0].data["driver"], &events[0].data["fleet"]), (&ada["id"], &north["id"]));
}

#[tokio::test]
async fn bad_members_are_refused_by_name() {
    let world = World::new().await;
    let vehicle = world.vehicle("Van").await;
    let gone = world.driver("Gone").await;
    world.delete("drivers", &gone).await.ok(200);
    for (body, member) in [
        (json!({}), "name"),
        (json!({ "make": "Volt" }), "name"),
        (json!({ "name": "" }), "name"),
        (json!({ "name": "Van", "plate_number": "x".repeat(21) }), "plate_number"),
        (json!({ "name": "Van", "year": 1885 }), "year"),
        (json!({ "name": "Van", "year": 2024.5 }), "year"),
        (json!({ "name": "Van", "vin": "IHGCM82633A004352" }), "vin"),
        (json!({ "name": "Van", "status": "flying" }), "status"),
        (json!({ "name": "Van", "status": null }), "status"),
        (json!({ "name": "Van", "driver": id(&gone) }), "driver"),
        (json!({ "name": "Van", "fleet": "fleet_01h455vb4pex5vsknk084sn02q" }), "fleet"),
        (json!({ "name": "Van", "fleet": id(&gone) }), "fleet"),
        (json!({ "name": "Van", "latitude": 1 }), "longitude"),
        (json!({ "name": "Van", "location_updated_at": "2026-05-21T10:15:00Z" }), "location_updated_at"),
    ] {
        assert_eq!(world.refused_members(Method::POST, "vehicles", &body).await, [member], "{body}");
    }
    let path = format!("vehicles/{}", id(&vehicle));
    assert_eq!(world.refused_members(Method::PUT, &path, &json!({ "name": null })).await, ["name"]);
    world.change("vehicles", &vehicle, json!({ "name": null, "plate_number": "B-PT 7" })).await;
    assert_eq!(world.count("select count(*) from vehicles").await, 1);
}

#[tokio::test]
async fn vehicles_are_found_by_what_they_are_known_by() {
    let world = World::new().await;
    let (ada, north) = (world.driver("Ada").await, world.create("fleets", json!({ "name": "North" })).await);
    let van = json!({ "name": "Van", "plate_number": "B-PT 7", "driver": id(&ada), "online": true, "type": "van" });
    let van = world.create("vehicles", van).await;
    let bike = json!({ "name": "Bike", "make": "Pedal", "fleet": id(&north), "status": "retired", "vin": "1HGCM82633A004352" });
    let bike = world.create("vehicles", bike).await;
    for (parameters, expected) in [
        (format!("driver={}", id(&ada)), &van),
        (format!("fleet={}", uuid(&north)), &bike),
        ("status=retired".to_owned(), &bike),
        ("online=true".to_owned(), &van),
        ("type=van".to_owned(), &van),
        ("plate_number=B-PT%207".to_owned(), &van),
        ("vin=1HGCM82633A004352".to_owned(), &bike),
        ("query=pedal".to_owned(), &bike),
        ("query=b-pt".to_owned(), &van),
    ] {
        assert_eq!(world.listed(&format!("vehicles?{parameters}")).await, [id(expected)], "{parameters}");
    }
}

#[tokio::test]
async fn what_others_need_is_not_deleted() {
    let world = World::new().await;
    let (ada, van) = (world.driver("Ada").await, world.vehicle("Van").await);
    let order = world.order(json!({ "driver": id(&ada), "vehicle": id(&van) })).await;
    let refused = async |plural: &str, record: &Value| {
        let (answer, events) = world.published(world.delete(plural, record)).await;
        answer.refused(409, "record_in_use");
        assert!(events.is_empty());
    };
    refused("vehicles", &van).await;
    world.change_order(&order, json!({ "status": "cancelled" })).await;
    world.change("vehicles", &van, json!({ "driver": id(&ada) })).await;
    refused("drivers", &ada).await;
    world.delete("vehicles", &van).await.ok(200);
    world.delete("drivers", &ada).await.ok(200);
}
