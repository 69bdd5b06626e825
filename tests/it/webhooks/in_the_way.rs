//! What keeps a delivery from flying straight to its endpoint, one thing at a time: for events that are fanned out, and for one that is published
//! alone. No worker runs, and what the statements take into flight is collected.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use portico::kernel::ids::EventId;
use portico::webhooks::Claimed;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::World;
use crate::support::fleet::id;

/// What can be in the way at every endpoint that there is.
const AT_ENDPOINTS: [&str; 6] = [
    "update endpoints set in_flight = 50",
    "update endpoints set open_until = '2026-05-21T11:00:00Z'",
    "update endpoints set silent_until = '2026-05-21T11:00:00Z'",
    "update endpoints set held_until = '2026-05-21T11:00:00Z'",
    "update endpoints set paused = true",
    "insert into waiting (id, company_id, subscription_id, event_id, event, lane, due_at, created_at, updated_at)
     select gen_random_uuid(), company_id, id, gen_random_uuid(), 'order.created', 0, created_at, created_at, created_at from subscriptions",
];

/// A world in which nothing is in the way of the next event: the company has a feed, and has had an event in this hour.
async fn quiet() -> World {
    let world = World::new().await;
    world.publish("driver.offline").await;
    world.fan_out().await;
    world
}

/// Publishes an event alone, and returns the deliveries that are taken into flight with it.
async fn published_alone(world: &World, body: Value) -> (EventId, Vec<Claimed>) {
    let mut event: Option<EventId> = None;
    let publishing = async {
        let answer = world.developers(Method::POST, "events", body).await.ok(201);
        event = Some(answer["event"]["id"].as_str().unwrap().parse().unwrap());
    };
    let launched = world.state.webhooks.launched_during(publishing).await;
    (event.unwrap(), launched)
}

/// Publishes a new order alone, and returns the number of deliveries that are taken into flight with it.
async fn launched(world: &World) -> usize {
    published_alone(world, world.sample_of("order.created")).await.1.len()
}

/// The webhooks of deliveries, each once.
fn webhooks(deliveries: &[Claimed]) -> BTreeSet<String> {
    deliveries.iter().map(|claimed| claimed.subscription.to_string()).collect()
}

#[tokio::test]
async fn nothing_is_fanned_out_straight_to_an_endpoint_with_something_in_the_way() {
    for in_the_way in AT_ENDPOINTS {
        let world = World::new().await;
        let (_busy, _) = world.subscriber("busy.test").await;
        sqlx::query(in_the_way).execute(&world.pool).await.unwrap();
        let (_free, free) = world.subscriber("free.test").await;
        let event = world.publish("order.updated").await;
        let flown = world.state.webhooks.fan_out_and_claim(10).await.unwrap();
        assert_eq!((flown.len(), webhooks(&flown)), (1, BTreeSet::from([id(&free).to_owned()])), "{in_the_way}");
        assert_eq!(flown[0].event, event);
        assert_eq!(world.count("select count(*) from waiting where lane = 0 and event = 'order.updated'").await, 1, "{in_the_way}");
    }
}

#[tokio::test]
async fn an_event_that_is_published_alone_waits_for_an_endpoint_with_something_in_the_way() {
    for in_the_way in AT_ENDPOINTS {
        let world = quiet().await;
        let (_receiver, _) = world.subscriber("shop.test").await;
        let (_, flown) = published_alone(&world, world.sample_of("order.created")).await;
        assert_eq!(flown.len(), 1, "nothing is in the way");
        world.state.webhooks.send_and_record(flown).await.unwrap();
        sqlx::query(in_the_way).execute(&world.pool).await.unwrap();
        assert_eq!((launched(&world).await, world.count("select count(*) from outbox").await), (0, 1), "{in_the_way}");
    }
}

#[tokio::test]
async fn who_takes_deliveries_waits_for_their_endpoints_one_after_the_other_and_sees_how_each_was_left() {
    for waits in [false, true] {
        let world = World::new().await;
        let (_one, _) = world.subscriber("one.test").await;
        let (_two, _) = world.subscriber("two.test").await;
        world.publish("order.created").await;
        if waits {
            world.fan_out().await;
        }
        let mut other = world.hold().await;
        let pause = "update endpoints set paused = true
                     where subscription_id = (select subscription_id from endpoints order by subscription_id limit 1)";
        sqlx::query(pause).execute(&mut *other).await.unwrap();
        let paused = async {
            world.somebody_waits().await;
            let free = world.count("select count(*) from (select from endpoints for update skip locked) as free").await;
            other.commit().await.unwrap();
            free
        };
        let taking = async {
            match waits {
                true => world.claim().await,
                false => world.state.webhooks.fan_out_and_claim(10).await.unwrap(),
            }
        };
        let (taken, free) = tokio::join!(taking, paused);
        assert_eq!(free, 1, "they are locked in the order of their ids; they wait: {waits}");
        assert_eq!((taken.len(), world.count("select count(*) from waiting").await), (1, 1), "they wait: {waits}");
    }
}

