//! Locations of drivers and vehicles: decisions, section 9 (`PUT`, the fast path `POST …/track`, and batches).

use chrono::TimeDelta;
use futures::future::join_all;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::fleet::{id, names, uuid};

async fn find(world: &World, plural: &str, record: &Value) -> Value {
    world
        .fleet(Method::GET, &format!("{plural}/{}", id(record)))
        .send()
        .await
        .ok(200)
        .as_object_mut()
        .unwrap()
        .values_mut()
        .next()
        .unwrap()
        .take()
}

#[tokio::test]
async fn vehicles_report_like_drivers() {
    let world = World::new().await;
    let vehicles = [world.vehicle("Van").await, world.vehicle("Bike").await];
    let one = world.fleet(Method::POST, &format!("vehicles/{}/track", id(&vehicles[0]))).json(&json!({ "latitude": 1, "longitude": 2 }));
    let (answer, events) = world.published(one.send()).await;
    let etag = answer.header("etag").unwrap().to_owned();
    let shown = answer.ok(200)["vehicle"].take();
    assert_eq!((shown["longitude"].as_f64(), names(&events)), (Some(2.0), vec!["vehicle.location_changed"]));
    let found = world.fleet(Method::GET, &format!("vehicles/{}", id(&vehicles[0]))).send().await;
    assert_eq!(found.header("etag"), Some(etag.as_str()), "the response shows the stored version");
    assert_eq!(found.ok(200)["vehicle"], shown);
    assert_eq!((events[0].subject, &events[0].data["latitude"]), (uuid(&vehicles[0]), &json!(1.0)));
    let positions: Vec<_> =
        vehicles.iter().map(|vehicle| json!({ "vehicle": id(vehicle), "latitude": 3, "longitude": 4, "heading": 90 })).collect();
    let (answer, events) =
        world.published(world.fleet(Method::POST, "vehicles/track").json(&json!({ "positions": positions })).send()).await;
    assert_eq!((answer.ok(200), events.len()), (json!({ "status": "ok" }), 2));
    for vehicle in &vehicles {
        assert_eq!(find(&world, "vehicles", vehicle).await["heading"], 90.0);
    }
    let unknown = json!({ "positions": [{ "vehicle": "vehicle_01h455vb4pex5vsknk084sn02q", "latitude": 1, "longitude": 1 }] });
    assert_eq!(world.refused_members(Method::POST, "vehicles/track", &unknown).await, ["positions[0].vehicle"]);
    // A UUID does not contain the kind of its record; the field determines it.
    let misnamed = json!({ "driver": vehicles[0]["uuid"], "latitude": 1, "longitude": 1 });
    assert_eq!(world.refused_members(Method::POST, "vehicles/track", &json!({ "positions": [misnamed] })).await, ["positions[0].driver"]);
    let one = format!("vehicles/{}/track", id(&vehicles[0]));
    assert_eq!(world.refused_members(Method::POST, &one, &misnamed).await, ["driver"]);
}

#[tokio::test]
async fn a_position_that_comes_late_is_ignored() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    world.pass(TimeDelta::minutes(10));
    let at = |minute: u8| format!("2026-05-21T10:{minute}:00.000+00:00");
    let track = |latitude: u8, recorded_at: String| {
        let body = json!({ "latitude": latitude, "longitude": 1, "recorded_at": recorded_at });
        world.fleet(Method::POST, &format!("drivers/{}/track", id(&driver))).json(&body).send()
    };
    for (latitude, taken_at, shown, shown_at, published) in [
        (1, at(18), 1.0, at(18), 1),
        (2, at(17), 1.0, at(18), 0),
        (1, at(20), 1.0, at(20), 0),
        (3, at(19), 1.0, at(20), 0),
        (4, at(20), 4.0, at(20), 1),
    ] {
        let (answer, events) = world.published(track(latitude, taken_at.clone())).await;
        let driver = answer.ok(200)["driver"].take();
        assert_eq!((&driver["latitude"], &driver["location_updated_at"]), (&json!(shown), &json!(shown_at)), "{latitude} at {taken_at}");
        assert_eq!(events.len(), published, "{latitude} at {taken_at}");
    }
    // A position with a time in the future does not block later positions.
    let ahead = track(5, "2036-01-01T00:00:00Z".to_owned()).await.ok(200)["driver"].take();
    assert_eq!((&ahead["latitude"], &ahead["location_updated_at"]), (&json!(5.0), &ahead["updated_at"]));
    world.pass(TimeDelta::seconds(1));
    assert_eq!(track(6, "2036-01-01T00:00:00Z".to_owned()).await.ok(200)["driver"]["latitude"], 6.0);
}

