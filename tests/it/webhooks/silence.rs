//! Endpoints that ask to be left alone with `Retry-After`: decisions, section 7, Delivery.

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::fleet::id;
use crate::support::receiver::{Receiver, Reply};

/// An endpoint that has answered one event like this.
async fn having_answered(world: &World, reply: Reply) -> (Receiver, Value) {
    let (receiver, webhook) = world.subscriber("shop.test").await;
    receiver.will([reply]);
    world.publish("order.created").await;
    assert_eq!(world.deliver().await, 1);
    (receiver, webhook)
}

async fn health_of(world: &World, webhook: &Value) -> Value {
    world.get(&format!("webhooks/{}", id(webhook))).await["webhook"]["health"].take()
}

#[tokio::test]
async fn an_endpoint_that_names_a_time_gets_nothing_until_then_then_one_delivery_and_then_all() {
    for status in [429, 503] {
        let world = World::new().await;
        let (receiver, webhook) = having_answered(&world, Reply::with(status, "retry-after", "600")).await;
        let (other, _) = world.subscriber("other.test").await;
        world.make_deliveries(3).await;
        assert_eq!((world.deliver().await, other.count(), receiver.count()), (3, 3, 1), "only the other endpoint gets its own");
        let health = health_of(&world, &webhook).await;
        assert_eq!((&health["circuit"], &health["silent_until"]), (&json!("open"), &json!("2026-05-21T10:25:00.000+00:00")));

        world.pass(TimeDelta::seconds(599));
        assert_eq!(world.deliver().await, 0);
        world.pass(TimeDelta::seconds(1));
        let trial = world.claim().await;
        assert_eq!(trial.len(), 1);
        assert_eq!(world.claim().await.len(), 0);
        world.state.webhooks.send_and_record(trial).await.unwrap();
        assert_eq!(world.deliver().await, 3, "the others, and the retry of the first");
        assert_eq!(world.count("select count(*) from deliveries where state = 'delivered'").await, 4 + 3);
        let health = health_of(&world, &webhook).await;
        assert_eq!((&health["circuit"], &health["silent_until"]), (&json!("closed"), &json!(null)));
    }
}

#[tokio::test]
async fn an_endpoint_is_left_alone_for_an_hour_at_most() {
    let world = World::new().await;
    let (receiver, _) = having_answered(&world, Reply::with(429, "retry-after", "86400")).await;
    world.make_deliveries(1).await;
    world.pass(TimeDelta::minutes(60) - TimeDelta::seconds(1));
    assert_eq!(world.deliver().await, 0);
    world.pass(TimeDelta::seconds(1));
    assert_eq!(world.deliver().await, 1);
    world.pass(TimeDelta::hours(7) - TimeDelta::seconds(1));
    assert_eq!(world.deliver().await, 0, "the delivery that was answered waits for as long as it may be told to");
    world.pass(TimeDelta::seconds(1));
    assert_eq!((world.deliver().await, receiver.count()), (1, 3));
}

#[tokio::test]
async fn only_what_names_a_time_asks_for_silence() {
    for reply in [Reply::status(429), Reply::with(503, "retry-after", "0"), Reply::with(500, "retry-after", "600")] {
        let world = World::new().await;
        let (_receiver, _) = having_answered(&world, reply.clone()).await;
        world.make_deliveries(2).await;
        assert_eq!(world.deliver().await, 2, "{reply:?}");
    }
}

#[tokio::test]
async fn what_was_in_flight_and_succeeds_does_not_end_the_silence() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    world.make_deliveries(3).await;
    let mut claimed = world.claim().await;
    assert_eq!(claimed.len(), 3);
    let last = claimed.split_off(2);
    receiver.will([Reply::with(429, "retry-after", "600")]);
    // One of the two is asked to be silent, and the other one accepted.
    world.state.webhooks.send_and_record(claimed).await.unwrap();
    world.state.webhooks.send_and_record(last).await.unwrap();
    assert_eq!(world.count("select count(*) from deliveries where state = 'delivered'").await, 2);
    world.make_deliveries(1).await;
    world.pass(TimeDelta::seconds(599));
    assert_eq!(world.deliver().await, 0);
    world.pass(TimeDelta::seconds(1));
    assert_eq!(world.deliver().await, 2);
}

#[tokio::test]
async fn replays_keep_to_the_silence_and_can_be_answered_with_it() {
    let world = World::new().await;
    let (receiver, _) = having_answered(&world, Reply::status(200)).await;
    let arrived = world.last_delivery().await;
    let path = format!("deliveries/{}/replay", id(&arrived));
    let replay = async || world.developers(Method::POST, &path, json!({})).await.ok(201);
    receiver.will([Reply::with(429, "retry-after", "600")]);
    replay().await;
    assert_eq!(world.deliver().await, 1);

    replay().await;
    world.publish("order.updated").await;
    assert_eq!(world.deliver().await, 0, "neither an event nor a replay");
    world.pass(TimeDelta::seconds(599));
    assert_eq!(world.deliver().await, 0);
    world.pass(TimeDelta::seconds(1));
    assert_eq!(world.deliver().await, 3, "the event, the replay, and the retry of the first one");
    assert_eq!(world.count("select count(*) from endpoints where silent_until is not null").await, 0);
}

#[tokio::test]
async fn a_worker_keeps_to_the_silence_and_goes_on_after_it() {
    let world = World::new().await;
    let (receiver, _) = having_answered(&world, Reply::with(429, "retry-after", "60")).await;
    let (prompt, _) = world.subscriber("prompt.test").await;
    world.make_deliveries(5).await;
    world.state.webhooks.start_worker(&world.lifecycle);
    prompt.waits_for(5).await;
    assert_eq!(receiver.count(), 1, "the clock of the test does not advance");
    world.pass(TimeDelta::seconds(60));
    receiver.waits_for(1 + 5).await;
}

#[tokio::test]
async fn resuming_a_webhook_ends_the_silence_and_so_does_another_url() {
    for is_moved in [false, true] {
        let world = World::new().await;
        let (_receiver, webhook) = having_answered(&world, Reply::with(429, "retry-after", "3600")).await;
        world.make_deliveries(1).await;
        assert_eq!(world.deliver().await, 0);
        let path = format!("webhooks/{}", id(&webhook));
        let moved = world.endpoint("moved.test").await;
        if is_moved {
            world.developers(Method::PUT, &path, json!({ "url": moved.url() })).await.ok(200);
        } else {
            for action in ["pause", "resume"] {
                world.developers(Method::POST, &format!("{path}/{action}"), json!({})).await.ok(200);
            }
        }
        assert_eq!((world.deliver().await, moved.count()), (1, usize::from(is_moved)));
    }
}

#[tokio::test]
async fn a_clock_that_is_set_back_makes_no_silence_longer_than_an_hour() {
    let world = World::new().await;
    let (_receiver, _) = having_answered(&world, Reply::with(429, "retry-after", "3600")).await;
    world.make_deliveries(1).await;
    assert_eq!(world.deliver().await, 0);
    // The instant now lies further in the future than an endpoint can ask for.
    world.pass(TimeDelta::hours(-3));
    assert_eq!(world.deliver().await, 1);
}