#[tokio::test]
async fn no_event_overtakes_those_of_its_company_that_are_in_the_outbox() {
    let world = quiet().await;
    let (_receiver, _) = world.subscriber("shop.test").await;
    let (other, _) = world.another_company(&[]).await;
    world.publish_for(other, "order.created").await;
    assert_eq!(launched(&world).await, 1, "those of another company are in nobody's way");
    let first = world.publish("order.created").await;
    let (second, flown) = published_alone(&world, world.sample_of("order.created")).await;
    assert_eq!((flown.len(), world.count("select count(*) from outbox").await), (0, 3));
    world.fan_out().await;
    let last = sqlx::query_scalar("select event_id from feed where company_id = $1 order by number desc limit 2");
    let last: Vec<Uuid> = last.bind(world.company.uuid()).fetch_all(&world.pool).await.unwrap();
    assert_eq!(last, [second.uuid(), first.uuid()]);
}

#[tokio::test]
async fn the_first_event_of_an_hour_goes_by_the_outbox_and_those_after_it_are_counted_with_it() {
    let world = quiet().await;
    world.pass(TimeDelta::hours(1));
    let (_receiver, _) = world.subscriber("shop.test").await;
    assert_eq!(launched(&world).await, 0);
    assert_eq!(world.deliver().await, 1);
    // This one does not know that something was in the way a moment ago.
    let there = world.another_instance();
    assert_eq!(launched(&there).await, 1);
    assert_eq!(world.count("select events from event_hours order by hour desc limit 1").await, 2);
}

#[tokio::test]
async fn an_event_that_is_published_alone_flies_to_the_webhooks_that_want_it_and_to_no_other() {
    let world = quiet().await;
    let receiver = world.endpoint("shop.test").await;
    let mut wanting = BTreeSet::new();
    for events in [json!([]), json!(["*"]), json!(["order.*"]), json!(["order.created"]), json!(["driver.online", "order.created"])] {
        wanting.insert(id(&world.subscribe(&receiver, json!({ "events": events })).await).to_owned());
    }
    for events in [json!(["driver.*"]), json!(["order.updated"])] {
        world.subscribe(&receiver, json!({ "events": events })).await;
    }
    let (_, flown) = published_alone(&world, world.sample_of("order.created")).await;
    assert_eq!((flown.len(), webhooks(&flown)), (5, wanting));
}

#[tokio::test]
async fn an_event_that_has_to_wait_keeps_its_owner() {
    let world = quiet().await;
    let receiver = world.endpoint("shop.test").await;
    let mut wanting = BTreeSet::new();
    for owner in [json!(null), json!("tenant-1")] {
        wanting.insert(id(&world.subscribe(&receiver, json!({ "events": ["order.created"], "owner": owner })).await).to_owned());
    }
    world.subscribe(&receiver, json!({ "events": ["order.created"], "owner": "tenant-2" })).await;
    world.publish("driver.online").await;
    let mut body = world.sample_of("order.created");
    body["owner"] = json!("tenant-1");
    let (_, flown) = published_alone(&world, body).await;
    assert_eq!(flown.len(), 0, "an event is in the outbox");
    let flown = world.state.webhooks.fan_out_and_claim(10).await.unwrap();
    assert_eq!((flown.len(), webhooks(&flown)), (2, wanting));
}

#[tokio::test]
async fn what_reaches_the_server_too_late_is_not_published_alone() {
    let world = quiet().await;
    let (_receiver, _) = world.subscriber("shop.test").await;
    // As if every statement did.
    let late = "create or replace function must_not_be_late(answer_by timestamptz) returns boolean language plpgsql volatile as $$
                begin raise query_canceled using message = 'the statement arrived after its caller had given up'; end $$";
    sqlx::query(late).execute(&world.pool).await.unwrap();
    let refused = async {
        world.developers(Method::POST, "events", world.sample_of("order.created")).await.refused(503, "overloaded");
    };
    assert_eq!(world.state.webhooks.launched_during(refused).await.len(), 0);
    assert_eq!(world.count("select count(*) from events where name = 'order.created'").await, 0);
    assert_eq!(world.count("select (select count(*) from outbox) + (select count(*) from in_flight)").await, 0);
    assert_eq!(world.count("select last from feed_heads").await, 1);
}
