//! Fan-out takes deliveries that need not wait directly into flight; all others are claimed later.

use futures::future::join_all;
use portico::callers::Caller;
use portico::webhooks::Claimed;
use serde_json::json;
use uuid::Uuid;

use crate::support::World;
use crate::support::receiver::Reply;
use crate::support::waiting::until;

/// The number of waiting deliveries and of deliveries in flight.
async fn waiting_and_flying(world: &World) -> (i64, i64) {
    (world.count("select count(*) from waiting").await, world.count("select count(*) from in_flight").await)
}

async fn fan_out_and_claim(world: &World) -> Vec<Claimed> {
    world.state.webhooks.fan_out_and_claim(100).await.unwrap()
}

#[tokio::test]
async fn an_event_flies_straight_to_everybody_who_has_room() {
    let world = World::new().await;
    let (one, _) = world.subscriber("one.test").await;
    let (two, _) = world.subscriber("two.test").await;
    let event = world.publish("order.created").await;
    let claimed = fan_out_and_claim(&world).await;
    assert_eq!((claimed.len(), waiting_and_flying(&world).await), (2, (0, 2)));
    assert!(claimed.iter().all(|claimed| (claimed.number, claimed.event) == (1, event)));
    assert_eq!(world.count("select sum(in_flight) from endpoints").await, 2);
    world.state.webhooks.send_and_record(claimed).await.unwrap();
    assert_eq!(one.only().body, two.only().body, "both deliveries carry the bytes of the event");
    assert_eq!(world.count("select count(*) from deliveries where state = 'delivered' and attempts = 1").await, 2);
    assert_eq!(world.count("select sum(in_flight) from endpoints").await, 0);
}

#[tokio::test]
async fn no_more_fly_than_the_endpoint_may_have_or_than_are_asked_for() {
    let world = World::with(&[("webhooks.endpoint_concurrency", "2")]).await;
    let (_receiver, _) = world.subscriber("shop.test").await;
    for _ in 0..5 {
        world.publish("order.created").await;
    }
    let first = world.state.webhooks.fan_out_and_claim(1).await.unwrap();
    assert_eq!((first.len(), waiting_and_flying(&world).await), (1, (4, 1)));
    world.publish("order.updated").await;
    assert_eq!(fan_out_and_claim(&world).await.len(), 0, "there is capacity, but older deliveries wait for it");
    assert_eq!(waiting_and_flying(&world).await, (5, 1));
    world.state.webhooks.send_and_record(first).await.unwrap();
    assert_eq!(world.deliver().await, 5);
}

#[tokio::test]
async fn the_cap_holds_when_instances_fan_out_and_claim_at_once() {
    let here = World::with(&[("webhooks.endpoint_concurrency", "3")]).await;
    let (_receiver, _) = here.subscriber("shop.test").await;
    let there = here.another_instance();
    for round in 0..5 {
        for _ in 0..10 {
            here.publish("order.created").await;
        }
        let flights = join_all((0..8).map(|turn| fan_out_and_claim([&here, &there][turn % 2]))).await;
        let claims = join_all((0..8).map(|turn| [&here, &there][turn % 2].claim())).await;
        let claimed: Vec<_> = flights.into_iter().chain(claims).flatten().collect();
        assert_eq!(claimed.len(), 3, "round {round}");
        assert_eq!(here.count("select sum(in_flight) from endpoints").await, 3);
        here.state.webhooks.send_and_record(claimed).await.unwrap();
        until("everything is delivered", async || here.deliver().await == 0).await;
        assert_eq!(here.count("select sum(in_flight) from endpoints").await, 0);
    }
    assert_eq!(here.count("select count(*) from deliveries where attempts = 1").await, 50, "each is sent once");
}

#[tokio::test]
async fn whoever_wants_a_pace_or_an_order_is_claimed_for() {
    let world = World::new().await;
    let (paced, ordered) = (world.endpoint("paced.test").await, world.endpoint("ordered.test").await);
    world.subscribe(&paced, json!({ "rate_limit": 10 })).await;
    world.subscribe(&ordered, json!({ "ordering": "resource" })).await;
    world.publish_about(Uuid::from_u128(7), "order.created").await;
    assert_eq!((fan_out_and_claim(&world).await.len(), waiting_and_flying(&world).await), (0, (2, 0)));
    assert_eq!(world.deliver().await, 2);
}

#[tokio::test]
async fn nothing_flies_to_an_endpoint_whose_circuit_is_open() {
    let world = World::with(&[("webhooks.circuit.opens_after", "1")]).await;
    let (receiver, _) = world.subscriber("shop.test").await;
    receiver.will([Reply::status(500)]);
    world.publish("order.created").await;
    assert_eq!(world.deliver().await, 1);
    world.publish("order.created").await;
    assert_eq!(fan_out_and_claim(&world).await.len(), 0);
    assert_eq!(waiting_and_flying(&world).await, (2, 0), "the failed delivery and the new one");
}

#[tokio::test]
async fn of_a_webhook_that_is_disabled_at_the_same_moment_nothing_is_left_open() {
    let world = World::new().await;
    for round in 0..5 {
        let (_receiver, webhook) = world.subscriber(&format!("shop{round}.test")).await;
        let id = webhook["id"].as_str().unwrap().parse().unwrap();
        world.publish("order.created").await;
        let service = Caller::service(world.company);
        let (claimed, disabled) = tokio::join!(fan_out_and_claim(&world), world.state.webhooks.disable(&service, id));
        disabled.unwrap();
        assert_eq!(world.count("select count(*) from waiting").await, 0);
        assert_eq!(world.count("select count(*) from in_flight where not cancelled").await, 0);
        world.state.webhooks.send_and_record(claimed).await.unwrap();
        assert_eq!(waiting_and_flying(&world).await, (0, 0));
    }
}
