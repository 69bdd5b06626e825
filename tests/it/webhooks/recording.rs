//! Two statements record attempts: a short one for batches in which nothing is unusual, and a longer one for all others. Both leave the same behind.

use std::iter::repeat_n;

use chrono::TimeDelta;
use futures::future::join_all;
use portico::kernel::ids::SubscriptionId;
use portico::webhooks::{Attempt, Claimed};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::fleet::id;
use crate::support::receiver::Reply;
use crate::support::waiting::in_time;

/// How endpoints can stand at five past eleven, when their attempts are recorded.
const STANDINGS: [(&str, &str); 9] = [
    ("well.test", "update endpoints set last_success_at = '2026-05-21T12:00:00Z' where subscription_id = $1"),
    (
        "failing.test",
        "update endpoints set consecutive_failures = 4, failing_since = '2026-05-21T09:00:00Z', last_failure_at = '2026-05-21T10:00:00Z',
                              last_failure = '500', certificate_expires_at = '2026-06-01T00:00:00Z'
         where subscription_id = $1",
    ),
    (
        "on-trial.test",
        "update endpoints set consecutive_failures = 10, failing_since = '2026-05-21T09:00:00Z', open_until = '2026-05-21T11:00:00Z',
                              held_until = '2026-05-21T11:00:00Z'
         where subscription_id = $1",
    ),
    ("silent.test", "update endpoints set silent_until = '2026-05-21T11:30:00Z' where subscription_id = $1"),
    ("no-longer-silent.test", "update endpoints set silent_until = '2026-05-21T11:00:00Z' where subscription_id = $1"),
    ("silent-by-another-clock.test", "update endpoints set silent_until = '2026-05-21T15:00:00Z' where subscription_id = $1"),
    ("paused.test", "update endpoints set paused = true where subscription_id = $1"),
    ("cancelled.test", "update in_flight set cancelled = true where subscription_id = $1"),
    (
        "claimed-by-another.test",
        "update in_flight set attempts = 2 where id = (select id from in_flight where subscription_id = $1 order by id limit 1)",
    ),
];

/// What recording writes, without what is new each time.
const WRITTEN: [&str; 6] = [
    "select jsonb_agg(to_jsonb(attempts) - 'id' order by delivery_id, number) from attempts",
    "select jsonb_agg(to_jsonb(deliveries) order by id) from deliveries",
    "select jsonb_agg(to_jsonb(attempt_hours) order by subscription_id, hour, bucket) from attempt_hours",
    "select jsonb_agg(to_jsonb(endpoints) order by subscription_id) from endpoints",
    "select jsonb_agg(to_jsonb(in_flight) order by id) from in_flight",
    "select jsonb_agg(to_jsonb(waiting) - 'place' order by id) from waiting",
];

impl World {
    async fn send_all(&self, claimed: Vec<Claimed>) -> Vec<Attempt> {
        join_all(claimed.into_iter().map(|claimed| self.state.webhooks.send(claimed))).await
    }

    /// Records attempts while another transaction has the queue: the short statement does not look into it.
    async fn record_by_the_short_statement(&self, attempts: &[Attempt]) {
        let mut locked = self.pool.begin().await.unwrap();
        sqlx::query("lock table waiting").execute(&mut *locked).await.unwrap();
        in_time("the attempts are recorded", self.state.webhooks.record(attempts)).await.unwrap();
        locked.rollback().await.unwrap();
    }

    /// Records attempts while another transaction has the queue, for which the longer statement waits.
    async fn record_by_the_longer_statement(&self, attempts: &[Attempt]) {
        let mut locked = self.pool.begin().await.unwrap();
        sqlx::query("lock table waiting").execute(&mut *locked).await.unwrap();
        let unlocked = async {
            self.somebody_waits().await;
            locked.rollback().await.unwrap();
        };
        let (recorded, ()) = tokio::join!(self.state.webhooks.record(attempts), unlocked);
        recorded.unwrap();
    }

    /// The rows that recording writes, table by table.
    async fn written(&self) -> Vec<Option<Value>> {
        let mut rows = Vec::new();
        for table in WRITTEN {
            rows.push(sqlx::query_scalar(table).fetch_one(&self.pool).await.unwrap());
        }
        rows
    }

