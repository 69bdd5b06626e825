//! Drivers: decisions, section 9 (profile, location and availability have events of their own); interface 2, Events.

use futures::future::join_all;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::fleet::{id, uuid};
use crate::support::{Answer, World};

async fn track(world: &World, driver: &Value, position: Value) -> Answer {
    world.fleet(Method::POST, &format!("drivers/{}/track", id(driver))).json(&position).send().await
}

async fn track_many(world: &World, positions: Value) -> Answer {
    world.fleet(Method::POST, "drivers/track").json(&json!({ "positions": positions })).send().await
}

#[tokio::test]
async fn a_driver_has_a_profile_in_one_spelling() {
    let world = World::new().await;
    let body = json!({ "name": " Ada ", "phone": "1 (201) 555-0123", "email": "Ada@EXAMPLE.com", "license_number": "B-7" });
    let driver = world.fleet(Method::POST, "drivers").json(&body).send().await.ok(201)["driver"].take();
    assert_eq!((&driver["name"], &driver["phone"], &driver["email"]), (&json!("Ada"), &json!("+12015550123"), &json!("Ada@example.com")));
    assert_eq!((&driver["online"], &driver["latitude"], &driver["location_updated_at"]), (&json!(false), &json!(null), &json!(null)));
    let cleared = world.change_driver(&driver, json!({ "phone": null, "email": null, "license_number": null })).await;
    assert_eq!((&cleared["phone"], &cleared["email"], &cleared["license_number"]), (&json!(null), &json!(null), &json!(null)));
}

#[tokio::test]
async fn every_part_of_a_driver_has_its_own_events() {
    let world = World::new().await;
    let (driver, events) = world.published(world.driver("Ada")).await;
    assert_eq!(events.iter().map(|event| event.name.as_str()).collect::<Vec<_>>(), ["driver.created"]);
    let here = json!({ "latitude": 52.5, "longitude": 13.4 });
    for (body, expected) in [
        (here.clone(), vec!["driver.location_changed"]),
        (here, vec![]),
        (json!({ "heading": 90 }), vec!["driver.location_changed"]),
        (json!({ "speed": 12.5, "altitude": -3 }), vec!["driver.location_changed"]),
        (json!({ "online": true }), vec!["driver.online"]),
        (json!({ "online": true }), vec![]),
        (json!({ "online": false }), vec!["driver.offline"]),
        (json!({ "name": "Ada L." }), vec!["driver.updated"]),
        (json!({ "meta": { "a": 1 } }), vec!["driver.updated"]),
        (
            json!({ "name": "Ada", "online": true, "latitude": 0, "longitude": 0 }),
            vec!["driver.location_changed", "driver.online", "driver.updated"],
        ),
        (json!({ "latitude": null, "longitude": null }), vec!["driver.location_changed"]),
    ] {
        let (_, events) = world.published(world.change_driver(&driver, body.clone())).await;
        assert_eq!(events.iter().map(|event| event.name.as_str()).collect::<Vec<_>>(), expected, "{body}");
        assert!(events.iter().all(|event| event.subject == uuid(&driver) && event.data["id"] == driver["id"]));
    }
    let deleted = world.fleet(Method::DELETE, &format!("drivers/{}", id(&driver))).send();
    assert_eq!(world.published_names(deleted).await, ["driver.deleted"]);
}

#[tokio::test]
async fn a_location_is_dated_when_it_changes() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    let (moved, _) = world.published(world.change_driver(&driver, json!({ "latitude": 1, "longitude": 2 }))).await;
    assert_eq!(moved["location_updated_at"], moved["updated_at"]);
    let (renamed, _) = world.published(world.change_driver(&driver, json!({ "name": "Bob", "latitude": 1 }))).await;
    assert_eq!(renamed["location_updated_at"], moved["location_updated_at"]);
}

