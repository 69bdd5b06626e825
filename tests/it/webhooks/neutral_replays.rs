//! Replays and the health of the endpoint do not affect each other: decisions, section 7, Routes beside the five.

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::receiver::{Receiver, Reply};

/// An endpoint that accepted one event and refused the next, with its webhook and the delivery that was accepted. Its circuit is
/// open.
async fn refusing(world: &World) -> (Receiver, Value, Value) {
    let (receiver, webhook) = world.subscriber("shop.test").await;
    world.publish("order.created").await;
    world.deliver().await;
    let arrived = world.last_delivery().await;
    world.pass(TimeDelta::seconds(1));
    receiver.will([Reply::status(500)]);
    world.publish("order.updated").await;
    world.deliver().await;
    assert_eq!(world.count("select count(*) from endpoints where open_until is not null").await, 1);
    (receiver, webhook, arrived)
}

async fn replay(world: &World, delivery: &Value, times: usize) {
    let path = format!("deliveries/{}/replay", delivery["id"].as_str().unwrap());
    for _ in 0..times {
        world.developers(Method::POST, &path, json!({})).await.ok(201);
    }
}

#[tokio::test]
async fn a_replay_that_is_answered_410_fails_and_disables_nothing() {
    let world = World::with(&[("webhooks.circuit.opens_after", "1")]).await;
    let (receiver, webhook, arrived) = refusing(&world).await;
    replay(&world, &arrived, 1).await;
    receiver.will([Reply::status(410)]);
    assert_eq!(world.deliver().await, 1);
    assert_eq!(world.count("select count(*) from deliveries where replay_of is not null and state = 'failed'").await, 1);
    let webhook = world.get(&format!("webhooks/{}", webhook["id"].as_str().unwrap())).await;
    assert_eq!(webhook["webhook"]["status"], "enabled");
    world.pass(TimeDelta::minutes(5));
    assert_eq!(world.deliver().await, 1, "the delivery that waited is still retried");
}

#[tokio::test]
async fn replays_wait_for_no_circuit_and_keep_to_the_cap() {
    let world = World::with(&[("webhooks.circuit.opens_after", "1"), ("webhooks.endpoint_concurrency", "2")]).await;
    let (receiver, webhook, arrived) = refusing(&world).await;
    let path = format!("webhooks/{}/disable", webhook["id"].as_str().unwrap());
    world.developers(Method::POST, &path, json!({})).await.ok(200);
    replay(&world, &arrived, 5).await;
    receiver.will([Reply::status(500), Reply::status(200), Reply::status(500)]);
    for at_once in [2, 2, 1] {
        let claimed = world.claim().await;
        assert_eq!(claimed.len(), at_once);
        world.state.webhooks.send_and_record(claimed).await.unwrap();
    }
    assert_eq!(world.count("select count(*) from deliveries where replay_of is not null and state = 'delivered'").await, 3);
    world.pass(TimeDelta::minutes(5));
    assert_eq!(world.deliver().await, 2, "failed replays are retried like any other delivery");
}

#[tokio::test]
async fn replays_in_flight_take_no_place_of_the_one_on_trial_and_it_none_of_theirs() {
    let world = World::with(&[("webhooks.circuit.opens_after", "1")]).await;
    let (_receiver, _, arrived) = refusing(&world).await;
    replay(&world, &arrived, 3).await;
    let hanging = world.claim().await;
    assert_eq!(hanging.len(), 3);
    for _ in 0..3 {
        world.publish("order.completed").await;
    }
    world.fan_out().await;
    assert_eq!(world.claim().await.len(), 0, "the circuit is open");
    world.pass(TimeDelta::seconds(30));
    let trial = world.claim().await;
    assert_eq!((trial.len(), trial[0].number), (1, 1), "there is one trial attempt");
    assert_eq!(world.claim().await.len(), 0);
    replay(&world, &arrived, 1).await;
    assert_eq!(world.claim().await.len(), 1, "a replay does not wait for the trial attempt");

    world.state.webhooks.send_and_record(hanging).await.unwrap();
    assert_eq!(world.claim().await.len(), 0, "delivered replays do not close the circuit");
    world.state.webhooks.send_and_record(trial).await.unwrap();
    assert_eq!(world.claim().await.len(), 2, "the successful trial attempt closes the circuit");
}
