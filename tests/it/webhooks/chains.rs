//! Chains: the deliveries about one record, which are made one at a time. Whenever one ends, in whatever way, the next one becomes
//! claimable, and none is ever stuck.

use chrono::TimeDelta;
use futures::future::join_all;
use portico::webhooks::Claimed;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use reqwest::Method;
use serde_json::json;
use uuid::Uuid;

use crate::support::World;
use crate::support::chance::chance;
use crate::support::receiver::{Receiver, Reply};
use crate::support::waiting::until;

/// An endpoint with ordering, and the path of its webhook.
async fn in_order(world: &World) -> (Receiver, String) {
    let (receiver, webhook) = world.subscriber_in_order("shop.test").await;
    (receiver, format!("webhooks/{}", webhook["id"].as_str().unwrap()))
}

async fn publish_about(world: &World, subjects: &[Uuid]) {
    for subject in subjects {
        world.publish_about(*subject, "order.updated").await;
    }
    world.fan_out().await;
}

async fn cancel(world: &World, delivery: &str) -> u16 {
    world.developers(Method::POST, &format!("deliveries/{delivery}/cancel"), json!({})).await.status
}

/// Asserts that a chain with waiting deliveries has exactly one in a lane or in flight. Cancelled deliveries do not count.
async fn check_chains(world: &World) {
    let ahead = "with ahead as (
                     select subscription_id, chain from in_flight where chain is not null
                     union all
                     select subscription_id, chain from waiting join endpoints using (subscription_id)
                     where lane < 2 and chain is not null and place >= coalesce(cancelled_before, 0)
                 )";
    let two = "select count(*) from (select from ahead group by subscription_id, chain having count(*) > 1) as two";
    let stuck = "select count(*) from waiting join endpoints using (subscription_id)
                 where lane = 2 and place >= coalesce(cancelled_before, 0) and (subscription_id, chain) not in (select * from ahead)";
    let counts: (i64, i64) =
        sqlx::query_as(sqlx::AssertSqlSafe(format!("{ahead} select ({two}), ({stuck})"))).fetch_one(&world.pool).await.unwrap();
    assert_eq!(counts, (0, 0), "chains with two claimable deliveries, and deliveries that wait for none");
}

#[tokio::test]
async fn a_new_record_is_found_at_once_behind_thousands_that_wait_for_a_retry() {
    let world = World::new().await;
    let (_receiver, _) = in_order(&world).await;
    let records: Vec<_> = (0..2000).map(|_| world.new_record()).collect();
    for records in records.chunks(500).chain(records.chunks(500)) {
        let events: Vec<_> = records.iter().map(|record| world.new_event(world.company, "order.updated", Some(*record))).collect();
        let mut transaction = world.pool.begin().await.unwrap();
        portico::events::publish_all(&mut transaction, &events, world.clock.now()).await.unwrap();
        transaction.commit().await.unwrap();
    }
    world.fan_out().await;
    assert_eq!(world.count("select count(*) from waiting where lane = 2").await, 2000);
    let refused = "update waiting set lane = 1, attempts = 1, failures = 1, due_at = due_at + interval '5 minutes' where lane = 0";
    sqlx::query(refused).execute(&world.pool).await.unwrap();

    publish_about(&world, &[world.new_record()]).await;
    let claimed = world.state.webhooks.claim(10).await.unwrap();
    assert_eq!((claimed.len(), claimed[0].number), (1, 1));
    assert_eq!(world.count("select count(*) from in_flight").await, 1);
    world.pass(TimeDelta::minutes(5));
    assert!(world.claim().await.iter().all(|claimed| claimed.number == 2), "the retries of the first deliveries of the chains");
    check_chains(&world).await;
}

#[tokio::test]
async fn a_head_that_is_cancelled_lets_the_next_one_go() {
    let world = World::new().await;
    let (receiver, _) = in_order(&world).await;
    let subject = world.new_record();
    receiver.will([Reply::status(500)]);
    publish_about(&world, &[subject; 4]).await;
    let head = world.claim().await.pop().unwrap();
    let (first, second) = (head.delivery, "select id from waiting where sequence = 2");
    world.state.webhooks.send_and_record(vec![head]).await.unwrap();
    assert_eq!(world.deliver().await, 0, "the first one waits for its retry, and the others wait for it");

    let second: Uuid = sqlx::query_scalar(second).fetch_one(&world.pool).await.unwrap();
    assert_eq!(cancel(&world, &second.to_string()).await, 200, "a delivery behind it");
    assert_eq!(world.deliver().await, 0);
    assert_eq!(cancel(&world, &first.to_string()).await, 200);
    check_chains(&world).await;
    assert_eq!(world.deliver().await, 2);
    assert_eq!(receiver.headers("x-service-sequence"), ["1", "3", "4"]);
}

