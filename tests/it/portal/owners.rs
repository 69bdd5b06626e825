//! Which events reach whose webhooks.

use chrono::TimeDelta;
use portico::kernel::ids::EventId;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::fleet::id;
use crate::support::receiver::{Receiver, Reply, event_ids};

fn got(receiver: &Receiver, event: EventId) -> bool {
    event_ids(&receiver.received()).contains(&event.to_string())
}

#[tokio::test]
async fn an_event_reaches_the_webhooks_of_its_owner_and_those_without_any() {
    let world = World::new().await;
    let (own, _) = world.subscriber("own.test").await;
    let (seven, _) = world.subscriber_of("seven.test", "7").await;
    let (eight, _) = world.subscriber_of("eight.test", "8").await;
    // Ordered ones take another way into flight.
    let ordered = world.endpoint("ordered.test").await;
    world.subscribe(&ordered, json!({ "owner": "7", "ordering": "resource" })).await;
    let (to_seven, to_all, order) =
        (world.publish_to(Some("7"), "a").await, world.publish_to(None, "b").await, world.order(json!({})).await);
    world.deliver().await;
    for (receiver, gets_seven, gets_all) in [(&own, true, true), (&seven, true, false), (&eight, false, false), (&ordered, true, false)] {
        assert_eq!((got(receiver, to_seven), got(receiver, to_all)), (gets_seven, gets_all));
    }
    // What happens to records of the company is for nobody in particular.
    assert!(order["id"].is_string());
    assert_eq!((seven.count(), ordered.count()), (1, 1));
    // The envelope is the same for everybody.
    assert!(own.received().iter().chain(&seven.received()).all(|post| !String::from_utf8_lossy(&post.body).contains("\"owner\"")));
    assert_eq!(world.get(&format!("events/{to_seven}")).await["event"]["owner"], "7");
    let listed = world.get("events?owner=7").await["events"].take();
    assert_eq!(listed.as_array().unwrap().iter().map(|event| event["id"].clone()).collect::<Vec<_>>(), [json!(to_seven)]);
    assert_eq!(world.get("webhooks?owner=8").await["webhooks"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn an_owner_is_compared_exactly_and_refused_where_it_is_none() {
    let world = World::new().await;
    let (seven, _) = world.subscriber_of("seven.test", "Tenant 7").await;
    for other in ["tenant 7", "Tenant 70", "Tenant  7", "%"] {
        world.publish_to(Some(other), "x").await;
    }
    world.deliver().await;
    assert_eq!(seven.count(), 0);
    for owner in [json!(""), json!(" 7"), json!("7\n"), json!("7".repeat(256)), json!(7), json!({})] {
        let event = json!({ "event": "order.created", "data": {}, "owner": owner });
        world.developers(Method::POST, "events", event.clone()).await.refused(422, "body_invalid");
        world.developers(Method::POST, "events", json!({ "events": [event] })).await.refused(422, "body_invalid");
        world.developers(Method::POST, "webhooks", json!({ "url": seven.url(), "owner": owner })).await.refused(422, "body_invalid");
        world.developers(Method::POST, "portal-links", json!({ "owner": owner })).await.refused(422, "body_invalid");
    }
}

#[tokio::test]
async fn the_owner_of_a_webhook_never_changes() {
    let world = World::new().await;
    let (_, webhook) = world.subscriber_of("seven.test", "7").await;
    let (_, own) = world.subscriber("own.test").await;
    for (webhook, owner) in [(&webhook, json!("8")), (&webhook, json!(null)), (&own, json!("7"))] {
        let refused = world.developers(Method::PUT, &format!("webhooks/{}", id(webhook)), json!({ "owner": owner })).await;
        let refused = refused.refused(422, "body_invalid");
        assert!(refused["fields"]["owner"][0].as_str().unwrap().contains("cannot be changed"), "{refused}");
    }
    world.developers(Method::PUT, &format!("webhooks/{}", id(&webhook)), json!({ "owner": "7", "timeout": 5 })).await.ok(200);
}

#[tokio::test]
async fn tests_replays_and_notices_keep_to_the_owner() {
    let world = World::new().await;
    let (own, _) = world.subscriber("own.test").await;
    let (seven, webhook) = world.subscriber_of("seven.test", "7").await;
    let (eight, _) = world.subscriber_of("eight.test", "8").await;
    for event in ["webhook.test", "order.created"] {
        let test = world.developers(Method::POST, &format!("webhooks/{}/test", id(&webhook)), json!({ "event": event })).await;
        let test = test.ok(201)["delivery"]["event_id"].take();
        assert_eq!(world.get(&format!("events/{}", test.as_str().unwrap())).await["event"]["owner"], "7");
    }
    world.deliver().await;
    assert_eq!((own.count(), seven.count(), eight.count()), (0, 2, 0));

    // Replayed to everybody, it reaches who was there for it.
    let event = world.publish_to(Some("7"), "a").await;
    world.deliver().await;
    let replay = world.developers(Method::POST, &format!("events/{event}/replay"), json!({})).await.ok(201);
    assert_eq!(replay["replay"]["count"], 2);
    world.deliver().await;
    assert_eq!((own.count(), seven.count(), eight.count()), (2, 4, 0));

    // An endpoint that fails is told of to its owner, and to the company.
    seven.will(std::iter::repeat_n(Reply::status(500), 200));
    world.publish_to(Some("7"), "b").await;
    world.deliver().await;
    world.pass(TimeDelta::hours(61));
    world.publish_to(Some("7"), "c").await;
    world.deliver().await;
    world.state.webhooks.notify_operators().await.unwrap();
    let notices = world.get("events?event=webhook.failing").await["events"].take();
    assert!(notices.as_array().unwrap().iter().all(|notice| notice["owner"] == "7") && notices[0].is_object(), "{notices}");
}

#[tokio::test]
async fn a_key_stands_for_the_owner_too() {
    let world = World::new().await;
    let event = |owner: Option<&str>| json!({ "event": "order.created", "data": {}, "idempotency_key": "k", "owner": owner });
    let event = |owner: Option<&str>| {
        let mut body = event(owner);
        body["data"] = Value::Object(world.state.developers.catalogue.find("order.created").unwrap().sample.clone());
        body
    };
    world.developers(Method::POST, "events", event(Some("7"))).await.ok(201);
    world.developers(Method::POST, "events", event(Some("7"))).await.ok(200);
    for other in [Some("8"), None] {
        world.developers(Method::POST, "events", event(other)).await.refused(409, "idempotency_key_used");
    }
}

#[tokio::test]
async fn why_an_event_for_another_owner_did_not_arrive_is_told() {
    let world = World::new().await;
    let (_, webhook) = world.subscriber_of("seven.test", "7").await;
    for (owner, detail) in [(Some("8"), "The event is for another owner: 8."), (None, "The event is for no owner")] {
        let event = world.publish_to(owner, "x").await;
        world.deliver().await;
        let explained = world.get(&format!("events/{event}/explain?webhook={}", id(&webhook))).await["explanation"].take();
        assert_eq!(explained["verdict"], "not_sent");
        let gate = explained["gates"].as_array().unwrap().last().unwrap();
        assert_eq!(gate["gate"], "owner");
        assert!(gate["detail"].as_str().unwrap().starts_with(detail), "{gate}");
    }
}
