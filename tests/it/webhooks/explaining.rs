//! `GET events/{uuid}/explain`: why an event arrived at a webhook, or why not.

use chrono::TimeDelta;
use portico::kernel::ids::EventId;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::fleet::id;
use crate::support::receiver::{Receiver, Reply};

impl World {
    /// The verdict on an event and a webhook, the gate that decided it, and what it says.
    async fn explained(&self, event: EventId, webhook: &Value) -> (String, String, String) {
        let mut explanation = self.get(&format!("events/{event}/explain?webhook={}", id(webhook))).await["explanation"].take();
        let gates = explanation["gates"].as_array().unwrap();
        assert!(gates[..gates.len() - 1].iter().all(|gate| gate["passed"] == true), "only the last gate may stop it: {gates:?}");
        let last = gates.last().unwrap().clone();
        assert_eq!(last["passed"], explanation["verdict"] == "delivered", "{explanation}");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&explanation["verdict"].take()), text(&last["gate"]), text(&last["detail"]))
    }

    /// Asserts the verdict, the gate and a part of what it says.
    async fn explains(&self, event: EventId, webhook: &Value, verdict: &str, gate: &str, detail: &str) {
        let found = self.explained(event, webhook).await;
        assert_eq!((found.0.as_str(), found.1.as_str()), (verdict, gate), "{}", found.2);
        assert!(found.2.contains(detail), "{}", found.2);
    }
}

#[tokio::test]
async fn an_event_without_a_delivery_is_told_why() {
    let world = World::new().await;
    let orders = world.endpoint("orders.test").await;
    let orders = world.subscribe(&orders, json!({ "events": ["order.*"] })).await;
    let disabled = world.endpoint("disabled.test").await;
    let disabled = world.subscribe(&disabled, json!({ "status": "disabled" })).await;
    world.pass(TimeDelta::seconds(1));
    let event = world.publish("driver.online").await;
    world.deliver().await;
    world.explains(event, &orders, "not_sent", "wanted", "It wants order.*.").await;
    world.explains(event, &disabled, "not_sent", "enabled", "The webhook is disabled since").await;

    world.pass(TimeDelta::seconds(1));
    let (_, late) = world.subscriber("late.test").await;
    world.explains(event, &late, "not_sent", "registered", "was registered later").await;

    // A test is for one webhook alone.
    let test = world.developers(Method::POST, &format!("webhooks/{}/test", id(&late)), json!({})).await.ok(201)["delivery"].take();
    let test: EventId = test["event_id"].as_str().unwrap().parse().unwrap();
    world.explains(test, &orders, "not_sent", "addressed", "for another webhook alone").await;

    // Not yet, and then not at all: nobody makes deliveries in this story any more.
    let event = world.publish("order.created").await;
    world.explains(event, &orders, "waiting", "delivery", "about to be made").await;
    world.pass(TimeDelta::minutes(2));
    world.explains(event, &orders, "not_sent", "delivery", "There is no delivery.").await;
}

#[tokio::test]
async fn an_event_that_is_held_is_told_since_when() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber_in_order("hooks.test").await;
    let record = world.new_record();
    receiver.will([Reply::status(500)]);
    let failed = world.publish_about(record, "order.created").await;
    world.deliver().await;
    world.developers(Method::POST, &format!("webhooks/{}/pause", id(&webhook)), json!({})).await.ok(200);
    world.pass(TimeDelta::hours(1));
    let behind = world.publish_about(record, "order.updated").await;
    world.deliver().await;
    let since = "The webhook is paused since 2026-05-21T10:15:00.000+00:00, and the delivery is held until it is resumed";
    world.explains(failed, &webhook, "waiting", "paused", since).await;
    world.explains(failed, &webhook, "waiting", "paused", "the endpoint answered 500").await;
    world.explains(behind, &webhook, "waiting", "paused", "no attempt has ended").await;
    world.developers(Method::POST, &format!("webhooks/{}/resume", id(&webhook)), json!({})).await.ok(200);
    world.explains(behind, &webhook, "waiting", "order", "").await;
    world.deliver().await;
    world.explains(behind, &webhook, "delivered", "answered", "").await;
}

