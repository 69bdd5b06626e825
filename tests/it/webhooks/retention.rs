//! The retention of events, deliveries and attempts: decisions, section 7, Retention.

use chrono::TimeDelta;
use futures::future::join_all;
use portico::events;
use portico::kernel::ids::OrderId;
use portico::kernel::problem::{Problem, ProblemCode};
use reqwest::Method;
use serde_json::json;
use sqlx::Executor;

use crate::support::World;
use crate::support::receiver::Reply;

async fn maintain_partitions(world: &World) {
    world.state.webhooks.maintain_partitions().await.unwrap();
}

/// Publishes an event as a client does: a request at the moment in which the partition of the day is created may be refused as
/// overloaded, and is repeated.
async fn publish_patiently(world: &World) {
    loop {
        let event = world.new_event(world.company, "order.created", None);
        let mut transaction = world.pool.begin().await.unwrap();
        match events::publish(&mut transaction, event, world.clock.now()).await {
            Ok(_) => return transaction.commit().await.unwrap(),
            Err(error) => assert_eq!(Problem::from(error).code(), ProblemCode::Overloaded),
        }
    }
}

/// The number of events, deliveries and attempts.
async fn kept(world: &World) -> [i64; 3] {
    [
        world.count("select count(*) from events").await,
        world.count("select count(*) from deliveries").await,
        world.count("select count(*) from attempts").await,
    ]
}

/// The number of daily partitions of `events`.
async fn days(world: &World) -> i64 {
    world.count("select count(*) from pg_inherits where inhparent = 'events'::regclass and inhrelid <> 'events_default'::regclass").await
}

/// The number of partitions of the story's first day.
async fn tables_of_the_first_day(world: &World) -> i64 {
    world.count("select count(*) from pg_class where relkind = 'r' and relname ~ '^(events|deliveries|attempts)_20260521'").await
}

#[tokio::test]
async fn what_is_older_than_thirty_days_is_forgotten_with_its_day() {
    let world = World::new().await;
    maintain_partitions(&world).await;
    assert_eq!(days(&world).await, 4, "today and the next three days");
    let (_receiver, _) = world.subscriber("shop.test").await;
    world.publish("order.created").await;
    world.deliver().await;
    assert_eq!(world.count("select count(*) from only events_default").await, 0, "it is in the partition of its day");
    world.pass(TimeDelta::days(20));
    maintain_partitions(&world).await;
    world.publish("order.updated").await;
    world.deliver().await;
    assert_eq!(kept(&world).await, [2, 2, 2]);

    world.pass(TimeDelta::days(10));
    maintain_partitions(&world).await;
    assert_eq!(kept(&world).await, [2, 2, 2], "its day ended less than thirty days ago");
    assert_eq!(tables_of_the_first_day(&world).await, 3);
    world.pass(TimeDelta::days(1));
    maintain_partitions(&world).await;
    assert_eq!(kept(&world).await, [1, 1, 1]);
    assert_eq!(tables_of_the_first_day(&world).await, 0, "its partitions are dropped, not emptied");
    assert_eq!(world.last_delivery().await["event"], "order.updated");
}

#[tokio::test]
async fn days_come_and_go_although_something_else_cannot_be_deleted() {
    let world = World::new().await;
    maintain_partitions(&world).await;
    let (_receiver, _) = world.subscriber("shop.test").await;
    world.publish("order.created").await;
    world.deliver().await;
    world.pass(TimeDelta::days(40));
    for table in ["attempt_hours", "replay_keys"] {
        world.refuse_deletes(table).await;
    }
    let unfinished = world.state.webhooks.maintain_partitions().await.unwrap_err().to_string();
    assert!(unfinished.starts_with("attempt_hours: ") && unfinished.contains("; replay_keys: "), "{unfinished}");
    assert_eq!(unfinished.matches("; ").count(), 1, "{unfinished}");
    assert_eq!((kept(&world).await, days(&world).await), ([0, 0, 0], 4));
}