#[tokio::test]
async fn bad_members_are_refused_by_name() {
    let world = World::new().await;
    for (body, member) in [
        (json!({}), "name"),
        (json!({ "name": "" }), "name"),
        (json!({ "name": "x".repeat(256) }), "name"),
        (json!({ "name": "A\r\nB" }), "name"),
        (json!({ "name": "Ada", "phone": "123" }), "phone"),
        (json!({ "name": "Ada", "email": "nobody" }), "email"),
        (json!({ "name": "Ada", "license_number": "x".repeat(101) }), "license_number"),
        (json!({ "name": "Ada", "latitude": 1 }), "longitude"),
        (json!({ "name": "Ada", "longitude": 1 }), "latitude"),
        (json!({ "name": "Ada", "latitude": 90.1, "longitude": 1 }), "latitude"),
        (json!({ "name": "Ada", "latitude": 1, "longitude": -180.1 }), "longitude"),
        (json!({ "name": "Ada", "heading": 361 }), "heading"),
        (json!({ "name": "Ada", "speed": "fast" }), "speed"),
        (json!({ "name": "Ada", "location_updated_at": "2026-05-21T10:15:00Z" }), "location_updated_at"),
    ] {
        let refusal = world.fleet(Method::POST, "drivers").json(&body).send().await.refused(422, "body_invalid");
        assert!(refusal["fields"][member].is_array(), "{body}: {refusal}");
        assert!(!refusal["detail"].as_str().unwrap().ends_with(".."), "{refusal}");
    }
    assert_eq!(world.count("select count(*) from drivers").await, 0);
    let driver = world.driver("Ada").await;
    world.change_driver(&driver, json!({ "latitude": 90, "longitude": -180, "heading": 360 })).await;
    let half = world.fleet(Method::PUT, &format!("drivers/{}", id(&driver))).json(&json!({ "latitude": null })).send().await;
    assert!(half.refused(422, "body_invalid")["fields"]["latitude"].is_array());
}

#[tokio::test]
async fn a_driver_reports_where_they_are() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    let position = json!({ "latitude": 52.5, "longitude": 13.4, "heading": 90, "speed": 12.5, "altitude": 34 });
    let (answer, events) = world.published(track(&world, &driver, position.clone())).await;
    assert_eq!(answer.header("etag"), Some("\"2\""));
    let moved = answer.ok(200)["driver"].take();
    assert_eq!((&moved["latitude"], &moved["heading"]), (&json!(52.5), &json!(90.0)));
    assert_eq!(events.iter().map(|event| event.name.as_str()).collect::<Vec<_>>(), ["driver.location_changed"]);
    assert_eq!((&events[0].data["latitude"], &events[0].data["longitude"]), (&json!(52.5), &json!(13.4)));
    assert!(world.published_names(track(&world, &driver, position)).await.is_empty(), "a position at the same place publishes nothing");
    let (further, _) = world.published(track(&world, &driver, json!({ "latitude": 52.6, "longitude": 13.4 }))).await;
    assert_eq!(further.ok(200)["driver"]["speed"], 12.5);

    for (position, member) in [
        (json!({}), "latitude"),
        (json!({ "latitude": 1 }), "longitude"),
        (json!({ "latitude": null, "longitude": 1 }), "latitude"),
        (json!({ "latitude": 91, "longitude": 1 }), "latitude"),
        (json!({ "latitude": 1, "longitude": 1, "heading": 361 }), "heading"),
        (json!({ "latitude": 1, "longitude": 1, "timestamp": "yesterday" }), "timestamp"),
        (json!({ "latitude": 1, "longitude": 1, "driver": "driver_01h455vb4pex5vsknk084sn02q" }), "driver"),
    ] {
        let refusal = track(&world, &driver, position).await.refused(422, "body_invalid");
        assert!(refusal["fields"][member].is_array(), "{refusal}");
    }
}

#[tokio::test]
async fn who_may_not_change_a_driver_may_not_move_them() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    let position = json!({ "latitude": 1, "longitude": 1 });
    let (_, other) = world.another_company(&Scope::ALL).await;
    let reader = world.key_of(world.company, &[Scope::Read]).await;
    let one = || world.fleet(Method::POST, &format!("drivers/{}/track", id(&driver))).json(&position);
    one().key(&other).send().await.refused(404, "record_not_found");
    one().key(&reader).send().await.refused(403, "scope_missing");
    let many = || {
        world.fleet(Method::POST, "drivers/track").json(&json!({ "positions": [{ "driver": id(&driver), "latitude": 1, "longitude": 1 }] }))
    };
    let refusal = many().key(&other).send().await.refused(422, "body_invalid");
    assert!(refusal["fields"]["positions[0].driver"].is_array(), "{refusal}");
    many().key(&reader).send().await.refused(403, "scope_missing");
    let unmoved = world.fleet(Method::GET, &format!("drivers/{}", id(&driver))).send().await.ok(200);
    assert_eq!(unmoved["driver"], driver);
}

