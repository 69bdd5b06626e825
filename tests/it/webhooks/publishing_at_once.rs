//! An event that nothing is in the way of is fanned out by the statement that publishes it, and never in the outbox. Every other one goes the usual
//! way: decisions, section 7, Publishing from outside.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::TimeDelta;
use futures::future::{join, join_all};
use portico::callers::{Caller, Scope};
use portico::events::{self, Outbox};
use portico::kernel::database::Notifications;
use portico::kernel::ids::{EventId, OrderId};
use portico::kernel::lifecycle::Lifecycle;
use portico::webhooks;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::support::World;
use crate::support::collector::Collector;
use crate::support::fleet::id;
use crate::support::receiver::{Receiver, Reply, event_ids};
use crate::support::waiting::{in_time, until};

/// The events and deliveries that are not at their end.
const OPEN: &str = "select (select count(*) from outbox) + (select count(*) from waiting) + (select count(*) from in_flight)";
/// What is held stands still for as long as the story takes, on a busy machine too.
const PATIENT: (&str, &str) = ("database.statement_timeout", "1m");
/// The publisher's statement waits for a lock.
const STANDS_STILL: &str = "select count(*) from pg_stat_activity
                            where datname = current_database() and wait_event_type = 'Lock' and query like 'with head as materialized%'";
/// Nothing is found by polling.
const UNPOLLED: (&str, &str) = ("webhooks.poll_interval", "1h");

/// A world that sends at once what it can.
async fn prompt(changes: &[(&str, &str)]) -> World {
    let world = World::with(changes).await;
    world.sends_at_once(&world.lifecycle).await;
    world
}

/// An endpoint that wants new orders.
async fn wanting_orders(world: &World, name: &str, more: Value) -> (Receiver, Value) {
    let receiver = world.endpoint(name).await;
    let mut body = json!({ "events": ["order.created"] });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let webhook = world.subscribe(&receiver, body).await;
    (receiver, webhook)
}

async fn delivered(world: &World, deliveries: i64) {
    let count = "select count(*) from deliveries where state = 'delivered' and attempts = 1";
    until("everything is recorded as delivered", async || world.count(count).await == deliveries).await;
    assert_eq!(world.count("select coalesce(sum(in_flight), 0)::bigint from endpoints").await, 0);
}

#[tokio::test]
async fn an_event_that_nothing_is_in_the_way_of_is_in_flight_when_its_publisher_is_answered() {
    let world = prompt(&[UNPOLLED]).await;
    let (one, _) = wanting_orders(&world, "one.test", json!({})).await;
    let (two, _) = wanting_orders(&world, "two.test", json!({})).await;
    let answers = CancellationToken::new();
    for receiver in [&one, &two] {
        receiver.will([Reply::When(answers.clone())]);
    }
    let event = world.publish_alone("order.created").await;
    assert!(!world.was_in_the_outbox(event).await);
    let in_flight = "select count(*) from in_flight where attempts = 1 and event = 'order.created' and worker in (select id from workers)";
    assert_eq!(world.count(in_flight).await, 2);
    assert_eq!(world.count("select sum(in_flight) from endpoints").await, 2);
    join(one.waits_for(1), two.waits_for(1)).await;
    answers.cancel();
    delivered(&world, 2).await;
    let stored: Vec<u8> =
        sqlx::query_scalar("select body from events where id = $1").bind(event.uuid()).fetch_one(&world.pool).await.unwrap();
    assert_eq!([one.only().body, two.only().body], [stored.clone(), stored]);
    assert_eq!(one.only().header("webhook-id"), event.to_string());
}

#[tokio::test]
async fn it_is_logged_numbered_and_counted_like_any_other() {
    let world = prompt(&[UNPOLLED]).await;
    let published = async || Outbox::read(&mut world.pool.acquire().await.unwrap()).await.unwrap().published;
    let before = published().await;
    let event = world.publish_alone("order.created").await;
    assert!(!world.was_in_the_outbox(event).await);
    assert_eq!(world.count("select count(*) from delivery_log").await, 0, "no webhook wants it: it is in the feed alone");
    assert_eq!(published().await, before + 1);
    let events = world.count("select count(*) from events").await;
    assert_eq!(world.count("select max(number) from feed where company_id = (select company_id from feed_heads)").await, events);
    assert_eq!(world.count("select count(distinct number) from feed").await, events);
    assert_eq!(world.count("select last from feed_heads").await, events);
    assert_eq!(world.count("select sum(events)::bigint from event_hours").await, events);
    let logged = world.get(&format!("events/{event}")).await["event"].take();
    assert_eq!((&logged["event"], &logged["subject"]), (&json!("order.created"), &json!(null)));
    assert!(logged["request_id"].is_string());
}

