//! An endpoint does not affect other endpoints, whatever it does and however many deliveries wait for it: decisions, section 7,
//! Fairness.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use futures::future::join_all;
use portico::webhooks::Claimed;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::World;
use crate::support::receiver::{Receiver, Reply};
use crate::support::waiting::until;

/// The deliveries that two instances get from `claims` concurrent claims.
async fn claimed_at_once(instances: [&World; 2], claims: usize) -> Vec<Claimed> {
    join_all((0..claims).map(|number| instances[number % 2].claim())).await.into_iter().flatten().collect()
}

/// The columns of an endpoint that the stories check.
async fn health(world: &World) -> (i32, bool, bool, i32) {
    let sql = "select consecutive_failures, failing_since is not null, open_until is not null, in_flight from endpoints";
    sqlx::query_as(sql).fetch_one(&world.pool).await.unwrap()
}

#[tokio::test]
async fn the_cap_of_an_endpoint_holds_however_many_instances_claim_at_once() {
    let world = World::with(&[("webhooks.endpoint_concurrency", "7")]).await;
    let there = world.another_instance();
    let (_one, _) = world.subscriber("one.test").await;
    let (_two, _) = world.subscriber("two.test").await;
    world.make_deliveries(40).await;
    for round in 0..4 {
        let claimed = claimed_at_once([&world, &there], 6).await;
        let mut of_each = BTreeMap::<_, usize>::new();
        for claimed in &claimed {
            *of_each.entry(claimed.subscription).or_default() += 1;
        }
        assert!(of_each.values().all(|count| *count <= 7), "round {round}: {of_each:?}");
        let distinct: BTreeSet<_> = claimed.iter().map(|claimed| claimed.delivery).collect();
        assert_eq!(distinct.len(), claimed.len(), "no delivery is claimed twice");
        assert!(!claimed.is_empty());
        let counted = "select count(*) from endpoints where in_flight = (select count(*) from in_flight f where f.subscription_id = endpoints.subscription_id)";
        assert_eq!(world.count(counted).await, 2);
        world.state.webhooks.send_and_record(claimed).await.unwrap();
        assert_eq!(world.count("select sum(in_flight) from endpoints").await, 0);
    }
}

#[tokio::test]
async fn a_rate_limit_spreads_attempts_evenly_over_the_second_whoever_claims() {
    let world = World::with(&[("webhooks.endpoint_concurrency", "1000")]).await;
    let there = world.another_instance();
    let receiver = world.endpoint("slow.test").await;
    world.subscribe(&receiver, json!({ "rate_limit": 20 })).await;
    world.make_deliveries(100).await;
    assert_eq!(claimed_at_once([&world, &there], 5).await.len(), 2, "at most a tenth of the limit begins at once");
    assert_eq!(claimed_at_once([&world, &there], 5).await.len(), 0);
    let mut within_a_second = 0;
    for _ in 0..20 {
        world.pass(TimeDelta::milliseconds(50));
        within_a_second += claimed_at_once([&world, &there], 3).await.len();
    }
    assert_eq!(within_a_second, 20);
    world.pass(TimeDelta::minutes(1));
    assert_eq!(claimed_at_once([&world, &there], 3).await.len(), 2, "unused capacity does not accumulate");
}

#[tokio::test]
async fn a_worker_keeps_to_a_rate_limit_and_needs_no_polling_for_it() {
    let world = World::with(&[("webhooks.poll_interval", "1h")]).await;
    let receiver = world.endpoint("slow.test").await;
    world.subscribe(&receiver, json!({ "rate_limit": 10 })).await;
    let (prompt, _) = world.subscriber("prompt.test").await;
    world.make_deliveries(5).await;
    world.state.webhooks.start_worker(&world.lifecycle);
    prompt.waits_for(5).await;
    receiver.waits_for(1).await;
    until("all attempts are recorded", async || world.count("select count(*) from in_flight").await == 0).await;
    assert_eq!(receiver.received().len(), 1, "the clock of the test does not advance");
    for count in 2..=5 {
        world.pass(TimeDelta::milliseconds(100));
        receiver.waits_for(count).await;
    }
}

