//! Connections that an endpoint ends while a request is on its way: decisions, section 7, Delivery.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::http2::{Refusal, refusing};
use crate::support::keeping::{Ending, Keeping};
use crate::support::receiver::Reply;
use crate::support::subscribers::{last_attempt, will_be_retried_after};
use crate::support::waiting::until;

/// A world that delivers events, one after the other, until one of them has met the end of a kept connection. The number of events.
async fn meeting(ending: Ending) -> (World, Keeping, usize) {
    let world = World::new().await;
    world.resolver.insert("shop.test", &["127.0.0.1".parse().unwrap()]);
    let endpoint = Keeping::start("shop.test", ending).await;
    world.developers(Method::POST, "webhooks", json!({ "url": endpoint.url, "timeout": 30 })).await.ok(201);
    let mut published = 0;
    until("a kept connection has ended under a request", async || {
        world.pass(TimeDelta::seconds(1));
        world.publish("order.created").await;
        published += 1;
        world.deliver().await;
        !endpoint.arrived().unanswered.is_empty()
    })
    .await;
    (world, endpoint, published)
}

#[tokio::test]
async fn a_request_that_meets_the_end_of_a_kept_connection_is_sent_again_within_the_attempt() {
    for ending in [Ending::Orderly, Ending::Abrupt, Ending::Reset] {
        let (world, endpoint, published) = meeting(ending).await;
        let delivery = world.last_delivery().await;
        assert_eq!((delivery["status"].as_str(), last_attempt(&delivery)), (Some("delivered"), (Some(200), None)), "{ending:?}");
        let attempts = delivery["attempts"].as_array().unwrap();
        assert_eq!((attempts.len(), &attempts[0]["resends"]), (1, &json!(1)), "{ending:?}: the log says so");
        let sent_again = "select count(*) from attempts where resends > 0";
        assert_eq!((world.count("select count(*) from attempts").await, world.count(sent_again).await), (published as i64, 1));
        let arrived = endpoint.arrived();
        assert_eq!((arrived.answered.len(), arrived.unanswered.len()), (published, 1), "{ending:?}");
        assert_eq!(arrived.answered.iter().collect::<BTreeSet<_>>().len(), published, "each is answered once: {arrived:?}");
        assert_eq!(world.count("select count(*) from endpoints where consecutive_failures > 0").await, 0);
    }
}

#[tokio::test]
async fn a_request_is_not_sent_again_once_an_answer_has_begun() {
    let (world, endpoint, published) = meeting(Ending::Begun).await;
    let delivery = world.last_delivery().await;
    will_be_retried_after(&delivery, "closed");
    assert_eq!(delivery["attempts"][0]["resends"], 0);
    assert_eq!(endpoint.arrived().answered.len(), published - 1);
}

#[tokio::test]
async fn a_new_connection_that_ends_without_an_answer_is_a_failure() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    receiver.will([Reply::Close, Reply::Close]);
    world.publish("order.created").await;
    world.deliver().await;
    let delivery = world.last_delivery().await;
    will_be_retried_after(&delivery, "closed");
    assert_eq!((receiver.count(), &delivery["attempts"][0]["resends"]), (1, &json!(0)));
}

/// The error of an attempt, and how often its request was sent again.
type Sent = (Option<String>, i16);

/// Delivers events, one after the other, until this is so of what was sent.
async fn by_http2(refusal: Refusal, holds: impl Fn(&[Sent]) -> bool) -> Vec<Sent> {
    let world = World::new().await;
    world.resolver.insert("shop.test", &["127.0.0.1".parse().unwrap()]);
    let url = refusing("shop.test", refusal).await;
    world.developers(Method::POST, "webhooks", json!({ "url": url, "timeout": 30 })).await.ok(201);
    let mut sent: Vec<Sent> = Vec::new();
    until("enough is sent", async || {
        world.pass(TimeDelta::seconds(1));
        world.publish("order.created").await;
        world.deliver().await;
        let attempts = sqlx::query_as("select error, resends from attempts order by started_at");
        sent = attempts.fetch_all(&world.pool).await.unwrap();
        holds(&sent)
    })
    .await;
    sent
}

#[tokio::test]
async fn the_same_is_so_with_http2() {
    for refusal in [Refusal::LeavesAfter(1), Refusal::ResetsAfter(1)] {
        // On a slow machine a connection may not be kept until the second event, or the third.
        let mut sent = by_http2(refusal, |sent| sent.last() != Some(&(None, 0))).await;
        assert_eq!(sent.pop(), Some((None, 1)), "{refusal:?}: the last met the end of a kept connection");
        assert!(!sent.is_empty(), "{refusal:?}");
    }
    let closed = || (Some("closed".to_owned()), 0);
    assert_eq!(by_http2(Refusal::LeavesAfter(0), |sent| sent.len() == 2).await, [closed(), closed()], "each connection was new");
}
