//! One company whose endpoints are slow or dead takes nothing from another.

use std::collections::BTreeSet;
use std::iter::repeat_n;

use chrono::TimeDelta;
use portico::callers::Scope;
use portico::kernel::database::Transaction;
use portico::kernel::ids::CompanyId;
use reqwest::Method;
use serde_json::json;
use uuid::Uuid;

use crate::support::World;
use crate::support::receiver::{Receiver, Reply};
use crate::support::waiting::until;
use crate::webhooks::fanning_out::crowd;

/// What is held stands still for as long as the story takes, on a busy machine too.
const PATIENT: (&str, &str) = ("database.statement_timeout", "10m");

/// Another company, and an endpoint that it has subscribed to all events.
async fn neighbour(world: &World) -> (CompanyId, Receiver) {
    let (company, key) = world.another_company(&[Scope::Admin]).await;
    let receiver = world.endpoint("neighbour.test").await;
    let body = json!({ "url": receiver.url() });
    world.api(Method::POST, "/developers/int/v1/webhooks").key(&key).json(&body).send().await.ok(201);
    (company, receiver)
}

async fn in_flight_of(world: &World, company: CompanyId) -> i64 {
    sqlx::query_scalar("select count(*) from in_flight where company_id = $1").bind(company.uuid()).fetch_one(&world.pool).await.unwrap()
}

#[tokio::test]
async fn a_company_whose_endpoints_are_slow_leaves_permits_for_others() {
    let world =
        World::with(&[("webhooks.concurrency", "20"), ("webhooks.endpoint_concurrency", "20"), ("webhooks.poll_interval", "1h")]).await;
    world.silent_subscribers(4).await;
    let (other, prompt) = neighbour(&world).await;
    world.make_deliveries(30).await;
    world.state.webhooks.start_worker(&world.lifecycle);
    until("the slow ones have their share", async || in_flight_of(&world, world.company).await >= 16).await;
    for count in 1..=10 {
        world.publish_for(other, "order.created").await;
        prompt.waits_for(count).await;
    }
    // Each is missing at most that has timed out meanwhile, on a slow machine.
    let in_flight = in_flight_of(&world, world.company).await;
    let timed_out = world.count("select count(*) from attempts where error = 'timeout'").await;
    assert!((16 - timed_out..=16).contains(&in_flight), "four times what is free: {in_flight}, and {timed_out} have timed out");
}

#[tokio::test]
async fn a_company_whose_events_come_one_by_one_leaves_permits_for_others_too() {
    const EVENTS: i64 = 20;
    let world = World::with(&[("webhooks.concurrency", "20"), ("webhooks.poll_interval", "1h")]).await;
    let silent = world.endpoint("silent.test").await;
    silent.will(repeat_n(Reply::Silence, 40));
    // Each event is for another webhook, so no endpoint has more than one in flight.
    for owner in 0..EVENTS {
        world.subscribe(&silent, json!({ "owner": owner.to_string(), "timeout": 30 })).await;
    }
    world.state.webhooks.start_worker(&world.lifecycle);
    for owner in 0..EVENTS {
        world.publish_to(Some(&owner.to_string()), "one by one").await;
        let made = "select (select count(*) from waiting) + (select count(*) from in_flight)";
        until("its delivery is in flight, or waits", async || world.count(made).await > owner).await;
    }
    let in_flight = in_flight_of(&world, world.company).await;
    let timed_out = world.count("select count(*) from attempts where error = 'timeout'").await;
    assert!((16 - timed_out..=16).contains(&in_flight), "four times what is free: {in_flight}, and {timed_out} have timed out");
}

#[tokio::test]
async fn of_a_few_permits_each_company_gets_some_and_of_each_company_each_webhook() {
    for waits in [false, true] {
        let world = World::new().await;
        let receiver = world.endpoint("shop.test").await;
        for event in ["order.created", "driver.online"] {
            world.subscribe(&receiver, json!({ "events": [event] })).await;
        }
        let (other, _neighbour) = neighbour(&world).await;
        world.publish_many(5).await;
        world.publish("driver.online").await;
        world.publish_for(other, "order.created").await;
        if waits {
            world.fan_out().await;
        }
        let taken = match waits {
            true => world.state.webhooks.claim(3).await.unwrap(),
            false => world.state.webhooks.fan_out_and_claim(3).await.unwrap(),
        };
        let served: BTreeSet<_> = taken.iter().map(|claimed| claimed.subscription).collect();
        assert_eq!((taken.len(), served.len()), (3, 3), "they wait: {waits}");
    }
}

/// Holds the row of the webhook that the last slice of a company's fan-out comes to, so that it stands still.
async fn hold_last_webhook(world: &World, company: CompanyId) -> Transaction<'static> {
    let mut transaction = world.hold().await;
    let sql = "select from subscriptions where id = (select max(id::text)::uuid from subscriptions where company_id = $1) for update";
    sqlx::query(sql).bind(company.uuid()).execute(&mut *transaction).await.unwrap();
    transaction
}

const STANDS_STILL: &str = "select count(*) from pg_stat_activity
                            where datname = current_database() and wait_event_type = 'Lock' and query like '%outbox%'";

#[tokio::test]
async fn a_company_whose_fan_out_stands_still_delays_nobody() {
    let world = World::with(&[("webhooks.poll_interval", "1h"), PATIENT]).await;
    world.subscriber("shop.test").await;
    crowd(&world, world.company, 600).await;
    let (other, prompt) = neighbour(&world).await;
    let held = hold_last_webhook(&world, world.company).await;
    world.state.webhooks.start_worker(&world.lifecycle);
    world.publish("order.created").await;
    until("the second slice stands still", async || world.count(STANDS_STILL).await == 1).await;
    for count in 1..=10 {
        world.publish_for(other, "order.created").await;
        prompt.waits_for(count).await;
    }
    // Whoever waits looks for a deadlock now and then, and does not count as waiting meanwhile.
    until("it still stands still", async || world.count(STANDS_STILL).await == 1).await;
    held.rollback().await.unwrap();
    until("it is finished", async || world.count("select count(*) from outbox").await == 0).await;
}