#[tokio::test]
async fn an_open_circuit_costs_no_attempt_and_closes_after_one_on_trial() {
    let world = World::with(&[("webhooks.circuit.opens_after", "3")]).await;
    let there = world.another_instance();
    let (receiver, _) = world.subscriber("shop.test").await;
    receiver.will(std::iter::repeat_n(Reply::status(500), 3));
    world.make_deliveries(3).await;
    assert_eq!(world.deliver().await, 3);
    assert_eq!(health(&world).await, (3, true, true, 0));

    world.pass(TimeDelta::seconds(1));
    world.make_deliveries(4).await;
    assert_eq!(world.deliver().await, 0, "nothing is sent while the circuit is open");
    let waiting = world.last_delivery().await;
    assert_eq!((&waiting["status"], &waiting["attempt_count"]), (&json!("pending"), &json!(0)));
    world.pass(TimeDelta::milliseconds(28_999));
    assert_eq!(world.deliver().await, 0);
    world.pass(TimeDelta::milliseconds(1));
    assert_eq!(claimed_at_once([&world, &there], 5).await.len(), 1, "there is one trial attempt, whichever instance claims it");
    world.pass(TimeDelta::seconds(60));
    world.state.webhooks.reclaim().await.unwrap();

    receiver.will([Reply::status(500)]);
    assert_eq!(world.deliver().await, 1, "the trial attempt failed, so the circuit stays open");
    assert_eq!(world.deliver().await, 0);
    world.pass(TimeDelta::seconds(30));
    assert_eq!(world.deliver().await, 3, "the trial attempt succeeded, so all due deliveries are sent");
    assert_eq!(health(&world).await, (0, false, false, 0));
    world.pass(TimeDelta::minutes(5));
    assert_eq!(world.deliver().await, 4, "the retry schedule of the failed deliveries is unchanged");
    assert_eq!(world.count("select count(*) from deliveries where state = 'delivered'").await, 7);
}

#[tokio::test]
async fn enabling_a_webhook_closes_its_circuit() {
    let world = World::with(&[("webhooks.circuit.opens_after", "1")]).await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    receiver.will([Reply::status(500)]);
    world.make_deliveries(1).await;
    world.deliver().await;
    assert_eq!(health(&world).await, (1, true, true, 0));
    for action in ["disable", "enable"] {
        let path = format!("webhooks/{}/{action}", webhook["id"].as_str().unwrap());
        world.developers(Method::POST, &path, json!({})).await.ok(200);
    }
    assert_eq!(health(&world).await, (0, false, false, 0));
    world.make_deliveries(1).await;
    assert_eq!(world.deliver().await, 1);
}

#[tokio::test]
async fn repetitions_never_take_the_places_of_first_attempts() {
    let settings = [("webhooks.concurrency", "4"), ("webhooks.circuit.opens_after", "1000")];
    let world = World::with(&settings).await;
    let mut bad = Vec::new();
    for number in 0..6 {
        let receiver = world.endpoint(&format!("bad{number}.test")).await;
        world.subscribe(&receiver, json!({ "events": ["order.created"], "timeout": 30 })).await;
        receiver.will(std::iter::repeat_n(Reply::status(500), 5).chain(std::iter::repeat_n(Reply::Silence, 5)));
        bad.push(receiver);
    }
    world.make_deliveries(5).await;
    assert_eq!(world.deliver().await, 30);
    world.pass(TimeDelta::minutes(5));
    let prompt: Receiver = world.endpoint("prompt.test").await;
    world.subscribe(&prompt, json!({ "events": ["driver.online"] })).await;
    let in_order = world.endpoint("in-order.test").await;
    world.subscribe(&in_order, json!({ "events": ["driver.online"], "ordering": "resource" })).await;
    world.state.webhooks.start_worker(&world.lifecycle);
    let hanging = || bad.iter().map(|receiver| receiver.received().len()).sum::<usize>() - 30;
    until("three retries are in flight", async || hanging() >= 3).await;
    assert_eq!(world.count("select count(*) from in_flight").await, 3, "no more are claimed than there are permits");
    for count in 1..=10 {
        world.publish_about(Uuid::from_u128(7), "driver.online").await;
        prompt.waits_for(count).await;
        in_order.waits_for(count).await;
    }
    // On a slow machine the first may have ended meanwhile, and made room for others.
    let (begun, ended) = (hanging(), world.count("select count(*) from attempts where error = 'timeout'").await as usize);
    assert!((3..=3 + ended).contains(&begun), "three of the four permits: {begun} begun, {ended} ended");
}

