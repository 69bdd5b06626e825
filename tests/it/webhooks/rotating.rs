//! Signing secrets: shown once, encrypted at rest, rotated with an overlap (decisions, section 7, Secret).

use chrono::TimeDelta;
use portico::callers::Scope;
use portico::kernel::crypto::hmac_sha256;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::receiver::{Received, Receiver};
use crate::support::subscribers::last_attempt;

async fn next(world: &World, receiver: &Receiver) -> Received {
    world.publish("order.created").await;
    world.deliver().await;
    receiver.received().pop().unwrap()
}

fn service_signature(secret: &Value, received: &Received) -> String {
    hex::encode(hmac_sha256(secret.as_str().unwrap().as_bytes(), &[&received.body]))
}

fn signatures(received: &Received) -> usize {
    received.header("webhook-signature").split(' ').count()
}

#[tokio::test]
async fn a_secret_is_shown_when_it_is_made_and_again_only_to_a_key_that_may_do_everything() {
    let world = World::new().await;
    let (_receiver, webhook) = world.subscriber("shop.test").await;
    let secret = webhook["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_") && secret.len() == 6 + 44);
    let path = format!("webhooks/{}", webhook["id"].as_str().unwrap());
    assert_eq!(world.get(&path).await["webhook"].get("secret"), None);
    assert_eq!(world.get("webhooks").await["webhooks"][0].get("secret"), None);
    let changed = world.developers(Method::PUT, &path, json!({ "description": "mine" })).await.ok(200);
    assert_eq!(changed["webhook"].get("secret"), None);

    let path = format!("/developers/int/v1/{path}/secret");
    let admin = world.key_of(world.company, &[Scope::Admin]).await;
    let again = world.request(Method::GET, &path).key(&admin).send().await.ok(200);
    assert_eq!((&again["webhook"]["id"], &again["webhook"]["secret"]), (&webhook["id"], &webhook["secret"]));
    let less = world.key_of(world.company, &[Scope::Read, Scope::Write, Scope::Events]).await;
    world.request(Method::GET, &path).key(&less).send().await.refused(403, "scope_missing");
    let (_, theirs) = world.another_company(&[Scope::Admin]).await;
    world.request(Method::GET, &path).key(&theirs).send().await.refused(404, "record_not_found");
}

#[tokio::test]
async fn a_secret_is_never_in_the_database_in_clear() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    let path = format!("webhooks/{}/rotate-secret", webhook["id"].as_str().unwrap());
    world.developers(Method::POST, &path, json!({})).await.ok(200);
    next(&world, &receiver).await;
    let found = "select count(*) from (
                     select row_to_json(s)::text || encode(sealed_secret, 'escape') || encode(sealed_previous_secret, 'escape') as text
                     from subscriptions s
                     union all select row_to_json(a)::text from attempts a
                     union all select encode(body, 'escape') from events
                 ) as everything where text like '%whsec%'";
    assert_eq!(world.count(found).await, 0);
}

#[tokio::test]
async fn while_a_rotation_overlaps_both_secrets_sign_and_then_the_new_one_alone() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    let path = format!("webhooks/{}/rotate-secret", webhook["id"].as_str().unwrap());
    let rotated = world.developers(Method::POST, &path, json!({ "overlap": 3600 })).await.ok(200);
    let (old, new) = (&webhook["secret"], &rotated["webhook"]["secret"]);
    assert_ne!(old, new);
    assert_eq!(rotated["webhook"]["previous_secret_until"], "2026-05-21T11:15:00.000+00:00");

    world.pass(TimeDelta::seconds(3599));
    let during = next(&world, &receiver).await;
    assert_eq!(during.header("x-service-signature"), service_signature(old, &during));
    assert_eq!(signatures(&during), 2);
    world.pass(TimeDelta::seconds(1));
    let after = next(&world, &receiver).await;
    assert_eq!(after.header("x-service-signature"), service_signature(new, &after));
    assert_eq!(signatures(&after), 1);
}

#[tokio::test]
async fn a_rotation_overlaps_for_a_day_unless_it_says_otherwise() {
    let world = World::new().await;
    let (_receiver, webhook) = world.subscriber("shop.test").await;
    let path = format!("webhooks/{}/rotate-secret", webhook["id"].as_str().unwrap());
    let rotated = world.developers(Method::POST, &path, json!({})).await.ok(200);
    assert_eq!(rotated["webhook"]["previous_secret_until"], "2026-05-22T10:15:00.000+00:00");
}

#[tokio::test]
async fn without_an_overlap_the_old_secret_is_gone_at_once() {
    let world = World::new().await;
    let (receiver, webhook) = world.subscriber("shop.test").await;
    let path = format!("webhooks/{}/rotate-secret", webhook["id"].as_str().unwrap());
    let rotated = world.developers(Method::POST, &path, json!({ "overlap": 0 })).await.ok(200);
    assert_eq!(rotated["webhook"]["previous_secret_until"], json!(null));
    let received = next(&world, &receiver).await;
    assert_eq!(received.header("x-service-signature"), service_signature(&rotated["webhook"]["secret"], &received));
    assert_eq!(signatures(&received), 1);
}

#[tokio::test]
async fn an_overlap_is_whole_seconds_and_at_most_thirty_days() {
    let world = World::new().await;
    let (_receiver, webhook) = world.subscriber("shop.test").await;
    let path = format!("webhooks/{}/rotate-secret", webhook["id"].as_str().unwrap());
    for overlap in [json!(-1), json!(2_592_001), json!(1.5), json!("3600"), json!(null)] {
        world.developers(Method::POST, &path, json!({ "overlap": overlap })).await.refused(422, "body_invalid");
    }
    world.developers(Method::POST, &path, json!({ "overlapp": 1 })).await.refused(422, "body_invalid");
    assert_eq!(world.count("select count(*) from subscriptions where version = 1").await, 1);
}

#[tokio::test]
async fn a_sealed_secret_in_another_row_signs_nothing() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let (_other, _) = world.subscriber("other.test").await;
    sqlx::query("update subscriptions as one set sealed_secret = other.sealed_secret from subscriptions as other where one.id <> other.id")
        .execute(&world.pool)
        .await
        .unwrap();
    world.publish("order.created").await;
    world.deliver().await;
    assert_eq!(last_attempt(&world.last_delivery().await), (None, Some("unsigned")));
    assert!(receiver.received().is_empty());
}
