//! A paused webhook: its deliveries are made and held, and go out when it is resumed.

use chrono::TimeDelta;
use futures::future::join_all;
use portico::callers::Caller;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::support::World;
use crate::support::fleet::id;
use crate::support::receiver::Reply;
use crate::support::waiting::until;

impl World {
    /// Pauses, resumes, enables or disables a webhook; returns it.
    async fn act(&self, webhook: &Value, act: &str) -> Value {
        self.developers(Method::POST, &format!("webhooks/{}/{act}", id(webhook)), json!({})).await.ok(200)["webhook"].take()
    }

    async fn waiting(&self) -> i64 {
        self.count("select count(*) from waiting").await
    }
}

#[tokio::test]
async fn what_happens_meanwhile_is_held_and_sent_when_the_webhook_is_resumed() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    let paused = world.act(&webhook, "pause").await;
    assert_eq!((&paused["status"], &paused["paused_at"]), (&json!("paused"), &json!("2026-05-21T10:15:00.000+00:00")));
    world.pass(TimeDelta::minutes(1));
    assert_eq!(world.act(&webhook, "pause").await["paused_at"], paused["paused_at"], "it is paused since the first time");
    for name in ["order.created", "order.updated", "order.completed"] {
        world.publish(name).await;
        assert!(world.state.webhooks.fan_out_and_claim(100).await.unwrap().is_empty(), "nothing flies directly");
        world.pass(TimeDelta::seconds(1));
    }
    world.pass(TimeDelta::days(2));
    assert_eq!((world.deliver().await, world.waiting().await), (0, 3));
    let figures = world.get(&format!("webhooks/{}/figures", id(&webhook))).await["figures"].take();
    assert_eq!((&figures["waiting"], &figures["consecutive_failures"]), (&json!(3), &json!(0)));

    // In the order in which they became due, one after the other.
    let resumed = world.act(&webhook, "resume").await;
    assert_eq!((&resumed["status"], &resumed["paused_at"]), (&json!("enabled"), &json!(null)));
    while world.waiting().await > 0 {
        let next = world.state.webhooks.claim(1).await.unwrap();
        assert_eq!(world.state.webhooks.send_and_record(next).await.unwrap(), 1);
    }
    let names: Vec<_> = receiver.received().iter().map(|post| post.header("x-service-event").to_owned()).collect();
    assert_eq!(names, ["order.created", "order.updated", "order.completed"]);
    assert_eq!(world.count("select count(*) from deliveries where state = 'delivered' and attempts = 1").await, 3);
    assert_eq!(world.get(&format!("webhooks/{}/figures", id(&webhook))).await["figures"]["waiting"], 0);
}

#[tokio::test]
async fn retries_and_replays_are_held_too_and_count_no_failure() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    world.publish("order.created").await;
    assert_eq!(world.deliver().await, 1);
    let delivered = world.last_delivery().await;
    receiver.will([Reply::status(500)]);
    world.publish("order.updated").await;
    assert_eq!(world.deliver().await, 1);

    world.act(&webhook, "pause").await;
    world.developers(Method::POST, &format!("deliveries/{}/replay", id(&delivered)), json!({})).await.ok(201);
    world.pass(TimeDelta::days(6));
    assert_eq!(world.deliver().await, 0, "neither the retry nor the replay");
    world.state.webhooks.notify_operators().await.unwrap();
    let shown = world.get(&format!("webhooks/{}", id(&webhook))).await["webhook"].take();
    assert_eq!((&shown["status"], world.waiting().await), (&json!("paused"), 2));

    // Six days in which nothing was sent are no six days of failing: the next failure is the first of a new episode.
    world.act(&webhook, "resume").await;
    receiver.will([Reply::status(500), Reply::status(500)]);
    assert_eq!(world.deliver().await, 2);
    world.state.webhooks.notify_operators().await.unwrap();
    let shown = world.get(&format!("webhooks/{}", id(&webhook))).await["webhook"].take();
    assert_eq!((&shown["status"], &shown["health"]["consecutive_failures"]), (&json!("enabled"), &json!(1)), "the replay does not count");
}