#[tokio::test]
async fn an_event_with_an_owner_is_for_the_webhooks_of_that_owner_and_those_of_nobody() {
    let world = prompt(&[UNPOLLED]).await;
    let (of_all, _) = wanting_orders(&world, "all.test", json!({})).await;
    let (of_one, _) = wanting_orders(&world, "one.test", json!({ "owner": "tenant-1" })).await;
    let (of_other, _) = wanting_orders(&world, "other.test", json!({ "owner": "tenant-2" })).await;
    let mut body = world.sample_of("order.created");
    body["owner"] = json!("tenant-1");
    let event = world.developers(Method::POST, "events", body).await.ok(201)["event"]["id"].as_str().unwrap().parse().unwrap();
    assert!(!world.was_in_the_outbox(event).await);
    join(of_all.waits_for(1), of_one.waits_for(1)).await;
    delivered(&world, 2).await;
    assert_eq!(of_other.count(), 0);
}

#[tokio::test]
async fn other_instances_hear_of_an_event_that_waits_for_nobody() {
    let here = prompt(&[]).await;
    let there = here.another_instance();
    let mut stream = there.stream("", None).await;
    let mut heard = Notifications::listen(&there.pool, &[events::PUBLISHED]).await.unwrap();
    // Those of the first events may still arrive.
    while timeout(Duration::from_millis(100), heard.next()).await.is_ok() {}
    let event = here.publish_alone("order.created").await;
    assert!(!here.was_in_the_outbox(event).await);
    in_time("they are notified", heard.next()).await.unwrap();
    assert_eq!(stream.next().await.unwrap().id, event.to_string());
}

#[tokio::test]
async fn up_to_sixteen_webhooks_get_an_event_at_once_and_more_of_them_a_moment_later() {
    let world = prompt(&[UNPOLLED]).await;
    let receiver = world.endpoint("crowd.test").await;
    for _ in 0..16 {
        world.subscribe(&receiver, json!({ "events": ["order.created"] })).await;
    }
    let event = world.publish_alone("order.created").await;
    assert!(!world.was_in_the_outbox(event).await);
    delivered(&world, 16).await;
    world.subscribe(&receiver, json!({ "events": ["order.created"] })).await;
    let event = world.publish_alone("order.created").await;
    assert!(world.was_in_the_outbox(event).await);
    delivered(&world, 16 + 17).await;
    assert_eq!(receiver.count(), 16 + 17);
}

#[tokio::test]
async fn a_webhook_that_wants_a_pace_or_an_order_or_is_paused_gets_it_by_the_outbox() {
    for more in [json!({ "rate_limit": 10 }), json!({ "ordering": "resource" }), json!({ "status": "paused" })] {
        let world = prompt(&[UNPOLLED]).await;
        let (plain, _) = wanting_orders(&world, "plain.test", json!({})).await;
        let (receiver, webhook) = wanting_orders(&world, "other.test", more.clone()).await;
        let event = world.publish_alone("order.created").await;
        assert!(world.was_in_the_outbox(event).await, "{more}");
        plain.waits_for(1).await;
        if more["status"] == "paused" {
            until("its delivery is held", async || world.count("select count(*) from waiting").await == 1).await;
            assert_eq!(receiver.count(), 0);
            world.developers(Method::POST, &format!("webhooks/{}/resume", id(&webhook)), json!({})).await.ok(200);
        }
        receiver.waits_for(1).await;
        delivered(&world, 2).await;
    }
}

#[tokio::test]
async fn an_endpoint_that_fails_or_asks_for_silence_is_left_alone() {
    for reply in [Reply::status(500), Reply::with(429, "retry-after", "60")] {
        let world = prompt(&[("webhooks.circuit.opens_after", "1")]).await;
        let (receiver, _) = wanting_orders(&world, "shop.test", json!({})).await;
        receiver.will([reply.clone()]);
        let failed = world.publish_alone("order.created").await;
        assert!(!world.was_in_the_outbox(failed).await);
        let left_alone = "select count(*) from endpoints where in_flight = 0 and open_until is not null";
        until("its circuit is open", async || world.count(left_alone).await == 1).await;
        let held = world.publish_alone("order.created").await;
        assert!(world.was_in_the_outbox(held).await, "{reply:?}");
        until("its delivery waits", async || world.count("select count(*) from waiting").await == 2).await;
        assert_eq!(receiver.count(), 1);
        world.pass(TimeDelta::minutes(5));
        let all = async || world.count("select count(*) from deliveries where state = 'delivered'").await == 2;
        until("both are delivered", all).await;
    }
}