#[tokio::test]
async fn a_head_that_is_cancelled_in_flight_lets_the_next_one_go_when_it_has_ended() {
    for (reply, state) in [(Reply::status(500), "cancelled"), (Reply::status(200), "delivered")] {
        let world = World::new().await;
        let (receiver, _) = in_order(&world).await;
        receiver.will([reply]);
        publish_about(&world, &[world.new_record()].repeat(2)).await;
        let head = world.claim().await;
        assert_eq!(cancel(&world, &head[0].delivery.to_string()).await, 200);
        assert_eq!(world.claim().await.len(), 0, "the cancelled one may still arrive, and must arrive before the next one");
        world.state.webhooks.send_and_record(head).await.unwrap();
        check_chains(&world).await;
        assert_eq!(world.deliver().await, 1);
        assert_eq!(receiver.headers("x-service-sequence"), ["1", "2"]);
        let log = world.get("deliveries").await["deliveries"].take();
        let of_head = log.as_array().unwrap().iter().find(|delivery| delivery["sequence"] == 1).unwrap();
        assert_eq!(of_head["status"], state);
    }
}

#[tokio::test]
async fn a_head_that_brings_its_worker_down_is_given_up_and_lets_the_next_one_go() {
    let world = World::new().await;
    let (receiver, _) = in_order(&world).await;
    publish_about(&world, &[world.new_record()].repeat(2)).await;
    for attempt in 1..=5 {
        let claimed = world.claim().await;
        assert_eq!((claimed.len(), claimed[0].number), (1, attempt));
        world.pass(TimeDelta::seconds(60));
        world.state.webhooks.reclaim().await.unwrap();
        check_chains(&world).await;
    }
    assert_eq!(world.count("select count(*) from deliveries where state = 'failed' and sequence = 1").await, 1);
    assert_eq!(world.deliver().await, 1);
    assert_eq!(receiver.headers("x-service-sequence"), ["2"]);
}

#[tokio::test]
async fn what_comes_after_a_chain_was_cancelled_waits_only_for_what_is_in_flight() {
    let world = World::new().await;
    let (receiver, webhook) = in_order(&world).await;
    let switch = async |action: &str| world.developers(Method::POST, &format!("{webhook}/{action}"), json!({})).await.ok(200);
    let [one, other] = [world.new_record(), world.new_record()];
    publish_about(&world, &[one].repeat(1500)).await;
    let claimed = world.claim().await;
    publish_about(&world, &[other].repeat(2)).await;
    for action in ["disable", "enable"] {
        switch(action).await;
    }
    publish_about(&world, &[one, other, other]).await;
    check_chains(&world).await;
    assert_eq!(world.count("select count(*) from deliveries where state = 'cancelled'").await, 1000, "the others are not closed yet");
    assert_eq!(world.claim().await.len(), 0, "nothing is claimed before they are closed");
    world.close_cancelled().await;
    check_chains(&world).await;

    let [after] = <[Claimed; 1]>::try_from(world.claim().await).unwrap();
    assert_eq!(after.number, 1);
    world.state.webhooks.send_and_record(claimed).await.unwrap();
    check_chains(&world).await;
    world.state.webhooks.send_and_record(vec![after]).await.unwrap();
    world.deliver().await;
    let mut arrived = receiver.headers("x-service-sequence");
    arrived[2..].sort_unstable();
    assert_eq!(arrived, ["1", "3", "1501", "4"]);
    assert_eq!(world.count("select count(*) from waiting").await, 0);
}

#[tokio::test]
async fn a_webhook_that_wants_no_order_any_more_still_gets_in_order_what_happened_before() {
    let world = World::new().await;
    let (receiver, webhook) = in_order(&world).await;
    let subject = world.new_record();
    publish_about(&world, &[subject; 3]).await;
    world.developers(Method::PUT, &webhook, json!({ "ordering": "none" })).await.ok(200);
    publish_about(&world, &[subject; 2]).await;
    assert_eq!(world.claim().await.len(), 3, "the first delivery, and the new ones");
    world.pass(TimeDelta::seconds(60));
    world.deliver().await;
    let mut arrived = receiver.headers("x-service-sequence");
    arrived.retain(|sequence| ["1", "2", "3"].contains(&&**sequence));
    assert_eq!(arrived, ["1", "2", "3"]);
    assert_eq!(receiver.count(), 5);
}