#[tokio::test]
async fn an_event_with_a_delivery_is_told_what_became_of_it() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("hooks.test").await;
    let event = world.publish("order.created").await;
    world.fan_out().await;
    world.explains(event, &webhook, "waiting", "answered", "").await;
    world.deliver().await;
    world.explains(event, &webhook, "delivered", "answered", "Delivered at attempt 1: the endpoint answered 200.").await;

    world.pass(TimeDelta::seconds(1));
    receiver.will([Reply::status(401)]);
    let event = world.publish("order.updated").await;
    world.deliver().await;
    world.explains(event, &webhook, "waiting", "answered", "the endpoint answered 401").await;
    let delivery = world.last_delivery().await;
    world.developers(Method::POST, &format!("deliveries/{}/cancel", id(&delivery)), json!({})).await.ok(200);
    world.explains(event, &webhook, "cancelled", "answered", "Cancelled after 1 attempt: ").await;

    let failed = world.fail(&receiver, "order.created").await;
    let event: EventId = failed["event_id"].as_str().unwrap().parse().unwrap();
    world.explains(event, &webhook, "failed", "answered", "Given up after 5 attempts: the endpoint answered 500.").await;
}

#[tokio::test]
async fn a_delivery_that_waits_for_another_or_for_the_circuit_says_so() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber_in_order("ordered.test").await;
    let record = world.new_record();
    receiver.will([Reply::status(500)]);
    world.publish_about(record, "order.created").await;
    world.deliver().await;
    let ahead = world.last_delivery().await;
    let behind = world.publish_about(record, "order.updated").await;
    world.deliver().await;
    world.explains(behind, &webhook, "waiting", "order", id(&ahead)).await;

    let world = World::with(&[("webhooks.circuit.opens_after", "1")]).await;
    let (receiver, webhook) = world.subscriber("broken.test").await;
    receiver.will([Reply::status(500)]);
    world.publish("order.created").await;
    world.deliver().await;
    let held = world.publish("order.updated").await;
    world.deliver().await;
    world.explains(held, &webhook, "waiting", "circuit", "attempts are held back until").await;

    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("busy.test").await;
    receiver.will([Reply::with(429, "retry-after", "600")]);
    let asked = world.publish("order.created").await;
    world.deliver().await;
    let silent = "The endpoint has asked to be left alone (Retry-After) until 2026-05-21T10:25:00.000+00:00";
    world.explains(asked, &webhook, "waiting", "silence", silent).await;
    world.explains(asked, &webhook, "waiting", "silence", "the endpoint answered 429").await;

    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("soon.test").await;
    receiver.will([Reply::with(429, "retry-after", "60")]);
    let asked = world.publish("order.created").await;
    world.deliver().await;
    let meanwhile = world.publish("order.updated").await;
    world.deliver().await;
    world.explains(meanwhile, &webhook, "waiting", "silence", "until 2026-05-21T10:16:00.000+00:00").await;
    world.explains(asked, &webhook, "waiting", "answered", "The next attempt is due at 2026-05-21T10:20:00.000+00:00").await;
}

#[tokio::test]
async fn an_attempt_that_failed_in_tls_is_told_with_its_reason() {
    let world = World::new().await;
    world.resolver.insert("hooks.test", &["127.0.0.1".parse().unwrap()]);
    let receiver = Receiver::start_expired("hooks.test").await;
    let webhook = world.subscribe(&receiver, json!({})).await;
    let event = world.publish("order.created").await;
    world.deliver().await;
    world.explains(event, &webhook, "waiting", "answered", "the latest attempt ended with tls (certificate_expired)").await;
}

#[tokio::test]
async fn what_is_asked_badly_or_by_strangers_is_refused() {
    let world = World::new().await;
    let (_, webhook) = world.subscriber("hooks.test").await;
    let event = world.publish("order.created").await;
    let path = format!("/developers/int/v1/events/{event}/explain");
    for query in ["", "?webhook=", "?webhook=nobody"] {
        world.api(Method::GET, &format!("{path}{query}")).send().await.refused(422, "parameter_invalid");
    }
    let known = format!("{path}?webhook={}", id(&webhook));
    let unknown = format!("/developers/int/v1/events/{}/explain?webhook={}", EventId::new(world.clock.now()), id(&webhook));
    world.api(Method::GET, &unknown).send().await.refused(404, "record_not_found");
    let (_, stranger) = world.another_company(&[portico::callers::Scope::Admin]).await;
    world.request(Method::GET, &known).key(&stranger).send().await.refused(404, "record_not_found");
    let publisher = world.key_of(world.company, &[portico::callers::Scope::Events]).await;
    world.request(Method::GET, &known).key(&publisher).send().await.refused(403, "scope_missing");
}
