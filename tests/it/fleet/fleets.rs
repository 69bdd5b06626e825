//! Fleets: decisions, section 9; interface 2, Events (driver.assigned and vehicle.assigned to a fleet).

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::fleet::{id, names, uuid};

async fn fleet(world: &World, name: &str) -> Value {
    world.create("fleets", json!({ "name": name })).await
}

#[tokio::test]
async fn a_fleet_publishes_its_changes_and_counts_its_members() {
    let world = World::new().await;
    let (north, events) = world.published(fleet(&world, "North")).await;
    assert_eq!(names(&events), ["fleet.created"]);
    assert_eq!((&north["status"], &north["parent"], &north["drivers_count"]), (&json!("active"), &json!(null), &json!(0)));
    let (_, events) = world.published(world.change("fleets", &north, json!({ "description": "Everything north\nof the river" }))).await;
    assert_eq!((names(&events), events[0].subject), (vec!["fleet.updated"], uuid(&north)));

    let (ada, van) = (world.driver("Ada").await, world.vehicle("Van").await);
    let (_, events) = world.published(world.change_driver(&ada, json!({ "fleet": id(&north) }))).await;
    assert_eq!(names(&events), ["driver.assigned", "driver.updated"]);
    assert_eq!((events[0].subject, &events[0].data["additionalData"]), (uuid(&ada), &json!({ "fleet": id(&north) })));
    let (eve, events) = world.published(world.create("drivers", json!({ "name": "Eve", "fleet": id(&north) }))).await;
    assert_eq!(names(&events), ["driver.assigned", "driver.created"]);
    assert_eq!((events[0].subject, &events[0].data["additionalData"]), (uuid(&eve), &json!({ "fleet": id(&north) })));
    world.delete("drivers", &eve).await.ok(200);
    world.change("vehicles", &van, json!({ "fleet": id(&north) })).await;
    let south = fleet(&world, "South").await;
    let list = world.fleet_list("fleets?sort=created_at").await;
    let counts = |of: &Value| {
        let shown = list["fleets"].as_array().unwrap().iter().find(|shown| shown["id"] == of["id"]).unwrap();
        (shown["drivers_count"].clone(), shown["vehicles_count"].clone())
    };
    assert_eq!((counts(&north), counts(&south)), ((json!(1), json!(1)), (json!(0), json!(0))));
    assert_eq!(world.listed(&format!("drivers?fleet={}", id(&north))).await, [id(&ada)]);

    for (plural, member) in [("drivers", &ada), ("vehicles", &van)] {
        world.delete("fleets", &north).await.refused(409, "record_in_use");
        world.change(plural, member, json!({ "fleet": null })).await;
    }
    assert_eq!(world.published_names(world.delete("fleets", &north)).await, ["fleet.deleted"]);
}

#[tokio::test]
async fn a_fleet_is_a_part_of_larger_ones_and_never_of_itself() {
    let world = World::new().await;
    let (all, north, harbour) = (fleet(&world, "All").await, fleet(&world, "North").await, fleet(&world, "Harbour").await);
    world.change("fleets", &north, json!({ "parent": id(&all) })).await;
    world.change("fleets", &harbour, json!({ "parent": id(&north) })).await;
    assert_eq!(world.listed(&format!("fleets?parent={}", id(&all))).await, [id(&north)]);
    for (part, parent) in [(&all, &all), (&all, &north), (&all, &harbour), (&north, &harbour)] {
        let path = format!("fleets/{}", id(part));
        assert_eq!(world.refused_members(Method::PUT, &path, &json!({ "parent": id(parent) })).await, ["parent"]);
    }
    world.delete("fleets", &all).await.refused(409, "record_in_use");
    world.change("fleets", &north, json!({ "parent": null })).await;
    world.delete("fleets", &all).await.ok(200);
}

#[tokio::test]
async fn changes_that_are_good_one_by_one_do_not_make_a_ring_together() {
    let world = World::new().await;
    for _ in 0..5 {
        let fleets = [fleet(&world, "A").await, fleet(&world, "B").await, fleet(&world, "C").await, fleet(&world, "D").await];
        world.change("fleets", &fleets[0], json!({ "parent": id(&fleets[1]) })).await;
        world.change("fleets", &fleets[2], json!({ "parent": id(&fleets[3]) })).await;
        let changes = [(1, 2), (3, 0)].map(|(part, parent): (usize, usize)| {
            world.fleet(Method::PUT, &format!("fleets/{}", id(&fleets[part]))).json(&json!({ "parent": id(&fleets[parent]) })).send()
        });
        let mut answers: Vec<_> = join_all(changes).await.into_iter().map(|answer| answer.status).collect();
        answers.sort_unstable();
        assert_eq!(answers, [200, 422]);
    }
}

#[tokio::test]
async fn two_fleets_cannot_become_parts_of_each_other_concurrently() {
    let world = World::new().await;
    let (a, b) = (fleet(&world, "A").await, fleet(&world, "B").await);
    let put = |part: &Value, parent: &Value| {
        world.fleet(Method::PUT, &format!("fleets/{}", id(part))).json(&json!({ "parent": id(parent) })).send()
    };
    let (one, other) = futures::join!(put(&a, &b), put(&b, &a));
    let succeeded = [&one, &other].into_iter().filter(|answer| answer.status == 200).count();
    assert_eq!(succeeded, 1, "{one:?} {other:?}");
    assert!([one.status, other.status].iter().all(|status| matches!(status, 200 | 422 | 503)), "{one:?} {other:?}");
}

#[tokio::test]
async fn a_fleet_is_not_deleted_while_somebody_joins_it() {
    let world = World::new().await;
    for n in 0..10 {
        let (north, ada) = (fleet(&world, "North").await, world.driver(&format!("Driver {n}")).await);
        let body = json!({ "fleet": id(&north) });
        let join = world.fleet(Method::PUT, &format!("drivers/{}", id(&ada))).json(&body).send();
        let (joined, deleted) = futures::join!(join, world.delete("fleets", &north));
        assert!(matches!((joined.status, deleted.status), (200, 409) | (422, 200)), "{joined:?} {deleted:?}");
    }
}