#[tokio::test]
async fn what_one_instance_fans_out_another_passes_over() {
    let here = World::with(&[PATIENT]).await;
    let there = here.another_instance();
    here.subscriber("shop.test").await;
    let (other, _prompt) = neighbour(&here).await;
    let held = hold_last_webhook(&here, here.company).await;
    here.publish("order.created").await;
    let ours = here.state.webhooks.fan_out_and_claim(10);
    let theirs = async {
        until("ours stands still", async || here.count(STANDS_STILL).await == 1).await;
        here.publish_for(other, "order.created").await;
        let claimed = there.state.webhooks.fan_out_and_claim(10).await.unwrap();
        held.rollback().await.unwrap();
        claimed
    };
    let (ours, theirs) = tokio::join!(ours, theirs);
    assert_eq!(ours.unwrap().iter().map(|claimed| claimed.company).collect::<Vec<_>>(), [here.company]);
    assert_eq!(theirs.iter().map(|claimed| claimed.company).collect::<Vec<_>>(), [other]);
}

#[tokio::test]
async fn a_company_whose_claims_stand_still_delays_nobody() {
    let world = World::with(&[("webhooks.poll_interval", "1h"), ("webhooks.endpoint_concurrency", "1"), PATIENT]).await;
    world.subscriber("shop.test").await;
    let (other, prompt) = neighbour(&world).await;
    world.make_deliveries(2).await;
    let mut held = world.hold().await;
    let sql = "select from endpoints join subscriptions on id = subscription_id where company_id = $1 for update of endpoints";
    sqlx::query(sql).bind(world.company.uuid()).execute(&mut *held).await.unwrap();
    world.state.webhooks.start_worker(&world.lifecycle);
    let stands_still = "select count(*) from pg_stat_activity
                        where datname = current_database() and wait_event_type = 'Lock' and query like '%Takes due deliveries of one lane%'";
    until("the claim stands still", async || world.count(stands_still).await == 1).await;
    for round in 1..=5 {
        for _ in 0..3 {
            world.publish_for(other, "order.created").await;
        }
        prompt.waits_for(3 * round).await;
    }
    until("it still stands still", async || world.count(stands_still).await == 1).await;
}

/// The deliveries that wait in each lane.
async fn lanes(world: &World) -> Vec<(i16, i64)> {
    sqlx::query_as("select lane, count(*) from waiting group by lane order by lane").fetch_all(&world.pool).await.unwrap()
}

#[tokio::test]
async fn what_waits_behind_open_circuits_is_in_no_lane_and_returns_when_they_close() {
    let world = World::with(&[("webhooks.circuit.opens_after", "1")]).await;
    let (broken, _) = world.subscriber("broken.test").await;
    broken.will([Reply::status(500)]);
    world.make_deliveries(1).await;
    assert_eq!(world.deliver().await, 1);
    world.make_deliveries(4).await;
    assert_eq!(world.deliver().await, 0);
    assert_eq!(lanes(&world).await, [(4, 5)], "no claim visits the endpoint");

    world.pass(TimeDelta::seconds(30));
    broken.will([Reply::status(500)]);
    assert_eq!(world.deliver().await, 1, "one is sent on trial");
    assert_eq!(lanes(&world).await, [(4, 5)]);

    world.pass(TimeDelta::seconds(30));
    assert_eq!(world.deliver().await, 3, "the trial succeeds, and the others follow");
    assert_eq!(lanes(&world).await, [(1, 2)], "two wait for their second attempt");
    assert_eq!(world.count("select count(*) from endpoints where held_until is not null").await, 0);
    world.pass(TimeDelta::minutes(5));
    assert_eq!(world.deliver().await, 2);
    assert_eq!(world.count("select count(*) from deliveries where state = 'delivered'").await, 5);
}

#[tokio::test]
async fn a_trial_that_never_ends_is_followed_by_another() {
    let world = World::with(&[("webhooks.circuit.opens_after", "1")]).await;
    let (broken, _) = world.subscriber("broken.test").await;
    broken.will([Reply::status(500)]);
    world.make_deliveries(1).await;
    world.deliver().await;
    world.make_deliveries(2).await;
    assert_eq!(world.deliver().await, 0);
    world.pass(TimeDelta::seconds(30));
    assert_eq!(world.claim().await.len(), 1, "its worker dies");
    assert_eq!(world.claim().await.len(), 0);
    world.pass(TimeDelta::seconds(60));
    assert_eq!(world.deliver().await, 2);
}

#[tokio::test]
async fn a_chain_goes_on_when_its_held_head_is_cancelled() {
    let world = World::with(&[("webhooks.circuit.opens_after", "1")]).await;
    let (broken, _) = world.subscriber_in_order("broken.test").await;
    broken.will([Reply::status(500)]);
    for _ in 0..2 {
        world.publish_about(Uuid::from_u128(7), "order.updated").await;
    }
    assert_eq!(world.deliver().await, 1);
    assert_eq!(lanes(&world).await, [(2, 1), (4, 1)]);
    let head: Uuid = sqlx::query_scalar("select id from waiting where lane = 4").fetch_one(&world.pool).await.unwrap();
    world.developers(Method::POST, &format!("deliveries/{head}/cancel"), json!({})).await.ok(200);
    world.pass(TimeDelta::seconds(30));
    assert_eq!(world.deliver().await, 1);
    assert_eq!(broken.count(), 2);
}