#[tokio::test]
async fn an_endpoint_that_has_all_it_may_have_from_another_instance_gets_no_more() {
    let here = World::with(&[("webhooks.endpoint_concurrency", "1")]).await;
    let there = here.another_instance();
    let (receiver, _) = wanting_orders(&here, "shop.test", json!({})).await;
    here.publish("order.created").await;
    let claimed = there.state.webhooks.fan_out_and_claim(1).await.unwrap();
    assert_eq!(claimed.len(), 1);
    here.sends_at_once(&here.lifecycle).await;
    let event = here.publish_alone("order.created").await;
    assert!(here.was_in_the_outbox(event).await);
    until("its delivery waits", async || here.count("select count(*) from waiting").await == 1).await;
    assert_eq!((receiver.count(), here.count("select sum(in_flight) from endpoints").await), (0, 1));
    there.state.webhooks.send_and_record(claimed).await.unwrap();
    delivered(&here, 2).await;
}

#[tokio::test]
async fn while_a_company_has_four_deliveries_in_flight_its_events_line_up_and_those_of_others_do_not() {
    let world = prompt(&[UNPOLLED]).await;
    let (other, key) = world.another_company(&[Scope::Events]).await;
    let publish_for_other = async || {
        let request = world.api(Method::POST, "/developers/int/v1/events").key(&key).json(&world.sample_of("order.created"));
        request.send().await.ok(201)["event"]["id"].as_str().unwrap().parse::<EventId>().unwrap()
    };
    until("the other company has a feed", async || !world.was_in_the_outbox(publish_for_other().await).await).await;
    let (receiver, _) = wanting_orders(&world, "shop.test", json!({})).await;
    let answer = CancellationToken::new();
    receiver.will([(); 4].map(|()| Reply::When(answer.clone())));
    let mut published = Vec::new();
    for number in 0..7 {
        published.push(world.publish_alone("order.created").await);
        assert!(!world.was_in_the_outbox(publish_for_other().await).await);
        assert_eq!(world.was_in_the_outbox(published[number]).await, number >= 4, "event {number}");
    }
    answer.cancel();
    delivered(&world, 7).await;
    let fed: Vec<Uuid> = sqlx::query_scalar(
        "select id from feed join events on events.id = event_id where feed.company_id <> $1 and name = 'order.created' order by number",
    )
    .bind(other.uuid())
    .fetch_all(&world.pool)
    .await
    .unwrap();
    assert_eq!(fed.into_iter().map(EventId::from).collect::<Vec<_>>(), published, "the feed is in the order of publishing");
}

#[tokio::test]
async fn a_publisher_waits_for_nobody_and_what_is_locked_makes_its_event_wait() {
    for lock in [
        "select from subscriptions for update",
        "select from endpoints for update",
        "select from feed_heads for update",
        "select from event_hours for update",
    ] {
        let world = prompt(&[UNPOLLED, PATIENT]).await;
        let (receiver, _) = wanting_orders(&world, "shop.test", json!({})).await;
        let mut held = world.pool.begin().await.unwrap();
        sqlx::query(lock).execute(&mut *held).await.unwrap();
        let event = in_time("the publisher is answered", world.publish_alone("order.created")).await;
        assert!(world.was_in_the_outbox(event).await, "{lock}");
        assert_eq!(receiver.count(), 0, "{lock}");
        held.rollback().await.unwrap();
        receiver.waits_for(1).await;
    }
}

#[tokio::test]
async fn what_is_published_otherwise_goes_by_the_outbox() {
    let world = prompt(&[UNPOLLED]).await;
    let (receiver, _) = wanting_orders(&world, "shop.test", json!({})).await;
    let with = |member: &str, value: Value| {
        let mut body = world.sample_of("order.created");
        body[member] = value;
        body
    };
    let about_a_record = with("subject", json!(OrderId::new(world.clock.now())));
    let once = with("idempotency_key", json!("web-1042"));
    let several = json!({ "events": [world.sample_of("order.created"), world.sample_of("order.created")] });
    for body in [about_a_record, once, several] {
        let answer = world.developers(Method::POST, "events", body).await.ok(201);
        let ids = answer["events"].as_array().cloned().unwrap_or_else(|| vec![answer["event"].clone()]);
        for event in ids {
            assert!(world.was_in_the_outbox(event["id"].as_str().unwrap().parse().unwrap()).await, "{answer}");
        }
    }
    delivered(&world, 4).await;
    assert_eq!(receiver.count(), 4);
}

