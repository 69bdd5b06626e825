//! Replays with idempotency keys: a repeated request, after a double click or a lost response, replays nothing twice.

use chrono::TimeDelta;
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;

/// A failed delivery, and for each replay route its path, a body, and the status code of a request that creates something.
async fn failed(world: &World) -> (Value, Vec<(String, Value, u16)>) {
    let (receiver, webhook) = world.subscriber("shop.test").await;
    let failed = world.fail(&receiver, "order.created").await;
    let path = |what: &str, id: &Value| format!("{what}/{}/replay", id.as_str().unwrap());
    let routes = vec![
        (path("webhooks", &webhook["id"]), json!({ "since": "2026-05-21T00:00:00Z" }), 202),
        (path("deliveries", &failed["id"]), json!({}), 201),
        (path("events", &failed["event_id"]), json!({}), 201),
    ];
    (failed, routes)
}

fn under(key: &str, body: &Value) -> Value {
    let mut body = body.clone();
    body["idempotency_key"] = json!(key);
    body
}

/// The identity of what a request created, without its progress.
fn made(answer: &Value) -> (&Value, &Value) {
    let (_, made) = answer.as_object().unwrap().iter().next().unwrap();
    (&made["id"], &made["count"])
}

#[tokio::test]
async fn a_replay_that_is_requested_again_with_its_key_is_made_once() {
    let world = World::new().await;
    let (_, routes) = failed(&world).await;
    for (index, (path, body, status)) in routes.into_iter().enumerate() {
        let body = under(&format!("click-{index}"), &body);
        let first = world.developers(Method::POST, &path, body.clone()).await.ok(status);
        assert_eq!(world.deliver().await, 1, "{path}");
        let again = world.developers(Method::POST, &path, body.clone()).await.ok(200);
        assert_eq!((made(&again), world.deliver().await), (made(&first), 0), "{path}");
    }
}

#[tokio::test]
async fn parallel_requests_with_one_key_make_one_replay() {
    let world = World::new().await;
    let (_, routes) = failed(&world).await;
    for (index, (path, body, status)) in routes.into_iter().enumerate() {
        let body = under(&format!("click-{index}"), &body);
        let answers = join_all((0..10).map(|_| world.developers(Method::POST, &path, body.clone()))).await;
        let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
        assert_eq!(statuses.iter().filter(|one| **one == status).count(), 1, "{path} {statuses:?}");
        assert_eq!(statuses.iter().filter(|one| **one == 200).count(), 9, "{path} {statuses:?}");
        assert!(answers.iter().all(|answer| made(&answer.body) == made(&answers[0].body)), "{path}");
        assert_eq!(world.deliver().await, 1, "{path}");
    }
}

#[tokio::test]
async fn a_key_stands_for_one_replay_for_a_day() {
    let world = World::new().await;
    let (failed, routes) = failed(&world).await;
    let delivery = format!("deliveries/{}/replay", failed["id"].as_str().unwrap());
    world.developers(Method::POST, &delivery, under("click", &json!({}))).await.ok(201);
    for (path, body, _) in routes.iter().filter(|(path, ..)| *path != delivery) {
        world.developers(Method::POST, path, under("click", body)).await.refused(409, "idempotency_key_used");
    }
    // The same without an end, and with one, are two replays.
    let (webhook, since, _) = &routes[0];
    world.developers(Method::POST, webhook, under("outage", since)).await.ok(202);
    for (member, value) in [("until", json!("2026-05-22T00:00:00Z")), ("events", json!(["order.*"]))] {
        let mut other = since.clone();
        other[member] = value;
        world.developers(Method::POST, webhook, under("outage", &other)).await.refused(409, "idempotency_key_used");
    }
    // A dry run creates nothing and does not use its key.
    let (event, _, _) = &routes[2];
    world.developers(Method::POST, event, json!({ "idempotency_key": "click", "dry_run": true })).await.ok(200);
    world.deliver().await;
    world.pass(TimeDelta::hours(24));
    world.developers(Method::POST, event, under("click", &json!({}))).await.ok(201);
    world.pass(TimeDelta::hours(24));
    world.state.webhooks.maintain_partitions().await.unwrap();
    assert_eq!(world.count("select count(*) from replay_keys").await, 0);
}

#[tokio::test]
async fn a_replay_that_is_asked_for_badly_is_refused_and_nothing_is_stored() {
    let world = World::new().await;
    let (_, routes) = failed(&world).await;
    let bad_keys = [json!(""), json!("k".repeat(256)), json!("two\nlines"), json!(7), json!(["click"])];
    for (path, body, _) in &routes {
        let mut bad: Vec<_> = bad_keys.iter().map(|key| ("idempotency_key", key.clone())).collect();
        bad.push(("once", json!("click")));
        if !path.starts_with("deliveries") {
            bad.extend([("dry_run", json!("yes")), ("dry_run", json!(1)), ("dry_run", json!(null))]);
        }
        if path.starts_with("webhooks") {
            bad.extend([("since", json!(5)), ("since", json!(null)), ("status", json!("open"))]);
            bad.extend([("until", json!("soon")), ("until", json!("2026-05-20T23:59:59Z"))]);
            bad.extend([("events", json!("order.created")), ("events", json!(["order.made"])), ("events", json!(["*.created"]))]);
        }
        for (member, value) in bad {
            let mut body = body.clone();
            body[member] = value.clone();
            let refused = world.developers(Method::POST, path, body).await.refused(422, "body_invalid");
            assert!(refused["fields"].get(member).is_some(), "{path} {member} {value}: {refused}");
        }
    }
    let stored = "select (select count(*) from replays) + (select count(*) from replay_keys) + (select count(*) from waiting)";
    assert_eq!(world.count(stored).await, 0);
}
