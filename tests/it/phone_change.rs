//! Verifying a number after registration: interface 1, rules 6 and 7.

use chrono::TimeDelta;
use futures::future::join;
use serde_json::{Value, json};

use crate::support::people::{EMAIL, PHONE, token, wrong};
use crate::support::{Answer, World};

const OTHER: &str = "+12015550199";

async fn ask(world: &World, token: &str, phone: &str) -> Answer {
    world.storefront("customers/request-phone-verification").token(token).json(&json!({ "phone": phone })).send().await
}

async fn confirm(world: &World, token: &str, code: impl Into<Value>) -> Answer {
    world.storefront("customers/verify-phone-number").token(token).json(&json!({ "code": code.into() })).send().await
}

#[tokio::test]
async fn the_code_goes_to_the_number_in_the_request_and_only_then_the_number_is_saved() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    assert_eq!(ask(&world, &ada, "1 (201) 555-0123").await.ok(200), json!({ "status": "ok", "method": "sms" }));
    assert_eq!(world.messages()[0].to, PHONE);
    let me = world.storefront_get("customers/me").token(&ada).send().await.ok(200);
    assert_eq!(me["phone"], Value::Null);

    let code = world.last_code();
    let refusal = confirm(&world, &ada, wrong(&code)).await.refused(422, "code_invalid");
    assert_eq!(refusal["attempts_left"], 4);
    let saved = confirm(&world, &ada, code.clone()).await.ok(200);
    assert_eq!((&saved["customer"]["phone"], &saved["customer"]["phone_verified"]), (&json!(PHONE), &json!(true)));
    assert_eq!(world.count("select count(*) from events where name = 'customer.updated'").await, 1);
    confirm(&world, &ada, code).await.refused(422, "code_invalid");
}

#[tokio::test]
async fn a_number_of_another_account_is_refused() {
    let world = World::new().await;
    world.register(PHONE).await;
    let bob = token(&world.register("bob@example.com").await);
    ask(&world, &bob, PHONE).await.refused(422, "phone_taken");
    ask(&world, &bob, "+442079460018").await.refused(422, "number_unreachable");
    ask(&world, &bob, "hello").await.refused(422, "number_invalid");
}

#[tokio::test]
async fn a_code_for_one_number_does_not_verify_another() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    ask(&world, &ada, PHONE).await.ok(200);
    let first = world.last_code();
    ask(&world, &ada, OTHER).await.ok(200);
    let second = world.last_code();
    if first != second {
        confirm(&world, &ada, first).await.refused(422, "code_invalid");
    }
    let saved = confirm(&world, &ada, second).await.ok(200);
    assert_eq!(saved["customer"]["phone"], OTHER);
}

#[tokio::test]
async fn a_code_verifies_for_the_customer_who_asked_alone() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    let bob = token(&world.register("bob@example.com").await);
    ask(&world, &ada, PHONE).await.ok(200);
    confirm(&world, &bob, world.last_code()).await.refused(422, "code_invalid");
    confirm(&world, &ada, world.last_code()).await.ok(200);
}

#[tokio::test]
async fn two_customers_verify_one_number_at_once_and_it_belongs_to_one() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    let bob = token(&world.register("bob@example.com").await);
    ask(&world, &ada, PHONE).await.ok(200);
    let adas = world.last_code();
    world.pass(TimeDelta::seconds(30));
    ask(&world, &bob, PHONE).await.ok(200);
    let bobs = world.last_code();
    let (first, second) = join(confirm(&world, &ada, adas), confirm(&world, &bob, bobs)).await;
    let mut statuses = [first.status, second.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 422]);
    assert_eq!(world.count("select count(*) from customers where phone_verified_at is not null").await, 1);
}

#[tokio::test]
async fn the_code_lives_ten_minutes_and_five_guesses_lock_it() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    ask(&world, &ada, PHONE).await.ok(200);
    let code = world.last_code();
    world.pass(TimeDelta::minutes(10));
    confirm(&world, &ada, code).await.refused(422, "code_expired");
    ask(&world, &ada, PHONE).await.ok(200);
    let code = world.last_code();
    for _ in 0..4 {
        confirm(&world, &ada, wrong(&code)).await.refused(422, "code_invalid");
    }
    confirm(&world, &ada, wrong(&code)).await.refused(422, "code_locked");
    confirm(&world, &ada, code).await.refused(422, "code_locked");
}

#[tokio::test]
async fn without_any_code_a_guess_is_wrong() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    for _ in 0..9 {
        confirm(&world, &ada, "123456").await.refused(422, "code_invalid");
    }
    confirm(&world, &ada, "123456").await.refused(429, "identity_locked_out");
}