    async fn run_all(&self, statements: &[&'static str]) {
        for sql in statements {
            sqlx::query(*sql).execute(&self.pool).await.unwrap();
        }
    }
}

#[tokio::test]
async fn both_statements_leave_the_same_behind() {
    let world = World::new().await;
    let mut subscriptions = Vec::new();
    for (name, _) in STANDINGS {
        subscriptions.push(id(&world.subscriber(name).await.1).parse::<SubscriptionId>().unwrap());
    }
    let (receiver, webhook) = world.subscriber("refusing.test").await;
    let refusing: SubscriptionId = id(&webhook).parse().unwrap();
    receiver.will(repeat_n(Reply::status(500), 2));
    let first = world.publish("order.created").await;
    world.publish("order.updated").await;
    let claimed = world.state.webhooks.fan_out_and_claim(100).await.unwrap();
    assert_eq!(claimed.len(), 2 * (STANDINGS.len() + 1));

    // The attempts end in two hours.
    let (refused, accepted): (Vec<_>, Vec<_>) = claimed.into_iter().partition(|claimed| claimed.subscription == refusing);
    let (early, late): (Vec<_>, Vec<_>) = accepted.into_iter().partition(|claimed| claimed.event == first);
    let mut attempts = world.send_all(early).await;
    world.pass(TimeDelta::minutes(50));
    attempts.extend(world.send_all(late).await);
    let acknowledged = attempts.len();
    attempts.extend(world.send_all(refused).await);
    for ((_, standing), subscription) in STANDINGS.iter().zip(subscriptions) {
        assert!(sqlx::query(*standing).bind(subscription.uuid()).execute(&world.pool).await.unwrap().rows_affected() > 0);
    }
    world.run_all(&["create table in_flight_before as table in_flight", "create table endpoints_before as table endpoints"]).await;

    world.record_by_the_short_statement(&attempts[..acknowledged]).await;
    world.state.webhooks.record(&attempts[acknowledged..]).await.unwrap();
    let apart = world.written().await;

    let as_before = [
        "delete from attempts",
        "delete from deliveries",
        "delete from attempt_hours",
        "delete from waiting",
        "delete from in_flight",
        "insert into in_flight table in_flight_before",
        "delete from endpoints",
        "insert into endpoints table endpoints_before",
    ];
    world.run_all(&as_before).await;
    world.record_by_the_longer_statement(&attempts).await;
    for ((together, apart), table) in world.written().await.into_iter().zip(apart).zip(WRITTEN) {
        assert_eq!(together, apart, "{table}");
    }

    // One of them was claimed by another worker meanwhile, and two were refused.
    let delivered = acknowledged as i64 - 1;
    assert_eq!(world.count("select count(*) from attempts").await, delivered + 2);
    assert_eq!(world.count("select count(*) from deliveries where state = 'delivered' and attempts = 1").await, delivered);
    assert_eq!(world.count("select sum(succeeded) from attempt_hours").await, delivered);
    assert_eq!(world.count("select count(distinct hour) from attempt_hours where succeeded > 0").await, 2);
    assert_eq!(world.count("select sum(in_flight) from endpoints").await, 1);
    let failing = "select count(*) from endpoints where consecutive_failures > 0 or failing_since is not null or open_until is not null";
    assert_eq!(world.count(failing).await, 1);
    let silent = "select count(*) from endpoints where silent_until = '2026-05-21T11:30:00Z'";
    assert_eq!((world.count(silent).await, world.count("select count(silent_until) from endpoints").await), (1, 1));
    assert_eq!(world.count("select count(*) from endpoints where held_until = '2026-05-21T11:05:00Z'").await, 1, "they go on at once");
}

#[tokio::test]
async fn an_attempt_that_was_not_acknowledged_in_a_whole_answer_has_its_batch_recorded_by_the_longer_statement() {
    for (reply, left_behind) in [
        (Reply::status(500), "select count(*) from waiting where lane = 1 and failures = 1"),
        (Reply::with(429, "retry-after", "600"), "select count(*) from endpoints where silent_until is not null and last_failure = '429'"),
        (Reply::status(410), "select count(*) from deliveries where state = 'failed'"),
        (Reply::BreakOff(200), "select count(*) from attempts where status = 200 and error = 'closed'"),
    ] {
        let world = World::new().await;
        let (_prompt, _) = world.subscriber("prompt.test").await;
        let (receiver, _) = world.subscriber("shop.test").await;
        receiver.will([reply.clone()]);
        world.publish("order.created").await;
        let claimed = world.state.webhooks.fan_out_and_claim(10).await.unwrap();
        let attempts = world.send_all(claimed).await;
        world.record_by_the_longer_statement(&attempts).await;
        assert_eq!(world.count(left_behind).await, 1, "{reply:?}");
        assert_eq!(world.count("select count(*) from attempts where status = 200 and error is null").await, 1, "{reply:?}");
        assert_eq!(world.count("select sum(in_flight) from endpoints").await, 0, "{reply:?}");
    }
}

#[tokio::test]
async fn a_replay_has_its_batch_recorded_by_the_longer_statement_and_changes_no_health() {
    let world = World::new().await;
    let (receiver, prompt) = (world.endpoint("shop.test").await, world.endpoint("prompt.test").await);
    let webhook = world.subscribe(&receiver, json!({ "events": ["order.*"] })).await;
    world.subscribe(&prompt, json!({ "events": ["driver.online"] })).await;
    world.publish("order.created").await;
    world.deliver().await;
    let arrived = world.last_delivery().await;
    world.pass(TimeDelta::seconds(1));
    receiver.will([Reply::status(500)]);
    world.publish("order.updated").await;
    world.deliver().await;
    let health = async || world.get(&format!("webhooks/{}", id(&webhook))).await["webhook"]["health"].take();
    let before = health().await;
    assert_eq!(before["consecutive_failures"], 1);

    world.developers(Method::POST, &format!("deliveries/{}/replay", id(&arrived)), json!({})).await.ok(201);
    world.publish("driver.online").await;
    let mut claimed = world.state.webhooks.fan_out_and_claim(10).await.unwrap();
    claimed.extend(world.claim().await);
    assert_eq!(claimed.len(), 2);
    let attempts = world.send_all(claimed).await;
    world.record_by_the_longer_statement(&attempts).await;
    assert_eq!(health().await, before);
    assert_eq!(world.count("select count(*) from deliveries where replay_of is not null and state = 'delivered'").await, 1);
}

/// Records attempts at two endpoints, one of which fails if it is `refusing`, while somebody else has a row locked by `lock`; what is counted
/// meanwhile.
async fn free_meanwhile(world: &World, refusing: bool, lock: &'static str, count: &'static str) -> i64 {
    let (_one, _) = world.subscriber("one.test").await;
    let (two, _) = world.subscriber("two.test").await;
    if refusing {
        two.will([Reply::status(500)]);
    }
    world.publish("order.created").await;
    let claimed = world.state.webhooks.fan_out_and_claim(10).await.unwrap();
    let attempts = world.send_all(claimed).await;
    let mut other = world.pool.begin().await.unwrap();
    sqlx::query(lock).execute(&mut *other).await.unwrap();
    let looked = async {
        world.somebody_waits().await;
        let free = world.count(count).await;
        other.rollback().await.unwrap();
        free
    };
    let (recorded, free) = tokio::join!(world.state.webhooks.record(&attempts), looked);
    recorded.unwrap();
    free
}

#[tokio::test]
async fn nothing_is_taken_out_of_flight_before_all_endpoints_are_locked() {
    for refusing in [false, true] {
        let world = World::new().await;
        let last = "select from endpoints order by subscription_id desc limit 1 for update";
        let count = "select count(*) from (select from in_flight for update skip locked) as free";
        let free = free_meanwhile(&world, refusing, last, count).await;
        assert_eq!((free, world.count("select count(*) from in_flight").await), (2, 0), "refusing: {refusing}");
    }
}

#[tokio::test]
async fn endpoints_are_locked_in_the_order_of_their_ids() {
    for refusing in [false, true] {
        let world = World::new().await;
        let first = "select from endpoints order by subscription_id limit 1 for update";
        let count = "select count(*) from (select from endpoints for update skip locked) as free";
        assert_eq!(free_meanwhile(&world, refusing, first, count).await, 1, "refusing: {refusing}");
    }
}

#[tokio::test]
async fn instances_record_attempts_of_the_same_endpoints_at_once_by_either_statement() {
    let here = World::with(&[("webhooks.circuit.opens_after", "1000")]).await;
    let there = here.another_instance();
    let instances = [&here, &there];
    let mut receivers = Vec::new();
    for number in 0..4 {
        receivers.push(here.subscriber(&format!("shop{number}.test")).await.0);
    }
    for _ in 0..5 {
        here.make_deliveries(20).await;
        receivers[0].will(repeat_n(Reply::status(500), 4));
        join_all((0..8).map(|turn| async move {
            let world = instances[turn % 2];
            let claimed = world.state.webhooks.claim(10).await.unwrap();
            world.state.webhooks.send_and_record(claimed).await.unwrap();
        }))
        .await;
        here.deliver().await;
        assert_eq!(here.count("select count(*) from in_flight").await, 0);
    }
    assert_eq!(here.count("select count(*) from attempts").await, 400);
    assert_eq!(here.count("select sum(succeeded) from attempt_hours").await, 380);
    assert_eq!(here.count("select sum(failed) from attempt_hours").await, 20);
    assert_eq!(here.count("select sum(in_flight) from endpoints").await, 0);
}
