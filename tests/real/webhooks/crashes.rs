//! At-least-once delivery despite crashes: decisions, section 7, Delivery; architecture, An event.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use portico::events;
use portico::kernel::database::Connection;
use portico::kernel::lifecycle::Lifecycle;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::World;
use crate::support::own_postgres::OwnPostgres;
use crate::support::receiver::{Received, Receiver, Reply, event_ids};
use crate::support::subscribers::last_attempt;
use crate::support::waiting::until;

/// An endpoint that is waited for as long as any is: what the story does before it answers takes a while on a busy machine.
async fn patient_subscriber(world: &World) -> Receiver {
    let receiver = world.endpoint("shop.test").await;
    world.subscribe(&receiver, json!({ "timeout": 30 })).await;
    receiver
}

#[tokio::test]
async fn a_worker_killed_between_sending_and_recording_has_it_delivered_again_with_the_same_bytes_and_id() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    world.publish("order.created").await;
    world.fan_out().await;
    for claimed in world.state.webhooks.claim(10).await.unwrap() {
        // The event arrives, but the result is not recorded.
        drop(world.state.webhooks.send(claimed).await);
    }
    world.pass(TimeDelta::seconds(59));
    assert_eq!(world.deliver().await, 0, "the lease still holds");
    world.pass(TimeDelta::seconds(1));
    assert_eq!(world.deliver().await, 1);

    let [first, second]: [Received; 2] = receiver.received().try_into().unwrap();
    assert_eq!((first.body, first.headers["webhook-id"].clone()), (second.body.clone(), second.headers["webhook-id"].clone()));
    assert_eq!(first.headers["x-service-delivery"], second.headers["x-service-delivery"]);
    let delivery = world.last_delivery().await;
    assert_eq!(delivery["status"], "delivered");
    assert_eq!(delivery["attempts"][0]["error"], "interrupted", "the lost attempt is in the log");
    assert_eq!(last_attempt(&delivery), (Some(200), None));
}

#[tokio::test]
async fn a_worker_takes_nothing_before_its_first_sign_of_life() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    world.publish_many(3).await;
    let slow_signs_of_life = "
        create function hesitate() returns trigger language plpgsql as $$ begin perform pg_sleep(0.3); return new; end $$;
        create trigger hesitate before insert on workers for each row execute function hesitate();
        create table strangers (worker uuid);
        create function note_strangers() returns trigger language plpgsql as $$
        begin
            insert into strangers select new.worker where not exists (select from workers where id = new.worker);
            return new;
        end $$;
        create trigger note_strangers before insert on in_flight for each row execute function note_strangers();";
    sqlx::raw_sql(slow_signs_of_life).execute(&world.pool).await.unwrap();
    world.state.webhooks.start_worker(&world.lifecycle);
    receiver.waits_for(3).await;
    assert_eq!(world.count("select count(*) from strangers").await, 0, "if it died now, another one would notice");
}

#[tokio::test]
async fn an_interrupted_attempt_costs_no_retry_but_not_for_ever() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    world.publish("order.created").await;
    world.fan_out().await;
    for _ in 0..4 {
        assert_eq!(world.state.webhooks.claim(10).await.unwrap().len(), 1);
        world.pass(TimeDelta::seconds(60));
        world.state.webhooks.reclaim().await.unwrap();
    }
    receiver.will([Reply::status(500)]);
    world.deliver().await;
    world.pass(TimeDelta::minutes(5));
    assert_eq!(world.state.webhooks.claim(10).await.unwrap().len(), 1, "the first retry comes after the first wait");
    world.pass(TimeDelta::seconds(60));
    assert_eq!(world.deliver().await, 0);
    assert_eq!(world.last_delivery().await["status"], "failed", "a delivery whose worker died five times fails");
}

#[tokio::test]
async fn who_lost_the_lease_changes_nothing() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    receiver.will([Reply::status(500), Reply::status(200)]);
    world.publish("order.created").await;
    world.fan_out().await;
    let slow = world.state.webhooks.claim(10).await.unwrap().pop().unwrap();
    let slow = world.state.webhooks.send(slow).await;
    world.pass(TimeDelta::seconds(60));
    world.deliver().await;
    world.state.webhooks.record(&[slow]).await.unwrap();
    let delivery = world.last_delivery().await;
    assert_eq!((&delivery["status"], &delivery["attempt_count"]), (&json!("delivered"), &json!(2)));
    assert_eq!(delivery["attempts"][0]["error"], "interrupted");
}

