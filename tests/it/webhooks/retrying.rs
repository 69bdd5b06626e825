//! The retry schedule: interface 2, States and transitions; decisions, section 7, Delivery.

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::receiver::Reply;
use crate::support::subscribers::last_attempt;

#[tokio::test]
async fn a_failed_delivery_is_retried_after_5_30_120_and_480_minutes_and_then_failed() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    receiver.will(std::iter::repeat_n(Reply::status(500), 6));
    world.publish("order.created").await;
    assert_eq!(world.deliver().await, 1);
    for (number, wait) in [(2, TimeDelta::minutes(5)), (3, TimeDelta::minutes(30)), (4, TimeDelta::hours(2)), (5, TimeDelta::hours(8))] {
        assert_eq!(world.last_delivery().await["status"], "retrying");
        world.pass(wait - TimeDelta::seconds(1));
        assert_eq!(world.deliver().await, 0, "attempt {number} is not a second early");
        world.pass(TimeDelta::seconds(1));
        assert_eq!(world.deliver().await, 1, "attempt {number}");
    }
    let delivery = world.last_delivery().await;
    assert_eq!((&delivery["status"], &delivery["next_attempt_at"]), (&json!("failed"), &json!(null)));
    assert_eq!(delivery["attempts"].as_array().unwrap().len(), 5);
    world.pass(TimeDelta::days(2));
    assert_eq!(world.deliver().await, 0, "the failed delivery is kept and not retried");

    let posts = receiver.received();
    let of_each = |name: &str| posts.iter().map(|post| post.header(name).to_owned()).collect::<Vec<_>>();
    assert_eq!(of_each("x-service-attempt"), ["1", "2", "3", "4", "5"]);
    assert!(posts.iter().all(|post| post.body == posts[0].body), "the bytes are the same on every attempt");
    assert!(of_each("webhook-id").iter().all(|id| *id == posts[0].header("webhook-id")));
    let mut timestamps = of_each("webhook-timestamp");
    timestamps.dedup();
    assert_eq!(timestamps.len(), 5, "each attempt has a fresh timestamp");
}

#[tokio::test]
async fn the_wait_is_counted_from_the_end_of_the_attempt() {
    let world = World::new().await;
    let receiver = world.endpoint("shop.test").await;
    world.subscribe(&receiver, json!({ "timeout": 1 })).await;
    receiver.will([Reply::Silence]);
    world.publish("order.created").await;
    let claimed = world.state.webhooks.fan_out_and_claim(1).await.unwrap().pop().unwrap();
    // They pass once the attempt has begun.
    let ten_seconds_pass = async { world.pass(TimeDelta::seconds(10)) };
    let (attempt, ()) = futures::join!(world.state.webhooks.send(claimed), ten_seconds_pass);
    world.state.webhooks.record(&[attempt]).await.unwrap();
    let delivery = world.last_delivery().await;
    assert_eq!(delivery["attempts"][0]["started_at"], "2026-05-21T10:15:00.000+00:00");
    assert_eq!(delivery["next_attempt_at"], "2026-05-21T10:20:10.000+00:00");
}

#[tokio::test]
async fn a_retry_that_succeeds_ends_it() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    receiver.will([Reply::status(503)]);
    world.publish("order.created").await;
    world.deliver().await;
    world.pass(TimeDelta::minutes(5));
    world.deliver().await;
    let delivery = world.last_delivery().await;
    assert_eq!((&delivery["status"], &delivery["attempt_count"]), (&json!("delivered"), &json!(2)));
    assert_eq!(last_attempt(&delivery), (Some(200), None));
}

#[tokio::test]
async fn an_endpoint_can_ask_for_patience_up_to_eight_hours() {
    for (retry_after, wait) in [
        ("1200", 1200),
        ("1", 300),
        ("999999", 8 * 3600),
        ("Thu, 21 May 2026 11:15:00 GMT", 3600),
        // The obsolete forms of a date.
        ("Thursday, 21-May-26 11:15:00 GMT", 3600),
        ("Thu May 21 11:15:00 2026", 3600),
    ] {
        let world = World::new().await;
        let (receiver, _) = world.subscriber("shop.test").await;
        receiver.will([Reply::with(429, "retry-after", retry_after)]);
        world.publish("order.created").await;
        world.deliver().await;
        world.pass(TimeDelta::seconds(wait - 1));
        assert_eq!(world.deliver().await, 0, "{retry_after}");
        world.pass(TimeDelta::seconds(1));
        assert_eq!(world.deliver().await, 1, "{retry_after}");
    }
}

