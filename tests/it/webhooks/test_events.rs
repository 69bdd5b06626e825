//! Test events: a real delivery to one webhook, so that its owner can see what will be sent. Decisions, section 7, Routes beside the
//! five.

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;

#[tokio::test]
async fn a_test_event_goes_to_one_webhook_alone_whatever_it_wants() {
    let world = World::new().await;
    let receiver = world.endpoint("tried.test").await;
    let webhook = world.subscribe(&receiver, json!({ "events": ["driver.online"] })).await;
    let (other, _) = world.subscriber("other.test").await;
    let path = format!("webhooks/{}/test", webhook["id"].as_str().unwrap());

    let answer = world.developers(Method::POST, &path, json!({})).await.ok(201);
    assert_eq!((&answer["delivery"]["status"], &answer["delivery"]["event"]), (&json!("pending"), &json!("webhook.test")));
    world.developers(Method::POST, &path, json!({ "event": "order.created" })).await.ok(201);
    world.developers(Method::POST, &path, json!({ "event": "order.made" })).await.refused(422, "body_invalid");
    world.deliver().await;

    // Both are due at the same instant, so either may arrive first.
    assert_eq!(receiver.received().len(), 2);
    let data_of = |event: &str| {
        let posts = receiver.received();
        let post = posts.iter().find(|post| post.header("x-service-event") == event).unwrap();
        serde_json::from_slice::<Value>(&post.body).unwrap()["data"].take()
    };
    let data = data_of("webhook.test");
    assert_eq!((&data["id"], &data["additionalData"]), (&webhook["id"], &json!({ "test": true })));
    assert_eq!(data.get("secret"), None);
    let data = data_of("order.created");
    let sample = world.get("event-types/order.created").await["event_type"]["sample"].take();
    assert_eq!((&data["id"], &data["additionalData"]), (&sample["data"]["id"], &json!({ "test": true })));
    assert!(other.received().is_empty());
    let last = world.last_delivery().await;
    assert_eq!(last["webhook_id"], webhook["id"]);

    // A replay of the test event goes to no other webhook either.
    let again = format!("events/{}/replay", last["event_id"].as_str().unwrap());
    assert_eq!(world.developers(Method::POST, &again, json!({})).await.ok(201)["replay"]["count"], 1);
    world.deliver().await;
    assert_eq!((receiver.count(), other.count()), (3, 0));
}

#[tokio::test]
async fn every_event_type_can_be_tried_with_its_sample() {
    // A few handshakes at once end in time on a busy machine too.
    let world = World::with(&[("webhooks.endpoint_concurrency", "5")]).await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    let path = format!("webhooks/{}/test", webhook["id"].as_str().unwrap());
    let types = world.get("event-types").await["event_types"].take();
    let types: Vec<_> = types.as_array().unwrap().iter().filter(|event_type| event_type["name"] != "webhook.test").collect();
    // As many as a webhook may have in a minute.
    for some in types.chunks(60) {
        for event_type in some {
            world.developers(Method::POST, &path, json!({ "event": event_type["name"] })).await.ok(201);
        }
        world.pass(TimeDelta::minutes(1));
    }
    assert_eq!(world.deliver().await, types.len());
    let posts = receiver.received();
    for event_type in types {
        let name = event_type["name"].as_str().unwrap();
        let post = posts.iter().find(|post| post.header("x-service-event") == name).expect(name);
        let mut sample = event_type["sample"]["data"].clone();
        sample["additionalData"]["test"] = json!(true);
        assert_eq!(serde_json::from_slice::<Value>(&post.body).unwrap()["data"], sample, "{name}");
    }
}

#[tokio::test]
async fn a_test_event_is_sent_with_data_of_ones_own_if_it_fits_the_schema() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    let path = format!("webhooks/{}/test", webhook["id"].as_str().unwrap());
    let mut data = world.get("event-types/order.created").await["event_type"]["sample"]["data"].take();
    data["internal_id"] = json!("A-4711");
    data["additionalData"] = json!({ "note": "mine", "test": false });
    let body = json!({ "event": "order.created", "data": data });
    world.developers(Method::POST, &path, body).await.ok(201);
    world.deliver().await;
    data["additionalData"]["test"] = json!(true);
    let sent: Value = serde_json::from_slice(&receiver.only().body).unwrap();
    assert_eq!((&sent["event"], &sent["data"]), (&json!("order.created"), &data));

    // What does not fit is refused beside the member, and nothing is sent.
    data["status"] = json!("eaten");
    let refused = world.developers(Method::POST, &path, json!({ "event": "order.created", "data": data })).await;
    let refused = refused.refused(422, "body_invalid");
    assert!(refused["fields"]["data.status"].is_array(), "{refused}");
    for (event, data) in [("order.created", json!({})), ("order.made", json!({})), ("webhook.test", json!({ "additionalData": "test" }))] {
        world.developers(Method::POST, &path, json!({ "event": event, "data": data })).await.refused(422, "body_invalid");
    }
    let too_large = json!({ "event": "order.created", "data": { "internal_id": "x".repeat(2 * 1024 * 1024) } });
    world.developers(Method::POST, &path, too_large).await.refused(413, "body_too_large");
    assert_eq!((world.deliver().await, receiver.count()), (0, 1));
}