#[tokio::test]
async fn who_lost_the_lease_does_not_end_the_newer_attempt() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    receiver.will([Reply::status(200), Reply::status(500)]);
    world.publish("order.created").await;
    world.fan_out().await;
    let slow = world.state.webhooks.claim(1).await.unwrap().pop().unwrap();
    let slow = world.state.webhooks.send(slow).await;
    world.pass(TimeDelta::seconds(60));
    world.state.webhooks.reclaim().await.unwrap();
    let newer = world.state.webhooks.claim(1).await.unwrap();
    world.state.webhooks.record(&[slow]).await.unwrap();
    assert_eq!(world.count("select count(*) from in_flight where attempts = 2").await, 1, "the second attempt is still in flight");
    assert_eq!(world.count("select sum(in_flight) from endpoints").await, 1);
    assert_eq!(world.last_delivery().await["attempts"].as_array().unwrap().len(), 1, "only the interrupted attempt is in the log");

    world.state.webhooks.send_and_record(newer).await.unwrap();
    let delivery = world.last_delivery().await;
    assert_eq!((&delivery["status"], &delivery["attempt_count"]), (&json!("retrying"), &json!(2)));
    assert_eq!((&delivery["attempts"][0]["error"], last_attempt(&delivery)), (&json!("interrupted"), (Some(500), None)));
}

#[tokio::test]
async fn what_a_dead_worker_had_in_flight_comes_back_when_it_has_missed_three_signs_of_life() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let dying = world.another_instance();
    dying.state.webhooks.beat().await.unwrap();
    world.state.webhooks.beat().await.unwrap();
    world.publish("order.created").await;
    let claimed = dying.state.webhooks.fan_out_and_claim(10).await.unwrap().pop().unwrap();
    let late = dying.state.webhooks.send(claimed).await;
    for _ in 0..2 {
        world.state.webhooks.beat().await.unwrap();
        assert_eq!(world.deliver().await, 0, "it may only be slow");
    }
    world.state.webhooks.beat().await.unwrap();
    assert_eq!(world.deliver().await, 1);
    assert_eq!(world.count("select count(*) from workers").await, 1, "the dead one is forgotten");

    // It was only stopped, and goes on.
    dying.state.webhooks.record(&[late]).await.unwrap();
    dying.state.webhooks.beat().await.unwrap();
    let delivery = world.last_delivery().await;
    assert_eq!((&delivery["status"], &delivery["attempt_count"]), (&json!("delivered"), &json!(2)), "the late result changes nothing");
    assert_eq!(delivery["attempts"][0]["error"], "interrupted");
    assert_eq!((world.count("select count(*) from workers").await, receiver.count()), (2, 2));
}

#[tokio::test]
async fn a_worker_that_gives_signs_of_life_keeps_what_it_has_in_flight_as_does_one_that_cannot_give_any() {
    let world = World::new().await;
    let (_receiver, _) = world.subscriber("shop.test").await;
    let [lively, former] = [(); 2].map(|()| world.another_instance());
    for instance in [&lively, &former] {
        world.publish("order.created").await;
        assert_eq!(instance.state.webhooks.fan_out_and_claim(10).await.unwrap().len(), 1);
    }
    for _ in 0..10 {
        lively.state.webhooks.beat().await.unwrap();
        world.state.webhooks.beat().await.unwrap();
        assert_eq!(world.state.webhooks.reclaim().await.unwrap(), 0);
    }
    world.pass(TimeDelta::seconds(60));
    assert_eq!(world.state.webhooks.reclaim().await.unwrap(), 2, "a lease ends all the same");
}

#[tokio::test]
async fn a_worker_that_stops_gives_signs_of_life_until_its_last_attempt_is_recorded() {
    let world = World::new().await;
    let receiver = patient_subscriber(&world).await;
    let answered = CancellationToken::new();
    receiver.will([Reply::When(answered.clone())]);
    world.publish("order.created").await;
    let lifecycle = Lifecycle::default();
    world.state.webhooks.start_worker(&lifecycle);
    receiver.waits_for(1).await;
    let signs = async || world.count("select coalesce(sum(beats), 0)::bigint from workers").await;
    let last_attempt = async {
        lifecycle.stopping().cancelled().await;
        let before = signs().await;
        until("two more signs of life are given", async || signs().await >= before + 2).await;
        answered.cancel();
    };
    tokio::join!(lifecycle.stop(), last_attempt);
    assert_eq!(world.count("select count(*) from deliveries where state = 'delivered'").await, 1);
}

#[tokio::test]
async fn recording_twice_records_once() {
    let world = World::new().await;
    let (_receiver, _) = world.subscriber("shop.test").await;
    world.publish("order.created").await;
    world.fan_out().await;
    let claimed = world.state.webhooks.claim(10).await.unwrap().pop().unwrap();
    let attempt = world.state.webhooks.send(claimed).await;
    for _ in 0..2 {
        world.state.webhooks.record(std::slice::from_ref(&attempt)).await.unwrap();
    }
    assert_eq!(world.count("select count(*) from attempts").await, 1);
}