#[tokio::test]
async fn the_chain_of_a_record_keeps_its_order() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber_in_order("shop.test").await;
    let record = world.new_record();
    world.publish_about(record, "order.created").await;
    world.fan_out().await;
    world.act(&webhook, "pause").await;
    for _ in 0..4 {
        world.publish_about(record, "order.updated").await;
    }
    assert_eq!((world.deliver().await, world.waiting().await), (0, 5));
    world.act(&webhook, "resume").await;
    assert_eq!(world.deliver().await, 5);
    assert_eq!(world.sequences_by_record(&receiver).await[&record], [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn what_waits_goes_out_within_the_limits_of_the_endpoint() {
    let world = World::with(&[("webhooks.endpoint_concurrency", "2")]).await;
    let (_receiver, webhook) = world.subscriber("shop.test").await;
    world.act(&webhook, "pause").await;
    world.make_deliveries(7).await;
    world.act(&webhook, "resume").await;
    let first = world.claim().await;
    assert_eq!(first.len(), 2);
    world.publish("driver.online").await;
    assert!(world.state.webhooks.fan_out_and_claim(100).await.unwrap().is_empty(), "what is new does not overtake");
    world.state.webhooks.send_and_record(first).await.unwrap();
    assert_eq!(world.deliver().await, 6);
}

#[tokio::test]
async fn whoever_claims_while_a_webhook_is_paused_has_it_before_or_not_at_all() {
    let here = World::new().await;
    let there = here.another_instance();
    let instances = [&here, &there];
    for round in 0..8 {
        let (receiver, webhook) = here.subscriber(&format!("shop{round}.test")).await;
        here.make_deliveries(3).await;
        here.publish("order.created").await;
        let (service, subscription) = (Caller::service(here.company), id(&webhook).parse().unwrap());
        let claims = join_all((0..4).map(|turn| async move {
            let world = instances[turn % 2];
            let flown = world.state.webhooks.fan_out_and_claim(100).await.unwrap();
            let claimed = world.claim().await;
            (world, flown.into_iter().chain(claimed).collect::<Vec<_>>())
        }));
        let pause = async {
            here.state.webhooks.pause(&service, subscription).await.unwrap();
            // What is in flight when the pause is committed may still arrive; nothing is added to it.
            (here.count("select count(*) from in_flight").await, here.count("select count(*) from waiting").await)
        };
        let (claims, (flying, _)) = tokio::join!(claims, pause);
        let claimed: usize = claims.iter().map(|(_, claimed)| claimed.len()).sum();
        assert!(claimed as i64 >= flying && here.claim().await.is_empty() && there.claim().await.is_empty(), "round {round}");
        for (world, claimed) in claims {
            world.state.webhooks.send_and_record(claimed).await.unwrap();
        }
        assert_eq!((receiver.count(), here.deliver().await, there.deliver().await), (claimed, 0, 0), "round {round}");
        here.state.webhooks.resume(&service, subscription).await.unwrap();
        assert_eq!(there.deliver().await, 4 - claimed, "any instance goes on");
        here.act(&webhook, "disable").await;
    }
    assert_eq!(here.count("select sum(in_flight) from endpoints").await, 0);
}

#[tokio::test]
async fn an_endpoint_that_is_paused_amid_its_backlog_is_not_refilled_and_goes_on_at_once_when_it_is_resumed() {
    // Nothing but the notification can hurry the worker: it polls once an hour.
    let world = World::with(&[("webhooks.endpoint_concurrency", "2"), ("webhooks.poll_interval", "1h")]).await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    let answers: Vec<_> = (0..2).map(|_| CancellationToken::new()).collect();
    receiver.will(answers.iter().cloned().map(Reply::When));
    world.make_deliveries(20).await;
    world.state.webhooks.start_worker(&world.lifecycle);
    receiver.waits_for(2).await;
    world.act(&webhook, "pause").await;
    answers.iter().for_each(CancellationToken::cancel);
    until("nothing is in flight", async || world.count("select count(*) from in_flight").await == 0).await;
    assert_eq!((receiver.count(), world.waiting().await), (2, 18));
    world.act(&webhook, "resume").await;
    receiver.waits_for(20).await;
}

#[tokio::test]
async fn a_webhook_that_is_resumed_while_the_worker_hears_nothing_goes_on_when_it_listens_again() {
    let world = World::with(&[("webhooks.poll_interval", "1h")]).await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    let (other, _) = world.subscriber("other.test").await;
    world.act(&webhook, "pause").await;
    world.make_deliveries(3).await;
    world.state.webhooks.start_worker(&world.lifecycle);
    other.waits_for(3).await;
    until("the others are recorded", async || world.count("select count(*) from in_flight").await == 0).await;
    // What it says last: that it listens, or that it still hears the server.
    let listening = "from pg_stat_activity where datname = current_database() and (query ilike 'listen%' or query = 'select 1')";
    let cut = format!("select count(*) from (select pg_terminate_backend(pid, 10000) as ended {listening}) as cut where ended");
    let cut = async || sqlx::query_scalar::<_, i64>(AssertSqlSafe(cut.clone())).fetch_one(&world.pool).await.unwrap();
    until("the connection that listens is cut", async || cut().await == 1).await;
    world.act(&webhook, "resume").await;
    receiver.waits_for(3).await;
}

#[tokio::test]
async fn the_status_is_a_field_like_any_other() {
    let world = World::new().await;
    let receiver = world.endpoint("shop.test").await;
    let webhook = world.subscribe(&receiver, json!({ "status": "paused" })).await;
    assert!(webhook["paused_at"].is_string());
    world.publish("order.created").await;
    assert_eq!(world.deliver().await, 0, "it is paused from the beginning");
    let path = format!("webhooks/{}", id(&webhook));
    let changed = world.developers(Method::PUT, &path, json!({ "description": "The shop" })).await.ok(200)["webhook"].take();
    assert_eq!((&changed["status"], world.deliver().await), (&json!("paused"), 0));
    world.developers(Method::PUT, &path, json!({ "status": "enabled" })).await.ok(200);
    assert_eq!(world.deliver().await, 1);
    world.developers(Method::PUT, &path, json!({ "status": "paused" })).await.ok(200);
    world.publish("order.created").await;
    assert_eq!(world.deliver().await, 0);
    assert_eq!(world.get("webhooks?status=paused").await["webhooks"][0]["id"], webhook["id"]);
    world.act(&webhook, "enable").await;
    assert_eq!(world.deliver().await, 1);
}

#[tokio::test]
async fn disabling_and_deleting_end_what_was_held() {
    let world = World::new().await;
    for (round, end) in ["disable", "delete"].into_iter().enumerate() {
        let (_receiver, webhook) = world.subscriber(&format!("shop{round}.test")).await;
        world.act(&webhook, "pause").await;
        world.make_deliveries(3).await;
        let path = format!("webhooks/{}", id(&webhook));
        match end {
            "disable" => assert_eq!(world.act(&webhook, end).await["paused_at"], json!(null)),
            _ => drop(world.developers(Method::DELETE, &path, json!({})).await),
        }
        assert_eq!((world.deliver().await, world.waiting().await), (0, 0), "{end}");
    }
    assert_eq!(world.count("select count(*) from deliveries where state = 'cancelled'").await, 6);
    assert_eq!(world.count("select count(*) from endpoints where paused").await, 0);
    // A replay is sent although its webhook is disabled; a pause that has ended does not hold it.
    let disabled = world.get("webhooks").await["webhooks"][0].take();
    world.developers(Method::POST, &format!("webhooks/{}/resume", id(&disabled)), json!({})).await.refused(422, "webhook_disabled");
    let cancelled = world.get(&format!("deliveries?status=cancelled&webhook={}", id(&disabled))).await["deliveries"][0].take();
    world.developers(Method::POST, &format!("deliveries/{}/replay", id(&cancelled)), json!({})).await.ok(201);
    assert_eq!(world.deliver().await, 1);
}

#[tokio::test]
async fn a_test_is_refused_because_its_answer_would_come_when_nobody_waits_for_it() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    world.act(&webhook, "pause").await;
    let path = format!("webhooks/{}/test", id(&webhook));
    world.developers(Method::POST, &path, json!({})).await.refused(422, "webhook_paused");
    world.act(&webhook, "resume").await;
    world.developers(Method::POST, &path, json!({})).await.ok(201);
    assert_eq!((world.deliver().await, receiver.count()), (1, 1));
}

#[tokio::test]
async fn a_pause_that_was_forgotten_keeps_nothing_for_good() {
    let world = World::new().await;
    let (_receiver, webhook) = world.subscriber("shop.test").await;
    world.act(&webhook, "pause").await;
    world.make_deliveries(2).await;
    world.pass(TimeDelta::days(60));
    world.publish_about(Uuid::from_u128(7), "order.created").await;
    world.fan_out().await;
    world.state.webhooks.maintain_partitions().await.unwrap();
    assert_eq!(world.waiting().await, 3, "all are younger than failed ones that are kept");
    world.pass(TimeDelta::days(31));
    world.state.webhooks.maintain_partitions().await.unwrap();
    assert_eq!(world.waiting().await, 1, "91 days are longer than webhooks.failed_retention");
    world.act(&webhook, "resume").await;
    assert_eq!(world.deliver().await, 1);
}