#[tokio::test]
async fn of_many_positions_in_any_order_the_latest_is_where_a_driver_is() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    world.pass(TimeDelta::hours(1));
    let position = |n: usize| json!({ "driver": id(&driver), "latitude": n, "longitude": 1, "recorded_at": format!("2026-05-21T10:20:{n:02}.000+00:00") });
    let send = |positions: Vec<Value>| world.fleet(Method::POST, "drivers/track").json(&json!({ "positions": positions })).send();
    let batches = (0..10).map(|batch| send((0..5).map(|step| position((batch + step * 10) % 50)).rev().collect()));
    assert!(join_all(batches).await.into_iter().all(|answer| answer.status == 200));
    let found = find(&world, "drivers", &driver).await;
    assert_eq!((&found["latitude"], &found["location_updated_at"]), (&json!(49.0), &json!("2026-05-21T10:20:49.000+00:00")));
}

#[tokio::test]
async fn reporting_loses_no_change_that_is_made_beside_it() {
    // The changes wait for each other, and the last should not be refused because it has waited for its turn for too long.
    let world = World::with(&[("companies.concurrent_requests", "1000")]).await;
    let driver = world.driver("Ada").await;
    let reports = (0..20).map(|n| {
        let body = json!({ "latitude": n, "longitude": 1 });
        world.fleet(Method::POST, &format!("drivers/{}/track", id(&driver))).json(&body).send()
    });
    let renames = (0..20).map(|n| {
        let body = json!({ "meta": { format!("n{n}"): n }, "name": format!("Ada {n}") });
        world.fleet(Method::PUT, &format!("drivers/{}", id(&driver))).json(&body).send()
    });
    let (_, events) = world.published(async { futures::join!(join_all(reports), join_all(renames)) }).await;
    let updated = events.iter().filter(|event| event.name == "driver.updated").count();
    assert_eq!((updated, events.len()), (20, 40));
    let found = world.fleet(Method::GET, &format!("drivers/{}", id(&driver))).send().await;
    assert_eq!(found.header("etag"), Some("\"41\""), "every position increased the version");
}

#[tokio::test]
async fn single_positions_of_the_same_moment_are_each_recorded_for_their_own_company() {
    let world = World::new().await;
    let (_, other) = world.another_company(&[Scope::Write]).await;
    let mut drivers = Vec::new();
    for number in 0..6 {
        drivers.push(world.driver(&format!("Driver {number}")).await);
    }
    let missing = json!({ "id": "driver_01h455vb4pex5vsknk084sn02q" });
    let track = |driver: &Value, latitude: usize| {
        world.fleet(Method::POST, &format!("drivers/{}/track", id(driver))).json(&json!({ "latitude": latitude, "longitude": 1 }))
    };
    let ours = (0..60).map(|number| track(&drivers[number % 6], number).send());
    let unknown = (0..10).map(|number| track(&missing, number).send());
    let theirs = (0..10).map(|number| track(&drivers[0], number + 70).key(&other).send());
    let ((recorded, unknown, theirs), events) =
        world.published(async { futures::join!(join_all(ours), join_all(unknown), join_all(theirs)) }).await;
    for (number, answer) in recorded.into_iter().enumerate() {
        assert_eq!(answer.ok(200)["driver"]["id"], drivers[number % 6]["id"], "the response is about the driver of the request");
    }
    for answer in unknown.into_iter().chain(theirs) {
        answer.refused(404, "record_not_found");
    }
    assert_eq!(events.len(), 60);
    for driver in &drivers {
        assert_eq!(events.iter().filter(|event| event.subject == uuid(driver)).count(), 10);
    }
}

