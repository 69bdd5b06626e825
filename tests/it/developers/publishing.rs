//! Publishing through the API: decisions, section 7, Publishing from outside.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use futures::future::join_all;
use portico::callers::Scope;
use portico::kernel::crypto::sha256;
use portico::kernel::ids::{EventId, OrderId};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::receiver::event_ids;
use crate::support::{Answer, World};

impl World {
    async fn publish_outside(&self, body: Value) -> Answer {
        self.developers(Method::POST, "events", body).await
    }

    /// A body that publishes the sample of an event.
    fn sample(&self, name: &str) -> Value {
        json!({ "event": name, "data": self.state.developers.catalogue.find(name).unwrap().sample })
    }

    async fn events_stored(&self) -> i64 {
        self.count("select count(*) from events").await
    }
}

#[tokio::test]
async fn an_event_from_outside_is_logged_and_delivered_like_any_other() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let key = world.key_of(world.company, &[Scope::Events]).await;
    let mut body = world.sample("order.created");
    let order = OrderId::new(world.clock.now());
    body["subject"] = json!(order);
    let request = world.request(Method::POST, "/developers/int/v1/events").key(&key).json(&body);
    let published = request.send().await.ok(201)["event"].take();
    assert_eq!((&published["event"], &published["created_at"]), (&json!("order.created"), &json!("2026-05-21T10:15:00.000+00:00")));

    world.deliver().await;
    let envelope: Value = serde_json::from_slice(&receiver.only().body).unwrap();
    assert_eq!((&envelope["id"], &envelope["data"]), (&published["id"], &body["data"]));
    let logged = world.get(&format!("events/{}", published["uuid"].as_str().unwrap())).await["event"].take();
    assert_eq!((&logged["data"], &logged["subject"]), (&body["data"], &json!(order.uuid())));
}

#[tokio::test]
async fn an_event_that_an_extension_declares_is_published_as_its_schema_says() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let mut body = world.sample("stock_item.sold_out");
    let published = world.publish_outside(body.clone()).await.ok(201)["event"].take();
    world.deliver().await;
    assert_eq!(receiver.only().header("webhook-id"), published["id"].as_str().unwrap());
    body["data"]["quantity"] = json!("many");
    let refused = world.publish_outside(body).await.refused(422, "body_invalid");
    assert!(refused["fields"].get("data.quantity").is_some(), "{refused}");
    world.publish_outside(json!({ "event": "stock_item.stolen", "data": {} })).await.refused(422, "body_invalid");
    assert_eq!(world.events_stored().await, 1);
}

#[tokio::test]
async fn many_events_are_published_at_once_in_their_order() {
    let world = World::new().await;
    let names = ["order.created", "driver.online", "order.updated"];
    let events: Vec<_> = (0..500).map(|index| world.sample(names[index % 3])).collect();
    let answer = world.publish_outside(json!({ "events": events })).await.ok(201);
    let published = answer["events"].as_array().unwrap();
    assert_eq!((published.len(), world.events_stored().await), (500, 500));
    assert!(published.iter().enumerate().all(|(index, event)| event["event"] == names[index % 3]));
}

#[tokio::test]
async fn single_events_of_the_same_moment_are_each_published_once_and_those_about_a_record_numbered() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let (about_none, mut about_order) = (world.sample("driver.online"), world.sample("order.updated"));
    about_order["subject"] = json!(OrderId::new(world.clock.now()));
    let publishing = (0..60).map(|index| world.publish_outside(if index % 3 == 0 { about_order.clone() } else { about_none.clone() }));
    let mut ids = BTreeSet::new();
    for answer in join_all(publishing).await {
        ids.insert(answer.ok(201)["event"]["id"].as_str().unwrap().to_owned());
    }
    assert_eq!((ids.len(), world.events_stored().await), (60, 60));
    let numbers = "select count(distinct sequence) from events where sequence between 1 and 20 and name = 'order.updated'";
    assert_eq!(world.count(numbers).await, 20);
    assert_eq!(world.count("select count(*) from events where sequence is null and name = 'driver.online'").await, 40);
    world.deliver().await;
    assert_eq!(event_ids(&receiver.received()), ids);
}

#[tokio::test]
async fn when_connections_are_cut_publishing_goes_on_with_others_and_loses_nothing() {
    let world = World::new().await;
    let order = world.sample("order.created");
    world.publish_outside(order.clone()).await.ok(201);
    // It waits until they have ended.
    let cut =
        "select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
    sqlx::query(cut).execute(&world.pool).await.unwrap();
    let mut answers = Vec::new();
    for _ in 0..6 {
        answers.push(world.publish_outside(order.clone()).await.status);
    }
    assert!(answers.iter().all(|status| [201, 503].contains(status)), "{answers:?}");
    assert_eq!(answers[4..], [201, 201], "{answers:?}");
    let published = answers.iter().filter(|status| **status == 201).count();
    assert_eq!(world.events_stored().await, 1 + i64::try_from(published).unwrap());
}

