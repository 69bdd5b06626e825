//! Optional ordering: sequence numbers per record, and subscriptions with ordered delivery (decisions, section 7).

use chrono::TimeDelta;
use portico::events;
use portico::kernel::lifecycle::Lifecycle;
use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::receiver::Reply;

#[tokio::test]
async fn every_event_about_a_record_carries_its_number() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let [one, other] = [world.new_record(), world.new_record()];
    for (subject, number) in [(one, 1), (one, 2), (other, 1), (one, 3)] {
        let event = world.publish_about(subject, "order.updated").await;
        world.deliver().await;
        let posted = receiver.received().pop().unwrap();
        assert_eq!((posted.header("webhook-id"), posted.header("x-service-sequence")), (&*event.to_string(), &*number.to_string()));
        let delivery = world.last_delivery().await;
        assert_eq!(delivery["sequence"], number);
        assert_eq!(delivery["attempts"][0]["request_headers"]["x-service-sequence"], number.to_string());
        world.pass(TimeDelta::seconds(1));
    }
    world.publish("order.created").await;
    world.deliver().await;
    assert_eq!(receiver.received().pop().unwrap().headers.get("x-service-sequence"), None, "the event is about no record");
    assert_eq!(world.last_delivery().await["sequence"], json!(null));
}

#[tokio::test]
async fn numbers_have_no_gaps_however_many_publish_at_once() {
    let world = World::new().await;
    let subject = world.new_record();
    let event = || world.new_event(world.company, "order.updated", Some(subject));
    let publishing = (0..30).map(async |number| {
        let mut transaction = world.pool.begin().await.unwrap();
        events::publish_all(&mut transaction, &[event(), event()], world.clock.now()).await.unwrap();
        if number % 3 == 0 { transaction.rollback().await.unwrap() } else { transaction.commit().await.unwrap() }
    });
    futures::future::join_all(publishing).await;
    assert_eq!(world.count("select count(*) from events").await, 40);
    assert_eq!(world.count("select count(distinct sequence) from events where sequence between 1 and 40").await, 40);
    let disordered = "select count(*) from (select sequence, lag(sequence) over (order by position) as before from outbox) as entries where sequence < before";
    assert_eq!(world.count(disordered).await, 0, "the events are fanned out in order");
}

#[tokio::test]
async fn the_next_delivery_of_a_resource_waits_until_the_one_before_has_arrived() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber_in_order("shop.test").await;
    let [one, other] = [world.new_record(), world.new_record()];
    for subject in [one, one, other, one, other] {
        world.publish_about(subject, "order.updated").await;
    }
    world.fan_out().await;
    for at_once in [2, 2, 1] {
        let claimed = world.claim().await;
        assert_eq!(claimed.len(), at_once);
        assert_eq!(world.claim().await.len(), 0, "the others wait");
        for claimed in claimed {
            let attempt = world.state.webhooks.send(claimed).await;
            world.state.webhooks.record(&[attempt]).await.unwrap();
        }
    }
    let mut arrived = receiver.headers("x-service-sequence");
    arrived[..2].sort_unstable();
    assert_eq!(arrived, ["1", "1", "2", "2", "3"]);
}

#[tokio::test]
async fn a_failed_delivery_releases_its_successors_only_after_its_schedule() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber_in_order("shop.test").await;
    receiver.will(std::iter::repeat_n(Reply::status(500), 5));
    let subject = world.new_record();
    for _ in 0..3 {
        world.publish_about(subject, "order.updated").await;
    }
    assert_eq!(world.deliver().await, 1);
    for wait in [TimeDelta::minutes(5), TimeDelta::minutes(30), TimeDelta::hours(2)] {
        world.pass(wait - TimeDelta::seconds(1));
        assert_eq!(world.deliver().await, 0);
        world.pass(TimeDelta::seconds(1));
        assert_eq!(world.deliver().await, 1);
    }
    world.pass(TimeDelta::hours(8));
    assert_eq!(world.deliver().await, 3, "the last attempt fails, and then the other deliveries are made");
    assert_eq!(receiver.headers("x-service-sequence"), ["1", "1", "1", "1", "1", "2", "3"]);
    assert_eq!(world.count("select count(*) from deliveries where state = 'delivered'").await, 2);
}

#[tokio::test]
async fn an_interrupted_delivery_keeps_its_place() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber_in_order("shop.test").await;
    let subject = world.new_record();
    for _ in 0..2 {
        world.publish_about(subject, "order.updated").await;
    }
    world.fan_out().await;
    drop(world.state.webhooks.claim(10).await.unwrap());
    world.pass(TimeDelta::seconds(60));
    assert_eq!(world.deliver().await, 2);
    assert_eq!(receiver.headers("x-service-sequence"), ["1", "2"]);
}

#[tokio::test]
async fn whoever_asks_for_no_order_waits_for_nothing() {
    let world = World::new().await;
    let (_receiver, _) = world.subscriber("shop.test").await;
    let subject = world.new_record();
    for _ in 0..3 {
        world.publish_about(subject, "order.updated").await;
    }
    world.fan_out().await;
    assert_eq!(world.state.webhooks.claim(10).await.unwrap().len(), 3);
}

#[tokio::test]
async fn several_workers_keep_the_order_of_each_resource() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber_in_order("shop.test").await;
    let lifecycle = Lifecycle::default();
    let others = [world.another_instance(), world.another_instance()];
    for instance in others.iter().chain([&world]) {
        instance.state.webhooks.start_worker(&lifecycle);
    }
    let subjects: Vec<_> = (0..5).map(|_| world.new_record()).collect();
    for _ in 0..12 {
        for subject in &subjects {
            world.publish_about(*subject, "order.updated").await;
        }
    }
    receiver.waits_for(60).await;
    lifecycle.stop().await;
    let of_each = world.sequences_by_record(&receiver).await;
    assert_eq!(of_each.len(), 5);
    for (subject, arrived) in of_each {
        assert_eq!(arrived, (1..=12).collect::<Vec<_>>(), "{subject}");
    }
}

#[tokio::test]
async fn an_ordering_or_a_rate_limit_that_is_none_is_refused() {
    let world = World::new().await;
    world.resolver.insert("shop.test", &["127.0.0.1".parse().unwrap()]);
    for (member, value) in [
        ("ordering", json!("subject")),
        ("rate_limit", json!(0)),
        ("rate_limit", json!(1001)),
        ("rate_limit", json!(2.5)),
        ("rate_limit", json!("10")),
    ] {
        let refusal = world.developers(Method::POST, "webhooks", json!({ "url": "https://shop.test/", member: value })).await;
        let refusal = refusal.refused(422, "body_invalid");
        assert!(refusal["fields"].get(member).is_some(), "{member} = {value}: {refusal}");
    }
    let webhook = world.developers(Method::POST, "webhooks", json!({ "url": "https://shop.test/", "rate_limit": 1000 })).await.ok(201);
    assert_eq!((&webhook["webhook"]["rate_limit"], &webhook["webhook"]["ordering"]), (&json!(1000), &json!("none")));
    let path = format!("webhooks/{}", webhook["webhook"]["id"].as_str().unwrap());
    let changed = world.developers(Method::PUT, &path, json!({ "rate_limit": null })).await.ok(200);
    assert_eq!(changed["webhook"]["rate_limit"], json!(null));
}