#[tokio::test]
async fn what_a_phone_does_not_know_is_unknown_and_refuses_nothing() {
    let world = World::new().await;
    let (ada, bob) = (world.driver("Ada").await, world.driver("Bob").await);
    let one = format!("drivers/{}/track", id(&ada));
    let known = json!({ "latitude": 1, "longitude": 2, "heading": 90, "speed": 12.5 });
    assert_eq!(world.fleet(Method::POST, &one).json(&known).send().await.ok(200)["driver"]["speed"], 12.5);
    let unknown = json!({ "latitude": 1, "longitude": 2, "heading": -1, "speed": -1 });
    let moved = world.fleet(Method::POST, &one).json(&unknown).send().await.ok(200)["driver"].take();
    assert_eq!((&moved["heading"], &moved["speed"]), (&json!(null), &json!(null)));
    let of =
        |driver: &Value, heading: f64| json!({ "driver": id(driver), "latitude": 3, "longitude": 4, "heading": heading, "speed": heading });
    let positions = json!({ "positions": [of(&ada, -1.0), of(&bob, 180.0), of(&bob, -0.5)] });
    world.fleet(Method::POST, "drivers/track").json(&positions).send().await.ok(200);
    for driver in [&ada, &bob] {
        let found = find(&world, "drivers", driver).await;
        assert_eq!((&found["latitude"], &found["heading"], &found["speed"]), (&json!(3.0), &json!(null), &json!(null)));
    }
    // By the other way as well.
    let changed = world.change_driver(&ada, json!({ "heading": 0, "speed": 0 })).await;
    assert_eq!((&changed["heading"], &changed["speed"]), (&json!(0.0), &json!(0.0)));
    let changed = world.change_driver(&ada, json!({ "heading": -1, "speed": -3.5 })).await;
    assert_eq!((&changed["heading"], &changed["speed"]), (&json!(null), &json!(null)));
}

#[tokio::test]
async fn what_the_apps_of_drivers_send_is_taken_and_what_has_no_field_is_ignored() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    world.pass(TimeDelta::minutes(10));
    let sent = |timestamp: Value| {
        json!({
            "driver": id(&driver), "latitude": 52.5, "longitude": 13.4, "heading": -1, "speed": 3.5, "altitude": 34, "timestamp": timestamp,
            "activity": { "type": "on_foot", "confidence": 100 }, "is_moving": true, "battery": { "level": 0.8, "is_charging": false },
            "accuracy": 5, "uuid": "01890a5d-ac96-774b-bcce-b302099a8057",
        })
    };
    // Each is a minute after the one before.
    for (timestamp, at) in [
        (json!("2026-05-21T12:16:00.000+02:00"), "2026-05-21T10:16:00.000+00:00"),
        (json!(1_779_358_620_000_i64), "2026-05-21T10:17:00.000+00:00"),
        (json!(1_779_358_680), "2026-05-21T10:18:00.000+00:00"),
        (json!("2026-05-21T10:17:30Z"), "2026-05-21T10:18:00.000+00:00"),
    ] {
        let path = format!("drivers/{}/track", id(&driver));
        let moved = world.fleet(Method::POST, &path).json(&sent(timestamp.clone())).send().await.ok(200)["driver"].take();
        assert_eq!((&moved["location_updated_at"], &moved["speed"]), (&json!(at), &json!(3.5)), "{timestamp}");
    }
    let positions = json!({ "positions": [sent(json!(null)), sent(json!("2026-05-21T10:19:00Z"))] });
    world.fleet(Method::POST, "drivers/track").json(&positions).send().await.ok(200);
    assert_eq!(find(&world, "drivers", &driver).await["location_updated_at"], "2026-05-21T10:25:00.000+00:00");
}

#[tokio::test]
async fn a_position_touches_no_index() {
    let world = World::new().await;
    let written = "latitude longitude heading speed altitude location_updated_at version updated_at";
    for table in ["drivers", "vehicles"] {
        let indexed: Vec<String> = sqlx::query_scalar(
            "select attname::text from pg_index join pg_attribute on attrelid = indrelid and attnum = any(indkey) where indrelid = $1::regclass",
        )
        .bind(table)
        .fetch_all(&world.pool)
        .await
        .unwrap();
        assert!(indexed.contains(&"created_at".to_owned()));
        assert!(indexed.iter().all(|column| !written.split(' ').any(|written| written == column)), "{table}: {indexed:?}");
    }
}
