//! Cancelling more deliveries than one statement should close: none is sent, whichever instance closes them and whenever.

use futures::future::{join, join_all};
use portico::kernel::lifecycle::Lifecycle;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::receiver::Receiver;

/// More than two batches.
const CROWD: usize = 2500;

/// An endpoint with a large backlog, and the path of its webhook.
async fn crowded(world: &World) -> (Receiver, String) {
    let (receiver, webhook) = world.subscriber("shop.test").await;
    world.make_deliveries(CROWD).await;
    assert_eq!(waiting(world).await, CROWD);
    (receiver, format!("webhooks/{}", webhook["id"].as_str().unwrap()))
}

async fn number(world: &World, query: &'static str) -> usize {
    world.count(query).await.try_into().unwrap()
}

async fn waiting(world: &World) -> usize {
    number(world, "select count(*) from waiting").await
}

async fn cancelled(world: &World) -> usize {
    number(world, "select count(*) from deliveries where state = 'cancelled'").await
}

async fn cancelling_endpoints(world: &World) -> usize {
    number(world, "select count(*) from endpoints where cancelled_before is not null").await
}

#[tokio::test]
async fn what_waits_for_a_deleted_webhook_is_not_sent_however_much_it_is_and_whoever_closes_it() {
    let world = World::new().await;
    let (receiver, webhook) = crowded(&world).await;
    world.developers(Method::DELETE, &webhook, json!({})).await.ok(200);
    assert_eq!((cancelled(&world).await, waiting(&world).await), (1000, CROWD - 1000), "the request closes one batch only");
    assert!(world.claim().await.is_empty());

    assert!(world.state.webhooks.close_cancelled().await.unwrap());
    assert_eq!(waiting(&world).await, CROWD - 2000, "the worker stops here");
    let restarted = world.another_instance();
    assert!(restarted.claim().await.is_empty());
    assert_eq!(restarted.deliver().await, 0);
    assert_eq!((cancelled(&world).await, waiting(&world).await, cancelling_endpoints(&world).await), (CROWD, 0, 0));
    assert!(receiver.received().is_empty());
}

#[tokio::test]
async fn nobody_waits_for_the_backlog_of_another() {
    let world = World::new().await;
    let (_receiver, first) = crowded(&world).await;
    let (_other_receiver, second) = world.subscriber("other.test").await;
    world.make_deliveries(CROWD).await;
    for webhook in [first, format!("webhooks/{}", second["id"].as_str().unwrap())] {
        world.developers(Method::DELETE, &webhook, json!({})).await.ok(200);
    }
    // 4,000 are left of the first endpoint, 1,500 of the second.
    for left in [3500, 2000, 1000, 0] {
        assert!(world.state.webhooks.close_cancelled().await.unwrap());
        assert_eq!((waiting(&world).await, cancelled(&world).await), (left, 3 * CROWD - left));
    }
    assert!(!world.state.webhooks.close_cancelled().await.unwrap());
    assert_eq!(cancelling_endpoints(&world).await, 0);
}

#[tokio::test]
async fn several_workers_close_each_once_while_others_claim_and_cancel() {
    // A hundred requests are made at once, and the last should not be refused because it has waited for its turn for too long.
    let world = World::with(&[("companies.concurrent_requests", "1000")]).await;
    let (_receiver, webhook) = crowded(&world).await;
    let there = world.another_instance();
    let instances = [&world, &there];
    let claims = join_all((0..8).map(|n| instances[n % 2].claim()));
    let (deleted, claimed) = join(world.developers(Method::DELETE, &webhook, json!({})), claims).await;
    deleted.ok(200);
    let in_flight: usize = claimed.into_iter().map(|claimed| claimed.len()).sum();
    assert_eq!(
        number(&world, "select count(*) from in_flight where cancelled").await,
        in_flight,
        "the deliveries that were claimed before"
    );

    let list = world.get("deliveries?limit=100&status=pending").await;
    let one_by_one = list["deliveries"].as_array().unwrap().iter().map(async |delivery: &Value| {
        let path = format!("deliveries/{}/cancel", delivery["id"].as_str().unwrap());
        world.developers(Method::POST, &path, json!({})).await.status
    });
    let workers = join_all((0..4).map(async |n| {
        instances[n % 2].close_cancelled().await;
        instances[n % 2].claim().await.len()
    }));
    let (answers, claimed) = join(join_all(one_by_one), workers).await;
    assert!(answers.iter().all(|status| [200, 409].contains(status)), "{answers:?}");
    assert_eq!(claimed, [0; 4]);
    assert!(!world.state.webhooks.close_cancelled().await.unwrap());
    assert_eq!((cancelled(&world).await, waiting(&world).await), (CROWD - in_flight, 0));
    assert_eq!(cancelling_endpoints(&world).await, 0);
}

#[tokio::test]
async fn a_webhook_that_is_enabled_meanwhile_gets_what_is_new_and_nothing_else() {
    let world = World::new().await;
    let (receiver, webhook) = crowded(&world).await;
    let switch = async |action: &str| world.developers(Method::POST, &format!("{webhook}/{action}"), json!({})).await.ok(200);
    switch("disable").await;
    switch("enable").await;
    world.publish("order.updated").await;
    world.fan_out().await;
    assert!(world.claim().await.is_empty(), "cancelled deliveries are closed first");
    switch("disable").await;
    switch("enable").await;
    let wanted = world.publish("order.completed").await;

    let lifecycle = Lifecycle::default();
    world.state.webhooks.start_worker(&lifecycle);
    receiver.waits_for(1).await;
    lifecycle.stop().await;
    assert_eq!(receiver.headers("webhook-id"), [wanted.to_string()]);
    assert_eq!((cancelled(&world).await, waiting(&world).await), (CROWD + 1, 0));
}

#[tokio::test]
async fn what_was_cancelled_can_be_repeated_and_a_replay_begins_once_all_of_it_is_closed() {
    let world = World::new().await;
    let (_receiver, webhook) = crowded(&world).await;
    for switch in ["disable", "enable"] {
        world.developers(Method::POST, &format!("{webhook}/{switch}"), json!({})).await.ok(200);
    }
    let cancelled = world.get("deliveries?limit=1&status=pending").await["deliveries"][0]["event_id"].take();
    let path = format!("events/{}/replay", cancelled.as_str().unwrap());
    let counted = world.developers(Method::POST, &path, json!({ "dry_run": true })).await.ok(200);
    assert_eq!(counted["replay"]["count"], 1, "a cancelled delivery does not count as open");

    let everything = json!({ "since": "2026-05-21T00:00:00Z", "status": "cancelled" });
    world.developers(Method::POST, &format!("{webhook}/replay"), everything).await.ok(202);
    assert!(!world.state.webhooks.continue_replays().await.unwrap());
    world.close_cancelled().await;
    world.finish_replays().await;
    assert_eq!(number(&world, "select count(distinct replay_of) from waiting").await, CROWD);
}