#[tokio::test]
async fn an_instance_without_a_worker_leaves_its_events_to_others() {
    let world = World::new().await;
    world.note_the_outbox().await;
    let (receiver, _) = wanting_orders(&world, "shop.test", json!({})).await;
    for _ in 0..3 {
        let event = world.publish_alone("order.created").await;
        assert!(world.was_in_the_outbox(event).await);
        assert_eq!(world.deliver().await, 1);
    }
    assert_eq!(receiver.count(), 3);
}

#[tokio::test]
async fn a_worker_that_stops_ends_what_was_sent_at_once_and_takes_nothing_more() {
    let (world, lifecycle) = (World::with(&[UNPOLLED]).await, Lifecycle::default());
    world.sends_at_once(&lifecycle).await;
    let (receiver, _) = wanting_orders(&world, "shop.test", json!({})).await;
    let answer = CancellationToken::new();
    receiver.will([Reply::When(answer.clone())]);
    let last = world.publish_alone("order.created").await;
    receiver.waits_for(1).await;
    let answering = async {
        lifecycle.stopping().cancelled().await;
        answer.cancel();
    };
    tokio::join!(lifecycle.stop(), answering);
    delivered(&world, 1).await;
    let late = world.publish_alone("order.created").await;
    assert_eq!((world.was_in_the_outbox(last).await, world.was_in_the_outbox(late).await), (false, true));
    assert_eq!((receiver.count(), world.count("select count(*) from outbox").await), (1, 1));
}

#[tokio::test]
async fn what_is_recorded_in_a_trace_is_fanned_out_where_that_is_recorded() {
    let collector = Collector::start().await;
    let world = World::with(&[("traces.endpoint", &collector.url())]).await;
    world.note_the_outbox().await;
    let lifecycle = Lifecycle::default();
    world.state.webhooks.start_worker(&lifecycle);
    until("the worker lives", async || world.count("select count(*) from workers").await == 1).await;
    for _ in 0..5 {
        let event = world.publish_alone("order.created").await;
        assert!(world.was_in_the_outbox(event).await);
        until("it is fanned out", async || world.count(OPEN).await == 0).await;
    }
    lifecycle.stop().await;
    world.state.traces.stop().await;
    let spans = collector.spans().await;
    assert_eq!(spans.iter().filter(|span| span.name == "fan out order.created").count(), 5);
}

#[tokio::test]
async fn nothing_is_sent_for_a_company_that_is_suspended_by_a_request_from_before() {
    let world = prompt(&[UNPOLLED]).await;
    let (receiver, _) = wanting_orders(&world, "shop.test", json!({})).await;
    let caller = Caller::command_line(world.company);
    // As a command does: this instance admits requests for another second.
    let mut conn = world.pool.acquire().await.unwrap();
    assert!(webhooks::suspend_company(&mut conn, &caller, world.clock.now()).await.unwrap());
    let event = world.publish_alone("order.created").await;
    assert!(world.was_in_the_outbox(event).await);
    until("its delivery is held", async || world.count("select count(*) from waiting").await == 1).await;
    assert_eq!(receiver.count(), 0);
    assert!(webhooks::resume_company(&mut conn, &caller, world.clock.now()).await.unwrap());
    receiver.waits_for(1).await;
}

#[tokio::test]
async fn a_company_on_its_way_to_another_cell_keeps_its_events_in_the_outbox() {
    let world = prompt(&[]).await;
    let mut conn = world.pool.acquire().await.unwrap();
    webhooks::prepare_move(&mut conn, world.company, "b", world.clock.now()).await.unwrap();
    let prepared = world.publish_alone("order.created").await;
    assert!(!world.was_in_the_outbox(prepared).await, "it is still here");
    assert!(webhooks::freeze_for_move(&mut conn, world.company, world.clock.now()).await.unwrap());
    let leaving = world.publish_alone("order.created").await;
    assert!(world.was_in_the_outbox(leaving).await);
    assert_eq!(world.count("select count(*) from outbox").await, 1);
    webhooks::undo_move(&mut conn, world.company).await.unwrap();
    until("it is fanned out", async || world.count(OPEN).await == 0).await;
}

