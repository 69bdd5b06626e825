//! Order statuses and their transitions: decisions, section 9.

use futures::future::join_all;
use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::fleet::{id, names, to, uuid};

#[tokio::test]
async fn every_status_of_an_order_is_published_once() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    let order = world.order(json!({ "driver": id(&driver) })).await;
    for (status, event) in [("dispatched", "order.dispatched"), ("started", "order.started"), ("completed", "order.completed")] {
        let (answer, events) = world.published(to(&world, &order, status)).await;
        let changed = answer.ok(200)["order"].take();
        assert_eq!(changed["status"], status);
        assert_eq!(changed[format!("{status}_at")], changed["updated_at"]);
        let names: Vec<_> = events.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(names, [event, "order.updated", "tracking_status.created"]);
        assert!(events[..2].iter().all(|event| event.subject == uuid(&order) && event.data["status"] == status));
        assert_eq!(events[0].data["driver_assigned"]["name"], "Ada");
        assert!(world.published_names(to(&world, &order, status)).await.is_empty(), "setting the same status again publishes nothing");
    }
    let statuses = world.fleet_list(&format!("tracking-statuses?order={}&sort=created_at", id(&order))).await;
    let reached: Vec<_> =
        statuses["tracking_statuses"].as_array().unwrap().iter().map(|status| status["status"].as_str().unwrap()).collect();
    assert_eq!(reached, ["created", "dispatched", "started", "completed"]);
}

#[tokio::test]
async fn an_open_order_can_be_called_off_and_a_closed_one_stays_closed() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    for steps in [&[][..], &["dispatched"], &["dispatched", "started"]] {
        for end in ["cancelled", "failed"] {
            let order = world.order(json!({ "driver": id(&driver) })).await;
            for step in steps {
                to(&world, &order, step).await.ok(200);
            }
            let names = world.published_names(to(&world, &order, end)).await;
            assert_eq!(names, [format!("order.{end}").as_str(), "order.updated", "tracking_status.created"]);
            for status in
                ["created", "dispatched", "started", "completed", "cancelled", "failed"].into_iter().filter(|status| *status != end)
            {
                to(&world, &order, status).await.refused(422, "transition_invalid");
            }
        }
    }
}

#[tokio::test]
async fn a_wrong_arrow_changes_nothing() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    let order = world.order(json!({ "driver": id(&driver), "notes": "as it was" })).await;
    for status in ["started", "completed"] {
        let body = json!({ "status": status, "notes": "changed" });
        let put = world.fleet(Method::PUT, &format!("orders/{}", id(&order))).json(&body).send();
        let (answer, events) = world.published(put).await;
        let refusal = answer.refused(422, "transition_invalid");
        assert_eq!(refusal["detail"], format!("An order that is created cannot become {status}."));
        assert!(events.is_empty());
    }
    assert_eq!(world.fleet(Method::GET, &format!("orders/{}", id(&order))).send().await.ok(200)["order"], order);
    let unknown = to(&world, &order, "flying").await.refused(422, "body_invalid");
    assert!(unknown["fields"]["status"].is_array());
}

#[tokio::test]
async fn dispatch_needs_a_driver_who_may_come_with_it() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    let order = world.order(json!({})).await;
    to(&world, &order, "dispatched").await.refused(422, "transition_invalid");
    let both = world.published_names(world.change_order(&order, json!({ "status": "dispatched", "driver": id(&driver) }))).await;
    let expected = ["driver.assigned", "order.dispatched", "order.driver_assigned", "order.updated", "tracking_status.created"];
    assert_eq!(both, expected);
}