#[tokio::test]
async fn a_failed_delivery_is_kept_for_ninety_days_with_its_event_and_attempts() {
    let world = World::new().await;
    maintain_partitions(&world).await;
    let (receiver, _) = world.subscriber("shop.test").await;
    receiver.will(std::iter::repeat_n(Reply::status(500), 5));
    world.publish("order.created").await;
    world.deliver().await;
    for wait in [TimeDelta::minutes(5), TimeDelta::minutes(30), TimeDelta::hours(2), TimeDelta::hours(8)] {
        world.pass(wait);
        world.deliver().await;
    }
    world.publish("order.updated").await;
    world.deliver().await;
    assert_eq!(kept(&world).await, [2, 2, 6]);
    for _ in 0..2 {
        world.pass(TimeDelta::days(40));
        maintain_partitions(&world).await;
        assert_eq!(kept(&world).await, [1, 1, 5], "the delivered delivery is deleted");
        assert_eq!(tables_of_the_first_day(&world).await, 3, "those of what is kept");
        let delivery = world.last_delivery().await;
        assert_eq!((&delivery["status"], &delivery["payload"]["event"]), (&json!("failed"), &json!("order.created")));
    }
    world.pass(TimeDelta::days(11));
    maintain_partitions(&world).await;
    assert_eq!(kept(&world).await, [0, 0, 0]);
    assert_eq!(tables_of_the_first_day(&world).await, 0);
}

#[tokio::test]
async fn what_is_erased_while_its_day_is_exchanged_stays_erased() {
    let world = World::new().await;
    maintain_partitions(&world).await;
    let (receiver, _) = world.subscriber("shop.test").await;
    world.fail(&receiver, "order.created").await;
    world.pass(TimeDelta::days(40));
    maintain_partitions(&world).await;
    // As an instance leaves it that ended after the exchange, when the rows had been erased after they were copied.
    let without_note = "body = convert_to(replace(convert_from(body, 'UTF8'), 'ünïcode ☂', ''), 'UTF8')";
    for (table, erase) in [("events", without_note), ("attempts", "response_headers = null, response_body = null")] {
        let statements = format!(
            "create table {table}_20260521_expired (like {table} including all);
             insert into {table}_20260521_expired select * from {table}_20260521_kept;
             update {table}_20260521_expired set {erase}"
        );
        world.pool.acquire().await.unwrap().execute(sqlx::AssertSqlSafe(statements)).await.unwrap();
    }
    assert_eq!(world.count("select count(*) from attempts where response_headers is not null").await, 5);
    maintain_partitions(&world).await;
    assert_eq!((kept(&world).await, tables_of_the_first_day(&world).await), ([1, 1, 5], 3));
    assert_eq!(world.count("select count(*) from events where convert_from(body, 'UTF8') like '%ünïcode%'").await, 0);
    assert_eq!(world.count("select count(*) from attempts where response_headers is not null").await, 0);
}

#[tokio::test]
async fn a_replay_that_ended_is_forgotten_with_the_last_of_what_it_repeated() {
    let world = World::new().await;
    let (_receiver, webhook) = world.subscriber("shop.test").await;
    let path = format!("webhooks/{}/replay", webhook["id"].as_str().unwrap());
    let since = json!({ "since": "2026-05-21T00:00:00Z" });
    world.developers(Method::POST, &path, since.clone()).await.ok(202);
    assert!(world.state.webhooks.continue_replays().await.unwrap());
    world.developers(Method::POST, &path, since).await.ok(202);
    let replays = "select count(*) from replays";
    world.pass(TimeDelta::days(90));
    maintain_partitions(&world).await;
    assert_eq!(world.count(replays).await, 2);
    world.pass(TimeDelta::seconds(1));
    maintain_partitions(&world).await;
    assert_eq!(world.count(replays).await, 1, "one replay has not begun");
    assert!(world.state.webhooks.continue_replays().await.unwrap());
}