#[tokio::test]
async fn an_endpoint_with_any_backlog_takes_no_more_of_a_claim_than_its_turn() {
    let world = World::with(&[("webhooks.endpoint_concurrency", "1000")]).await;
    let crowded = world.endpoint("crowded.test").await;
    world.subscribe(&crowded, json!({ "events": ["order.created"] })).await;
    world.make_deliveries(300).await;
    let mut others = Vec::new();
    for number in 0..9 {
        let receiver = world.endpoint(&format!("other{number}.test")).await;
        let webhook = world.subscribe(&receiver, json!({ "events": ["driver.online"] })).await;
        others.push((receiver, webhook));
    }
    world.publish("driver.online").await;
    world.fan_out().await;
    let claimed = world.state.webhooks.claim(20).await.unwrap();
    let served: BTreeSet<_> = claimed.iter().map(|claimed| claimed.subscription.to_string()).collect();
    assert_eq!((claimed.len(), served.len()), (20, 10), "every endpoint has one delivery before any has two");
}

#[tokio::test]
async fn an_endpoint_with_fewer_deliveries_in_flight_comes_before_one_with_more() {
    let world = World::new().await;
    let busy = world.endpoint("busy.test").await;
    world.subscribe(&busy, json!({ "events": ["order.created"] })).await;
    world.make_deliveries(5).await;
    assert_eq!(world.state.webhooks.claim(3).await.unwrap().len(), 3);
    let idle = world.endpoint("idle.test").await;
    let idle = world.subscribe(&idle, json!({ "events": ["driver.online"] })).await;
    for _ in 0..3 {
        world.publish("driver.online").await;
    }
    world.fan_out().await;
    let claimed = world.state.webhooks.claim(3).await.unwrap();
    let of_idle = claimed.iter().filter(|claimed| idle["id"] == claimed.subscription.to_string()).count();
    assert_eq!((claimed.len(), of_idle), (3, 3));
}

#[tokio::test]
async fn paused_endpoints_whose_deliveries_stay_in_their_lane_hide_nobody() {
    // More than one claim examines.
    const PAUSED: usize = 250;
    let world = World::with(&[("webhooks.poll_interval", "10ms")]).await;
    let (first, paused) = (world.endpoint("first.test").await, world.endpoint("paused.test").await);
    // Claims go through the endpoints by id, which begins with the time, from the latest to the first.
    world.subscribe(&first, json!({ "events": ["driver.online"] })).await;
    world.pass(TimeDelta::seconds(1));
    for _ in 0..PAUSED {
        world.subscribe(&paused, json!({ "events": ["order.created"], "status": "paused" })).await;
    }
    world.make_deliveries(1).await;
    world.publish("driver.online").await;
    // What is fanned out before the worker runs, it finds in the lane alone.
    world.fan_out().await;
    assert_eq!(world.count("select count(*) from waiting where lane = 0").await, PAUSED as i64 + 1);
    world.state.webhooks.start_worker(&world.lifecycle);
    first.waits_for(1).await;
    assert_eq!(paused.count(), 0);
}