#[tokio::test]
async fn two_workers_at_once_deliver_each_event_once() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let mut published = BTreeSet::new();
    for _ in 0..150 {
        published.insert(world.publish("order.created").await.to_string());
    }
    let lifecycle = Lifecycle::default();
    let there = world.another_instance();
    for instance in [&world, &there] {
        instance.state.webhooks.start_worker(&lifecycle);
    }
    receiver.waits_for(150).await;
    lifecycle.stop().await;
    assert_eq!((receiver.received().len(), event_ids(&receiver.received())), (150, published));
    assert_eq!(world.count("select count(*) from deliveries where state = 'delivered' and attempts = 1").await, 150);
}

#[tokio::test]
async fn the_worker_is_woken_by_a_commit_and_finishes_what_is_in_flight_when_it_stops() {
    let world = World::with(&[("webhooks.poll_interval", "1h")]).await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let lifecycle = Lifecycle::default();
    world.state.webhooks.start_worker(&lifecycle);
    for count in 1..=3 {
        world.publish("order.created").await;
        receiver.waits_for(count).await;
    }
    lifecycle.stop().await;
    assert_eq!(world.count("select count(*) from deliveries where state = 'delivered'").await, 3, "the last attempt is recorded too");
    world.publish("order.created").await;
    assert_eq!(world.count("select count(*) from outbox").await, 1, "no worker takes the event");
}

/// Does everything that is due after an outage: a connection that was lost a moment ago may be in the pool.
async fn everything_due_is_done(world: &World) {
    until("everything due is done", async || world.state.webhooks.run_due().await.is_ok()).await;
}

async fn number(conn: &mut Connection, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(conn).await.unwrap()
}

#[tokio::test]
async fn a_database_that_goes_away_and_comes_back_loses_nothing() {
    let mut database = OwnPostgres::start().await;
    let world = World::on(&database.url(), &[("webhooks.endpoint_concurrency", "2")]).await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let mut published = world.publish_many(40).await;
    let lifecycle = Lifecycle::default();
    world.state.webhooks.start_worker(&lifecycle);
    receiver.waits_for(10).await;
    database.go_away().await;
    database.come_back().await;
    let mut conn = database.connect().await;
    let event = world.new_event(world.company, "order.updated", None);
    published.insert(events::publish(&mut conn, event, world.clock.now()).await.unwrap().to_string());
    receiver.waits_until(|posts| event_ids(posts) == published).await;
    lifecycle.stop().await;
    // Deliveries that the outage interrupted between claiming and recording are still leased.
    world.pass(TimeDelta::seconds(60));
    everything_due_is_done(&world).await;
    assert_eq!(number(&mut conn, "select count(*) from deliveries where state = 'delivered'").await, 41);
    assert_eq!(event_ids(&receiver.received()), published);
    drop(conn);
    database.end(world).await;
}

#[tokio::test]
async fn a_database_that_loses_its_last_moments_loses_no_event() {
    const EVENTS: usize = 300;
    let mut database = OwnPostgres::start().await;
    let world = World::on(&database.url(), &[("webhooks.endpoint_concurrency", "5")]).await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let published = world.publish_many(EVENTS).await;
    let lifecycle = Lifecycle::default();
    world.state.webhooks.start_worker(&lifecycle);
    receiver.waits_for(100).await;
    database.crash().await;
    database.come_back().await;
    // Deliveries whose recorded result was lost are claimed again after their lease.
    world.pass(TimeDelta::seconds(60));
    receiver.waits_until(|posts| event_ids(posts) == published).await;
    lifecycle.stop().await;
    everything_due_is_done(&world).await;
    let mut conn = database.connect().await;
    assert_eq!(number(&mut conn, "select count(*) from deliveries where state = 'delivered'").await, EVENTS as i64);
    assert_eq!(number(&mut conn, "select count(*) from delivery_log").await, EVENTS as i64);
    assert_eq!(number(&mut conn, "select sum(in_flight)::bigint from endpoints").await, 0);
    drop(conn);
    database.end(world).await;
}

#[tokio::test]
async fn what_an_outage_keeps_from_being_written_down_is_not_sent_again_however_long_it_is() {
    let mut database = OwnPostgres::start().await;
    let world = World::on(&database.url(), &[("webhooks.poll_interval", "10ms")]).await;
    let receiver = patient_subscriber(&world).await;
    let answered = CancellationToken::new();
    receiver.will(std::iter::repeat_n(Reply::When(answered.clone()), 10));
    world.publish_many(10).await;
    let lifecycle = Lifecycle::default();
    world.state.webhooks.start_worker(&lifecycle);
    receiver.waits_for(10).await;
    database.go_away().await;
    answered.cancel();
    // Longer than a lease.
    world.pass(TimeDelta::minutes(10));
    database.come_back().await;
    let mut conn = database.connect().await;
    let event = world.new_event(world.company, "order.updated", None);
    events::publish(&mut conn, event, world.clock.now()).await.unwrap();
    receiver.waits_for(11).await;
    lifecycle.stop().await;
    everything_due_is_done(&world).await;
    assert_eq!(receiver.count(), 11);
    assert_eq!(number(&mut conn, "select count(*) from attempts where status = 200").await, 11);
    drop(conn);
    database.end(world).await;
}