#[tokio::test]
async fn an_endpoint_that_is_gone_is_disabled() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    receiver.will([Reply::status(500)]);
    world.publish("order.created").await;
    world.deliver().await;
    world.pass(TimeDelta::seconds(1));
    receiver.will([Reply::status(410)]);
    world.publish("order.updated").await;
    world.deliver().await;

    let path = format!("webhooks/{}", webhook["id"].as_str().unwrap());
    let now = world.get(&path).await;
    assert_eq!((&now["webhook"]["status"], &now["webhook"]["disabled_reason"]), (&json!("disabled"), &json!("gone")));
    assert_eq!(now["webhook"]["disabled_at"], "2026-05-21T10:15:01.000+00:00");
    let states = world.get("deliveries?sort=created_at").await;
    let states: Vec<_> = states["deliveries"].as_array().unwrap().iter().map(|delivery| delivery["status"].clone()).collect();
    assert_eq!(states, ["cancelled", "failed"], "the waiting delivery is cancelled, the one with status 410 has failed");
    world.pass(TimeDelta::minutes(5));
    world.publish("order.completed").await;
    assert_eq!(world.deliver().await, 0);
}

#[tokio::test]
async fn a_disabled_webhook_gets_nothing_then_or_later() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    receiver.will([Reply::status(500)]);
    world.publish("order.created").await;
    world.deliver().await;
    let path = |action: &str| format!("webhooks/{}/{action}", webhook["id"].as_str().unwrap());
    let disabled: Value = world.developers(Method::POST, &path("disable"), json!({})).await.ok(200);
    assert_eq!((&disabled["webhook"]["status"], &disabled["webhook"]["disabled_reason"]), (&json!("disabled"), &json!("requested")));
    assert_eq!(world.last_delivery().await["status"], "cancelled");
    world.publish("order.updated").await;
    world.pass(TimeDelta::minutes(5));
    assert_eq!(world.deliver().await, 0);
    world.developers(Method::POST, &path("test"), json!({})).await.refused(422, "webhook_disabled");

    let enabled = world.developers(Method::POST, &path("enable"), json!({})).await.ok(200);
    assert_eq!((&enabled["webhook"]["status"], &enabled["webhook"]["disabled_at"]), (&json!("enabled"), &json!(null)));
    assert_eq!(world.deliver().await, 0, "events published while the webhook was disabled are not sent later");
    world.publish("order.completed").await;
    assert_eq!(world.deliver().await, 1);
}

#[tokio::test]
async fn a_deleted_webhook_gets_nothing_any_more() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    receiver.will([Reply::status(500)]);
    world.publish("order.created").await;
    world.deliver().await;
    let path = format!("webhooks/{}", webhook["id"].as_str().unwrap());
    world.developers(Method::DELETE, &path, json!({})).await.ok(200);
    world.publish("order.updated").await;
    world.pass(TimeDelta::minutes(5));
    assert_eq!(world.deliver().await, 0);
    let delivery = world.last_delivery().await;
    assert_eq!(delivery["status"], "cancelled", "its log can still be read");

    let replay = async |path: &str, body: Value| world.developers(Method::POST, &format!("{path}/replay"), body).await;
    let (since, of) = (json!({ "since": "2026-05-21T00:00:00Z" }), |member: &str| delivery[member].as_str().unwrap().to_owned());
    replay(&path, since).await.refused(404, "record_not_found");
    replay(&format!("deliveries/{}", of("id")), json!({})).await.refused(404, "record_not_found");
    assert_eq!(replay(&format!("events/{}", of("event_id")), json!({})).await.ok(201)["replay"]["count"], 0);
    assert_eq!(world.deliver().await, 0, "nothing is repeated for it either");
}

#[tokio::test]
async fn what_is_in_flight_when_its_webhook_is_disabled_may_arrive_and_is_not_repeated() {
    for (status, state) in [(200, "delivered"), (500, "cancelled"), (410, "cancelled")] {
        let world = World::new().await;
        let (receiver, webhook) = world.subscriber("shop.test").await;
        receiver.will([Reply::status(status)]);
        world.publish("order.created").await;
        world.fan_out().await;
        let claimed = world.state.webhooks.claim(1).await.unwrap().pop().unwrap();
        let path = format!("webhooks/{}/disable", webhook["id"].as_str().unwrap());
        world.developers(Method::POST, &path, json!({})).await.ok(200);
        let attempt = world.state.webhooks.send(claimed).await;
        world.state.webhooks.record(&[attempt]).await.unwrap();
        let delivery = world.last_delivery().await;
        assert_eq!((delivery["status"].as_str(), delivery["attempts"].as_array().unwrap().len()), (Some(state), 1));
        world.pass(TimeDelta::days(1));
        assert_eq!(world.deliver().await, 0);
    }
}

#[tokio::test]
async fn what_is_cancelled_in_flight_and_lost_is_not_sent_again() {
    let world = World::new().await;
    let (_receiver, webhook) = world.subscriber("shop.test").await;
    world.publish("order.created").await;
    world.fan_out().await;
    drop(world.state.webhooks.claim(1).await.unwrap());
    let path = format!("webhooks/{}", webhook["id"].as_str().unwrap());
    world.developers(Method::DELETE, &path, json!({})).await.ok(200);
    world.pass(TimeDelta::seconds(60));
    assert_eq!(world.deliver().await, 0);
    let delivery = world.last_delivery().await;
    assert_eq!((delivery["status"].as_str(), last_attempt(&delivery)), (Some("cancelled"), (None, Some("interrupted"))));
}