#[tokio::test]
async fn endpoints_that_are_held_back_hide_nobody_however_many_they_are() {
    // More than one claim examines.
    const HELD_BACK: usize = 250;
    let world = World::with(&[("webhooks.poll_interval", "10ms")]).await;
    // With a rate limit, fan-out leaves its deliveries to be claimed.
    let paced = json!({ "events": ["driver.online"], "rate_limit": 100 });
    let (first, held_back, last) =
        (world.endpoint("first.test").await, world.endpoint("open.test").await, world.endpoint("last.test").await);
    // Claims go through the endpoints by id, which begins with the time.
    world.subscribe(&first, paced.clone()).await;
    world.pass(TimeDelta::seconds(1));
    for _ in 0..HELD_BACK {
        world.subscribe(&held_back, json!({ "events": ["order.created"] })).await;
    }
    world.pass(TimeDelta::seconds(1));
    world.subscribe(&last, paced).await;
    world.make_deliveries(1).await;
    let circuits = sqlx::query("update endpoints set open_until = $1 where subscription_id in (select subscription_id from waiting)");
    let opened = circuits.bind(world.clock.now() + TimeDelta::seconds(30)).execute(&world.pool).await.unwrap();
    assert_eq!(opened.rows_affected(), HELD_BACK as u64);
    world.state.webhooks.start_worker(&world.lifecycle);
    for count in 1..=3 {
        world.publish("driver.online").await;
        first.waits_for(count).await;
        last.waits_for(count).await;
    }
    assert_eq!(held_back.count(), 0);
}

#[tokio::test]
async fn a_clock_that_is_set_back_holds_nobody_up() {
    let world = World::with(&[("webhooks.circuit.opens_after", "1")]).await;
    let limited = world.endpoint("limited.test").await;
    world.subscribe(&limited, json!({ "rate_limit": 1 })).await;
    let (broken, _) = world.subscriber("broken.test").await;
    broken.will([Reply::status(500)]);
    world.make_deliveries(1).await;
    assert_eq!(world.deliver().await, 2);
    // The stored instants now lie in the future.
    world.pass(TimeDelta::hours(-3));
    world.make_deliveries(1).await;
    assert_eq!(world.deliver().await, 2, "neither the rate limit nor the circuit waits for three hours");
}

#[tokio::test]
async fn what_waited_or_was_in_flight_before_the_clock_was_set_back_does_not_wait_for_as_long_again() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    world.make_deliveries(2).await;
    drop(world.state.webhooks.claim(1).await.unwrap());
    world.pass(TimeDelta::minutes(-5));
    assert_eq!(
        world.deliver().await,
        1,
        "the first attempt of one delivery; the lease of the other may be held by an instance whose clock is ahead"
    );
    world.pass(TimeDelta::hours(-3));
    assert_eq!(world.deliver().await, 1, "the worker that held the lease is gone");
    assert_eq!(receiver.received().len(), 2);
    assert_eq!(world.count("select count(*) from deliveries where state = 'delivered'").await, 2);
}

#[tokio::test]
async fn a_clock_that_jumps_ahead_repeats_what_is_in_flight_and_loses_nothing() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    world.make_deliveries(1).await;
    let claimed = world.state.webhooks.claim(1).await.unwrap();
    world.pass(TimeDelta::days(1));
    assert_eq!(world.deliver().await, 1, "its lease has expired according to the clock");
    world.state.webhooks.send_and_record(claimed).await.unwrap();
    assert_eq!(receiver.received().len(), 2);
    let delivery: Value = world.last_delivery().await;
    assert_eq!((&delivery["status"], &delivery["attempt_count"]), (&json!("delivered"), &json!(2)), "the late result changes nothing");
    assert_eq!(world.count("select sum(in_flight) from endpoints").await, 0);
}