#[tokio::test]
async fn what_is_still_open_keeps_its_event_and_is_delivered() {
    let world = World::new().await;
    maintain_partitions(&world).await;
    let (receiver, _) = world.subscriber("shop.test").await;
    receiver.will([Reply::status(500)]);
    world.publish("order.created").await;
    world.deliver().await;
    world.publish("order.updated").await;
    world.pass(TimeDelta::days(40));
    maintain_partitions(&world).await;
    assert_eq!(kept(&world).await, [2, 0, 1], "one event waits for a retry, and one has not been fanned out");
    assert_eq!(world.deliver().await, 2);
    assert_eq!(world.count("select count(*) from deliveries where state = 'delivered'").await, 2);
    maintain_partitions(&world).await;
    assert_eq!(kept(&world).await, [1, 1, 1], "the delivery that was made when its event was forty days old is new");
}

#[tokio::test]
async fn without_any_housekeeping_nothing_fails_and_what_is_old_is_forgotten_later() {
    let world = World::new().await;
    let (_receiver, _) = world.subscriber("shop.test").await;
    for _ in 0..3 {
        world.publish("order.created").await;
        assert_eq!(world.deliver().await, 1);
        world.pass(TimeDelta::days(7));
    }
    assert_eq!(kept(&world).await, [3, 3, 3]);
    world.publish("order.updated").await;
    maintain_partitions(&world).await;
    assert_eq!(days(&world).await, 3, "today has begun without a partition");
    world.deliver().await;
    world.pass(TimeDelta::days(20));
    maintain_partitions(&world).await;
    assert_eq!(kept(&world).await, [2, 2, 2]);
}

#[tokio::test]
async fn any_number_of_instances_keep_house_at_once_while_deliveries_go_on() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    world.state.webhooks.start_worker(&world.lifecycle);
    for month in 1..=3 {
        let maintaining = join_all((0..4).map(|_| world.state.webhooks.maintain_partitions()));
        let publishing = async {
            for _ in 0..10 {
                publish_patiently(&world).await;
            }
        };
        let (kept, ()) = futures::future::join(maintaining, publishing).await;
        kept.into_iter().for_each(|kept| kept.unwrap());
        receiver.waits_for(10 * month).await;
        world.pass(TimeDelta::days(31));
    }
}

#[tokio::test]
async fn a_hundred_years_are_longer_than_there_have_been_events() {
    let world = World::with(&[("webhooks.retention", "36500d"), ("webhooks.failed_retention", "36500d")]).await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    // There are no partitions yet, so these rows are in the default partitions.
    world.publish("order.created").await;
    world.deliver().await;
    world.fail(&receiver, "order.updated").await;
    let all = kept(&world).await;
    world.pass(TimeDelta::days(400));
    maintain_partitions(&world).await;
    assert_eq!(kept(&world).await, all);

    let path = format!("webhooks/{}/replay", webhook["id"].as_str().unwrap());
    let since_ever = json!({ "since": "0001-01-01T00:00:00Z", "dry_run": true });
    assert_eq!(world.developers(Method::POST, &path, since_ever).await.ok(200)["replay"]["count"], 1);
}

#[tokio::test]
async fn failed_deliveries_alone_may_be_kept_for_a_hundred_years() {
    let world = World::with(&[("webhooks.failed_retention", "36500d")]).await;
    maintain_partitions(&world).await;
    let (receiver, _) = world.subscriber("shop.test").await;
    world.fail(&receiver, "order.updated").await;
    world.pass(TimeDelta::days(400));
    maintain_partitions(&world).await;
    assert_eq!(kept(&world).await, [1, 1, 5]);
}

#[tokio::test]
async fn the_events_of_a_record_are_counted_on_when_the_older_ones_are_forgotten() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let order = OrderId::new(world.clock.now()).uuid();
    for event in ["order.created", "order.updated"] {
        world.publish_about(order, event).await;
    }
    world.deliver().await;
    world.pass(TimeDelta::days(400));
    maintain_partitions(&world).await;
    assert_eq!(kept(&world).await, [0, 0, 0]);
    world.publish_about(order, "order.updated").await;
    world.deliver().await;
    // The receiver has seen sequence number 2, so it recognises this event as newer.
    assert_eq!(receiver.received().pop().unwrap().header("x-service-sequence"), "3");
}