#[tokio::test]
async fn one_bad_event_is_named_and_nothing_is_stored() {
    let world = World::new().await;
    let with = |member: &str, value: Value| {
        let mut body = world.sample("order.created");
        body[member] = value;
        body
    };
    let wrong_status = with("data", {
        let mut data = world.sample("order.created")["data"].take();
        data["status"] = json!("lost");
        data
    });
    for (bad, field) in [
        (wrong_status, "data.status"),
        (json!({ "event": "order.created" }), "data"),
        (json!({ "data": {} }), "event"),
        (with("data", json!({})), "data"),
        (with("data", json!([])), "data"),
        (with("event", json!("order.lost")), "event"),
        (with("event", json!("parcel.created")), "event"),
        (with("event", json!("payment.succeeded")), "event"),
        (with("event", json!("webhook.disabled")), "event"),
        (with("subject", json!("ada")), "subject"),
        (with("idempotency_key", json!("")), "idempotency_key"),
        (with("idempotency_key", json!("k".repeat(256))), "idempotency_key"),
        (with("id", json!("event_1")), "id"),
    ] {
        let refusal = world.publish_outside(bad.clone()).await.refused(422, "body_invalid");
        assert!(refusal["fields"].get(field).is_some(), "{field}: {refusal}");
        let good = world.sample("driver.online");
        let refusal = world.publish_outside(json!({ "events": [good, good, bad] })).await.refused(422, "body_invalid");
        assert!(refusal["fields"].get(format!("events[2].{field}")).is_some(), "{field}: {refusal}");
    }
    let good = world.sample("driver.online");
    for bad in [
        json!({}),
        json!([]),
        json!({ "events": [] }),
        json!({ "events": {} }),
        json!({ "events": [5] }),
        json!({ "events": vec![&good; 501] }),
        json!({ "events": [good], "event": "driver.online" }),
    ] {
        world.publish_outside(bad).await.refused(422, "body_invalid");
    }
    assert_eq!(world.events_stored().await, 0);
}

#[tokio::test]
async fn an_event_has_256_kib_at_most_and_a_body_a_mebibyte() {
    let world = World::new().await;
    let of = |len: usize| {
        let mut body = world.sample("order.created");
        body["data"]["meta"]["text"] = json!("x".repeat(len));
        body
    };
    world.publish_outside(of(250 * 1024)).await.ok(201);
    world.publish_outside(of(256 * 1024)).await.refused(422, "body_invalid");
    let sent = "select max(length(body))::bigint from events";
    let largest = 250 * 1024 + 256 * 1024 - usize::try_from(world.count(sent).await).unwrap();
    // What counts is the event as it is sent, not the spaces and keys of the request.
    let spacious = format!("{}{}", of(largest), " ".repeat(10 * 1024));
    let request = world.api(Method::POST, "/developers/int/v1/events").header("content-type", "application/json").body(spacious);
    request.send().await.ok(201);
    assert_eq!(world.count(sent).await, 256 * 1024);
    let refused = world.publish_outside(of(largest + 1)).await.refused(422, "body_invalid");
    assert!(refused["fields"]["data"][0].as_str().unwrap().contains("262145 bytes"), "{refused}");
    world.publish_outside(json!({ "events": vec![of(250 * 1024); 4] })).await.ok(201);
    world.publish_outside(json!({ "events": vec![of(250 * 1024); 5] })).await.refused(413, "body_too_large");
    assert_eq!(world.events_stored().await, 6);
}

#[tokio::test]
async fn the_same_key_with_the_same_body_answers_the_same_event_for_a_day() {
    let world = World::new().await;
    let mut body = world.sample("order.created");
    body["idempotency_key"] = json!("web-1042");
    let first = world.publish_outside(body.clone()).await.ok(201);
    world.pass(TimeDelta::hours(23));
    assert_eq!(world.publish_outside(body.clone()).await.ok(200), first);
    let batch = json!({ "events": [world.sample("driver.online"), body] });
    let answer = world.publish_outside(batch).await.ok(201);
    assert_eq!((&answer["events"][1], world.events_stored().await), (&first["event"], 2));

    world.pass(TimeDelta::hours(1));
    let again = world.publish_outside(body.clone()).await.ok(201);
    assert_ne!(again, first);
    assert_eq!(world.publish_outside(body).await.ok(200), again);

    world.state.publishing.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from publishing_keys").await, 1);
    world.pass(TimeDelta::hours(24));
    world.state.publishing.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from publishing_keys").await, 0);
}