#[tokio::test]
async fn an_order_does_not_set_out_with_a_driver_or_vehicle_that_is_out_of_service() {
    let world = World::new().await;
    let (ada, bob, van) = (world.driver("Ada").await, world.driver("Bob").await, world.vehicle("Van").await);
    let order = world.order(json!({ "driver": id(&ada), "vehicle": id(&van) })).await;
    for status in ["maintenance", "out_of_service", "retired"] {
        world.change("vehicles", &van, json!({ "status": status })).await;
        let refused = to(&world, &order, "dispatched").await.refused(422, "transition_invalid");
        assert!(refused["detail"].as_str().unwrap().contains(status), "{refused}");
    }
    world.change("vehicles", &van, json!({ "status": "active" })).await;
    world.change_driver(&ada, json!({ "status": "inactive" })).await;
    to(&world, &order, "dispatched").await.refused(422, "transition_invalid");
    world.change_order(&order, json!({ "skip_dispatch": true })).await;
    to(&world, &order, "started").await.refused(422, "transition_invalid");
    // Who is planned for later need not be in service yet.
    world.order(json!({ "driver": id(&ada) })).await;

    world.change_order(&order, json!({ "driver": id(&bob), "status": "dispatched" })).await;
    let path = format!("orders/{}", id(&order));
    world.fleet(Method::PUT, &path).json(&json!({ "driver": id(&ada) })).send().await.refused(422, "transition_invalid");
    // What becomes of them on the way does not stop the order.
    world.change_driver(&bob, json!({ "status": "inactive" })).await;
    world.change("vehicles", &van, json!({ "status": "maintenance" })).await;
    to(&world, &order, "started").await.ok(200);
    world.change_order(&order, json!({ "notes": "The van is towed.", "vehicle": null })).await;
    world.fleet(Method::PUT, &path).json(&json!({ "vehicle": id(&van) })).send().await.refused(422, "transition_invalid");
    to(&world, &order, "completed").await.ok(200);
}

#[tokio::test]
async fn an_order_that_skips_the_dispatch_starts_at_once_and_without_a_driver() {
    let world = World::new().await;
    let order = world.order(json!({ "skip_dispatch": true })).await;
    let started = world.change_order(&order, json!({ "status": "started" })).await;
    assert_eq!((&started["status"], &started["dispatched_at"]), (&json!("started"), &json!(null)));
    let order = world.order(json!({})).await;
    let started = world.change_order(&order, json!({ "skip_dispatch": true, "status": "started" })).await;
    assert_eq!(started["status"], "started");
}

#[tokio::test]
async fn every_order_begins_as_created() {
    let world = World::new().await;
    assert_eq!(world.order(json!({ "status": "created" })).await["status"], "created");
    for status in ["dispatched", "started", "completed", "cancelled", "failed"] {
        let body = json!({ "status": status, "skip_dispatch": true });
        world.fleet(Method::POST, "orders").json(&body).send().await.refused(422, "transition_invalid");
    }
    assert_eq!(world.count("select count(*) from orders").await, 1);
}

#[tokio::test]
async fn of_many_who_set_one_status_at_once_one_changes_it() {
    let world = World::new().await;
    let driver = world.driver("Ada").await;
    let order = world.order(json!({ "driver": id(&driver) })).await;
    let (answers, events) = world.published(join_all((0..10).map(|_| to(&world, &order, "dispatched")))).await;
    for answer in answers {
        assert_eq!(answer.ok(200)["order"]["status"], "dispatched");
    }
    assert_eq!(names(&events), ["order.dispatched", "order.updated", "tracking_status.created"]);
    assert_eq!(world.count("select count(*) from tracking_statuses where status = 'dispatched'").await, 1);

    to(&world, &order, "started").await.ok(200);
    let ends = ["completed", "cancelled"].repeat(5);
    let (answers, events) = world.published(join_all(ends.iter().map(|end| to(&world, &order, end)))).await;
    let ended: Vec<_> = answers.into_iter().filter(|answer| answer.status == 200).collect();
    assert_eq!(ended.len(), 5, "the first decides for its five");
    assert_eq!(events.len(), 3);
    for end in ended {
        assert_eq!(events[0].name, format!("order.{}", end.ok(200)["order"]["status"].as_str().unwrap()));
    }
}