#[tokio::test]
async fn the_deliveries_of_a_company_that_is_about_to_move_are_held() {
    let world = prompt(&[]).await;
    let (receiver, _) = wanting_orders(&world, "shop.test", json!({})).await;
    let mut conn = world.pool.acquire().await.unwrap();
    webhooks::prepare_move(&mut conn, world.company, "b", world.clock.now()).await.unwrap();
    let event = world.publish_alone("order.created").await;
    assert!(world.was_in_the_outbox(event).await);
    until("its delivery is held", async || world.count("select count(*) from waiting").await == 1).await;
    assert_eq!(receiver.count(), 0);
    webhooks::undo_move(&mut conn, world.company).await.unwrap();
    receiver.waits_for(1).await;
}

#[tokio::test]
async fn who_goes_away_while_an_event_is_published_has_published_it_once() {
    let world = prompt(&[UNPOLLED, PATIENT]).await;
    let (receiver, _) = wanting_orders(&world, "shop.test", json!({})).await;
    let mut held = world.pool.begin().await.unwrap();
    sqlx::query("lock table events in exclusive mode").execute(&mut *held).await.unwrap();
    let stands_still = until("the statement stands still", async || world.count(STANDS_STILL).await == 1);
    tokio::select! {
        event = world.publish_alone("order.created") => panic!("{event} is published although nobody can write"),
        () = stands_still => {}
    }
    held.rollback().await.unwrap();
    receiver.waits_for(1).await;
    delivered(&world, 1).await;
    assert_eq!(world.count("select count(*) from events where name = 'order.created'").await, 1);
    assert_eq!(receiver.count(), 1);
}

/// Changes a webhook, or makes and deletes another one, in turns.
async fn change(world: &World, round: usize, webhook: &Value, other: &mut Option<Value>, receiver: &Receiver) {
    let act = async |word: &str| {
        world.developers(Method::POST, &format!("webhooks/{}/{word}", id(webhook)), json!({})).await.ok(200);
    };
    match round % 5 {
        0 => act("pause").await,
        1 => act("resume").await,
        2 => *other = Some(world.subscribe(receiver, json!({ "events": ["order.created"] })).await),
        3 => {
            let path = format!("webhooks/{}", id(webhook));
            let body = json!({ "description": format!("Round {round}") });
            world.developers(Method::PUT, &path, body).await.ok(200);
        }
        _ => {
            let deleted = other.take().unwrap();
            world.developers(Method::DELETE, &format!("webhooks/{}", id(&deleted)), json!({})).await;
        }
    }
}

#[tokio::test]
async fn whatever_is_changed_meanwhile_each_event_arrives_once_at_each_webhook_that_wants_it() {
    const ROUNDS: usize = 25;
    let here = prompt(&[]).await;
    let there = here.another_instance();
    there.state.webhooks.start_worker(&there.lifecycle);
    let (steady, _) = wanting_orders(&here, "steady.test", json!({})).await;
    let (changing, webhook) = wanting_orders(&here, "changing.test", json!({})).await;
    let passing = here.endpoint("passing.test").await;
    let (mut published, mut other) = (BTreeSet::new(), None);
    for round in 0..ROUNDS {
        // In the last round of each turn many publish, in the others two.
        let publishers = if round % 5 == 4 { 50 } else { 2 };
        let publishing = join_all((0..publishers).map(|number| [&here, &there][number % 2].publish_alone("order.created")));
        let (events, ()) = join(publishing, change(&here, round, &webhook, &mut other, &passing)).await;
        published.extend(events);
        steady.waits_for(published.len()).await;
        until("nothing is in flight", async || here.count("select count(*) from in_flight").await == 0).await;
    }
    until("everything has come to its end", async || here.count(OPEN).await == 0).await;
    let ids: BTreeSet<_> = published.iter().map(ToString::to_string).collect();
    for receiver in [&steady, &changing] {
        assert_eq!((receiver.count(), event_ids(&receiver.received())), (ids.len(), ids.clone()));
    }
    assert_eq!(event_ids(&passing.received()).len(), passing.count(), "none arrives twice at a webhook that comes and goes");
    let twice = "select count(*) from (select from deliveries group by event_id, subscription_id having count(*) > 1) as twice";
    assert_eq!(here.count(twice).await, 0);
    assert_eq!(here.count("select sum(in_flight) from endpoints").await, 0);
    let events = here.count("select count(*) from events").await;
    let in_the_feed = "select count(distinct number) from feed where number between 1 and (select last from feed_heads)";
    assert_eq!((here.count(in_the_feed).await, here.count("select last from feed_heads").await), (events, events));
    assert_eq!(here.count("select sum(events)::bigint from event_hours").await, events);
    let waited = here.count("select count(*) from noted join events on id = event_id where name = 'order.created'").await;
    assert!((1..published.len() as i64).contains(&waited), "{waited} of {} were in the outbox", published.len());
}