#[tokio::test]
async fn the_same_key_with_another_body_is_refused_and_belongs_to_one_company() {
    let world = World::new().await;
    let mut body = world.sample("order.created");
    body["idempotency_key"] = json!("web-1042");
    world.publish_outside(body.clone()).await.ok(201);
    let mut other = body.clone();
    other["data"]["notes"] = json!("Ring once.");
    world.publish_outside(other.clone()).await.refused(409, "idempotency_key_used");
    let refusal = world.publish_outside(json!({ "events": [world.sample("driver.online"), other] })).await;
    assert!(refusal.refused(409, "idempotency_key_used")["detail"].as_str().unwrap().starts_with("events[1].idempotency_key"));
    let refusal = world.publish_outside(json!({ "events": [body, body] })).await.refused(422, "body_invalid");
    assert!(refusal["fields"].get("events[1].idempotency_key").is_some());
    assert_eq!(world.events_stored().await, 1);

    let (_, theirs) = world.another_company(&[Scope::Events]).await;
    world.request(Method::POST, "/developers/int/v1/events").key(&theirs).json(&other).send().await.ok(201);
}

#[tokio::test]
async fn the_order_of_members_makes_no_other_event() {
    let world = World::new().await;
    let sample = world.sample("order.created");
    let reversed = |members: &Value| -> Value {
        let members = members.as_object().unwrap().iter().rev().map(|(name, value)| (name.clone(), value.clone()));
        Value::Object(members.collect())
    };
    let with = |data: Value| json!({ "event": sample["event"], "data": data, "idempotency_key": "web-1042" });
    let mut other = reversed(&sample["data"]);
    assert_ne!(other.to_string(), sample["data"].to_string());
    other["payload"] = reversed(&other["payload"]);
    let first = world.publish_outside(with(sample["data"].clone())).await.ok(201);
    assert_eq!(world.publish_outside(with(other)).await.ok(200), first);
    assert_eq!(world.events_stored().await, 1);
    // What the version before has stored is known, too.
    let data = sample["data"].clone();
    let as_written = sha256(json!([sample["event"], null, data]).to_string());
    sqlx::query("update publishing_keys set digest = $1").bind(as_written.as_slice()).execute(&world.pool).await.unwrap();
    assert_eq!(world.publish_outside(with(data)).await.ok(200), first);
}

#[tokio::test]
async fn parallel_requests_with_one_key_make_one_event() {
    let world = World::new().await;
    let mut body = world.sample("order.created");
    body["idempotency_key"] = json!("web-1042");
    let answers = join_all((0..20).map(|_| world.publish_outside(body.clone()))).await;
    let ids: std::collections::HashSet<_> = answers.iter().map(|answer| answer.body["event"]["id"].to_string()).collect();
    assert_eq!((ids.len(), answers.iter().filter(|answer| answer.status == 201).count()), (1, 1), "{answers:?}");
    assert_eq!(world.events_stored().await, 1);
}

#[tokio::test]
async fn the_log_of_events_is_narrowed_by_name_subject_and_time() {
    let world = World::new().await;
    let mut ids = Vec::new();
    let order = OrderId::new(world.clock.now());
    for (name, subject) in [("order.created", json!(order)), ("order.updated", json!(order.uuid())), ("order.created", json!(null))] {
        let mut body = world.sample(name);
        body["subject"] = subject;
        ids.push(world.publish_outside(body).await.ok(201)["event"]["id"].take());
        world.pass(TimeDelta::minutes(1));
    }
    let found = async |query: &str| -> Vec<Value> {
        let mut list = world.get(&format!("events?sort=created_at&{query}")).await;
        list["events"].as_array_mut().unwrap().iter_mut().map(|event| event["id"].take()).collect()
    };
    assert_eq!(found("event=order.created").await, [ids[0].clone(), ids[2].clone()]);
    assert_eq!(found(&format!("subject={order}")).await, ids[..2]);
    assert_eq!(found("created_after=2026-05-21T10:15:30Z&created_before=2026-05-21T10:16:30Z").await, [ids[1].clone()]);
    world.developers(Method::GET, "events?subject=ada", json!({})).await.refused(422, "parameter_invalid");
    let unknown = EventId::new(world.clock.now());
    world.developers(Method::GET, &format!("events/{unknown}"), json!({})).await.refused(404, "record_not_found");
}