#[tokio::test]
async fn what_is_about_no_record_takes_nothing_of_a_chain_along_when_it_flies() {
    let world = World::new().await;
    let (receiver, _) = in_order(&world).await;
    let subject = world.new_record();
    for _ in 0..2 {
        world.publish("order.created").await;
        world.publish_about(subject, "order.updated").await;
    }
    drop(world.state.webhooks.fan_out_and_claim(10).await.unwrap());
    assert_eq!(world.count("select count(*) from waiting where chain is not null").await, 2);
    world.pass(TimeDelta::seconds(60));
    world.deliver().await;
    assert_eq!(receiver.count(), 4);
    check_chains(&world).await;
}

/// An operation that affects chains.
#[derive(Clone, Debug)]
enum Step {
    Publish(usize),
    FanOut,
    FanOutAndClaim,
    Deliver(usize),
    /// A worker dies with its claimed deliveries.
    Lose(usize),
    Reclaim,
    Cancel(prop::sample::Index),
    /// The webhook is disabled and enabled again.
    CallOff,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..4_usize).prop_map(Step::Publish),
        3 => Just(Step::FanOut),
        3 => Just(Step::FanOutAndClaim),
        8 => (1..5_usize).prop_map(Step::Deliver),
        2 => (1..3_usize).prop_map(Step::Lose),
        2 => Just(Step::Reclaim),
        3 => any::<prop::sample::Index>().prop_map(Step::Cancel),
        1 => Just(Step::CallOff),
    ]
}

impl Step {
    async fn take(self, world: &World, webhook: &str, records: &[Uuid]) {
        let webhooks = &world.state.webhooks;
        match self {
            Self::Publish(number) => _ = world.publish_about(records[number], "order.updated").await,
            Self::FanOut => _ = webhooks.fan_out().await.unwrap(),
            Self::FanOutAndClaim => _ = webhooks.send_and_record(webhooks.fan_out_and_claim(3).await.unwrap()).await.unwrap(),
            Self::Deliver(count) => _ = webhooks.send_and_record(webhooks.claim(count).await.unwrap()).await.unwrap(),
            Self::Lose(count) => drop(webhooks.claim(count).await.unwrap()),
            Self::Reclaim => _ = webhooks.reclaim().await.unwrap(),
            Self::Cancel(which) => {
                let open = "select id from waiting union all select id from in_flight order by id";
                let open: Vec<Uuid> = sqlx::query_scalar(open).fetch_all(&world.pool).await.unwrap();
                if !open.is_empty() {
                    let status = cancel(world, &which.get(&open).to_string()).await;
                    assert!([200, 409].contains(&status), "{status}");
                }
            }
            Self::CallOff => {
                for action in ["disable", "enable"] {
                    world.developers(Method::POST, &format!("{webhook}/{action}"), json!({})).await.ok(200);
                }
            }
        }
    }
}

#[tokio::test]
async fn whatever_happens_at_the_same_time_no_chain_is_ever_stuck_or_overtaken() {
    let mut runner = chance();
    for _ in 0..4 {
        let world = World::with(&[("webhooks.circuit.opens_after", "1000")]).await;
        let instances = [&world, &world.another_instance(), &world.another_instance()];
        let (receiver, webhook) = in_order(&world).await;
        let records: Vec<_> = (0..4).map(|_| world.new_record()).collect();
        for _ in 0..25 {
            let steps = vec((step(), 0..3_usize), 12).new_tree(&mut runner).unwrap().current();
            let replies = vec(any::<bool>(), 6).new_tree(&mut runner).unwrap().current();
            receiver.will(replies.into_iter().map(|good| Reply::status(if good { 200 } else { 500 })));
            join_all(steps.into_iter().map(|(step, instance)| step.take(instances[instance], &webhook, &records))).await;
            check_chains(&world).await;
            let pause = (0..400_i64).new_tree(&mut runner).unwrap().current();
            world.pass(TimeDelta::seconds(pause));
        }
        let open = "select (select count(*) from outbox) + (select count(*) from waiting) + (select count(*) from in_flight)";
        until("every delivery has ended", async || {
            world.deliver().await;
            world.pass(TimeDelta::hours(1));
            world.count(open).await == 0
        })
        .await;
        check_order(&world, &receiver).await;
        assert_eq!(world.count("select sum(in_flight) from endpoints").await, 0);
    }
}

/// Asserts that the deliveries about each record arrived in the order of its events, possibly repeated.
async fn check_order(world: &World, receiver: &Receiver) {
    let of_each = world.sequences_by_record(receiver).await;
    assert!(!of_each.is_empty());
    for (subject, arrived) in of_each {
        assert!(arrived.is_sorted(), "{subject}: {arrived:?}");
    }
}