#[tokio::test]
async fn many_drivers_report_at_once() {
    let world = World::new().await;
    let mut drivers = Vec::new();
    for n in 0..3 {
        drivers.push(world.driver(&format!("Driver {n}")).await);
    }
    let position = |driver: &Value, latitude: f64| json!({ "driver": id(driver), "latitude": latitude, "longitude": 1 });
    let positions = json!([position(&drivers[2], 1.0), position(&drivers[0], 2.0), position(&drivers[2], 3.0), position(&drivers[2], 3.0)]);
    let (answer, events) = world.published(track_many(&world, positions)).await;
    assert_eq!(answer.ok(200), json!({ "status": "ok" }));
    assert!(events.iter().all(|event| event.name == "driver.location_changed"));
    assert_eq!(events.len(), 3, "one event for each changed location");
    let list = world.fleet_list("drivers?sort=created_at").await;
    let latitude =
        |driver: &Value| list["drivers"].as_array().unwrap().iter().find(|shown| shown["id"] == driver["id"]).unwrap()["latitude"].clone();
    assert_eq!((latitude(&drivers[0]), latitude(&drivers[1]), latitude(&drivers[2])), (json!(2.0), json!(null), json!(3.0)));
}

#[tokio::test]
async fn positions_are_taken_all_or_none() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    let good = json!({ "driver": id(&driver), "latitude": 1, "longitude": 1 });
    for (bad, member) in [
        (json!({ "driver": "driver_01h455vb4pex5vsknk084sn02q", "latitude": 1, "longitude": 1 }), "positions[1].driver"),
        (json!({ "driver": "nobody", "latitude": 1, "longitude": 1 }), "positions[1].driver"),
        (json!({ "latitude": 1, "longitude": 1 }), "positions[1].driver"),
        (json!({ "driver": id(&driver), "latitude": 100, "longitude": 1 }), "positions[1].latitude"),
    ] {
        let (answer, events) = world.published(track_many(&world, json!([good, bad]))).await;
        let refusal = answer.refused(422, "body_invalid");
        assert!(refusal["fields"][member].is_array(), "{refusal}");
        assert!(events.is_empty());
    }
    let unmoved = world.fleet(Method::GET, &format!("drivers/{}", id(&driver))).send().await.ok(200);
    assert_eq!(unmoved["driver"], driver);
    track_many(&world, json!(vec![good.clone(); 501])).await.refused(422, "body_invalid");
    track_many(&world, json!(vec![good; 500])).await.ok(200);
    track_many(&world, json!([])).await.ok(200);
}

#[tokio::test]
async fn batches_that_name_the_same_drivers_in_another_order_do_not_block_each_other() {
    let world = World::new().await;
    let mut drivers = Vec::new();
    for n in 0..20 {
        drivers.push(world.driver(&format!("Driver {n}")).await);
    }
    let batches = (0..10).map(|batch| {
        let mut positions: Vec<_> =
            drivers.iter().map(|driver| json!({ "driver": id(driver), "latitude": batch, "longitude": 1 })).collect();
        if batch % 2 == 0 {
            positions.reverse();
        }
        track_many(&world, json!(positions))
    });
    assert!(join_all(batches).await.into_iter().all(|answer| answer.status == 200));
}

#[tokio::test]
async fn a_driver_of_an_open_order_cannot_be_deleted_and_a_closed_order_remembers_them() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    let order = world.order(json!({ "driver": id(&driver), "skip_dispatch": true })).await;
    let delete = || world.fleet(Method::DELETE, &format!("drivers/{}", id(&driver))).send();
    for status in ["created", "dispatched", "started"] {
        world.change_order(&order, json!({ "status": status })).await;
        let (answer, events) = world.published(delete()).await;
        answer.refused(409, "record_in_use");
        assert!(events.is_empty());
    }
    world.change_order(&order, json!({ "status": "completed" })).await;
    delete().await.ok(200);
    let remembered = world.fleet(Method::GET, &format!("orders/{}", id(&order))).send().await.ok(200);
    assert_eq!(remembered["order"]["driver_assigned"]["name"], "Ada");
}

#[tokio::test]
async fn a_driver_is_not_deleted_while_an_order_is_given_to_them() {
    let world = World::new().await;
    for n in 0..10 {
        let driver = world.driver(&format!("Driver {n}")).await;
        let body = json!({ "driver": id(&driver) });
        let (order, deletion) = futures::join!(
            world.fleet(Method::POST, "orders").json(&body).send(),
            world.fleet(Method::DELETE, &format!("drivers/{}", id(&driver))).send(),
        );
        assert!(matches!((order.status, deletion.status), (201, 409) | (422, 200)), "{order:?} {deletion:?}");
    }
}
