//! Verifying a mail address after registration: as a number is verified (interface 1, rules 6 and 7), by mail.

use chrono::TimeDelta;
use futures::future::join;
use serde_json::{Value, json};

use crate::support::people::{EMAIL, PHONE, token, wrong};
use crate::support::{Answer, World};

const NEW: &str = "ada@lovelace.example";
const OTHER: &str = "countess@lovelace.example";

async fn ask(world: &World, token: &str, email: &str) -> Answer {
    world.storefront("customers/request-email-verification").token(token).json(&json!({ "email": email })).send().await
}

async fn confirm(world: &World, token: &str, code: impl Into<Value>) -> Answer {
    world.storefront("customers/verify-email").token(token).json(&json!({ "code": code.into() })).send().await
}

async fn change(world: &World, token: &str, email: &str) -> Value {
    ask(world, token, email).await.ok(200);
    confirm(world, token, world.last_code()).await.ok(200)
}

async fn ask_to_sign_in(world: &World, email: &str) -> Answer {
    world.storefront("customers/login-with-sms").json(&json!({ "identity": email })).send().await
}

#[tokio::test]
async fn the_code_goes_to_the_address_in_the_request_and_only_then_the_address_is_saved() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    assert_eq!(ask(&world, &ada, NEW).await.ok(200), json!({ "status": "ok", "method": "email" }));
    assert_eq!(world.messages()[0].to, NEW);
    let me = || world.storefront_get("customers/me").token(&ada).send();
    assert_eq!(me().await.ok(200)["email"], EMAIL);

    let code = world.last_code();
    let refusal = confirm(&world, &ada, wrong(&code)).await.refused(422, "code_invalid");
    assert_eq!(refusal["attempts_left"], 4);
    let saved = confirm(&world, &ada, code.clone()).await.ok(200);
    assert_eq!((&saved["customer"]["email"], &saved["customer"]["email_verified"]), (&json!(NEW), &json!(true)));
    assert_eq!(me().await.ok(200), saved["customer"]);
    assert_eq!(world.count("select count(*) from events where name = 'customer.updated'").await, 1);
    confirm(&world, &ada, code).await.refused(422, "code_invalid");
}

#[tokio::test]
async fn the_new_address_signs_in_and_the_old_one_is_nobodys() {
    let world = World::new().await;
    let login = world.register(EMAIL).await;
    change(&world, &token(&login), NEW).await;
    ask_to_sign_in(&world, EMAIL).await.refused(422, "customer_not_found");
    assert_eq!(ask_to_sign_in(&world, NEW).await.ok(200)["method"], "email");
    assert_eq!(world.verify(NEW, world.last_code()).await.ok(200)["customer"]["id"], login["customer"]["id"]);
    world.pass(TimeDelta::minutes(2));
    world.register(EMAIL).await;
}

#[tokio::test]
async fn who_has_a_number_alone_gains_an_address_and_keeps_the_number() {
    let world = World::new().await;
    let ada = token(&world.register(PHONE).await);
    let saved = change(&world, &ada, NEW).await;
    assert_eq!((&saved["customer"]["phone"], &saved["customer"]["phone_verified"]), (&json!(PHONE), &json!(true)));
    assert_eq!(saved["customer"]["email"], NEW);
    let body = json!({ "phone": "+12015550199" });
    world.storefront("customers/request-phone-verification").token(&ada).json(&body).send().await.ok(200);
    let body = json!({ "code": world.last_code() });
    let saved = world.storefront("customers/verify-phone-number").token(&ada).json(&body).send().await.ok(200);
    assert_eq!((&saved["customer"]["email"], &saved["customer"]["email_verified"]), (&json!(NEW), &json!(true)));
}

#[tokio::test]
async fn an_address_that_was_merely_typed_is_verified_by_whoever_typed_it() {
    let world = World::new().await;
    let login = world.register_with(PHONE, json!({ "email": EMAIL })).await;
    assert_eq!(login["customer"]["email_verified"], false);
    let saved = change(&world, &token(&login), EMAIL).await;
    assert_eq!((&saved["customer"]["email"], &saved["customer"]["email_verified"]), (&json!(EMAIL), &json!(true)));
}

#[tokio::test]
async fn an_address_of_another_account_is_refused() {
    let world = World::new().await;
    world.register(EMAIL).await;
    let bob = token(&world.register("bob@example.com").await);
    for spelling in [EMAIL, "ADA@Example.COM", " ada@example。com "] {
        ask(&world, &bob, spelling).await.refused(422, "email_taken");
    }
    assert_eq!(world.messages().len(), 2, "one for each registration");
}

#[tokio::test]
async fn what_is_no_address_is_refused() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    for text in ["", "ada", "ada@localhost", PHONE] {
        let refusal = ask(&world, &ada, text).await.refused(422, "body_invalid");
        assert!(refusal["fields"]["email"].is_array(), "{refusal}");
    }
    world.pass(TimeDelta::minutes(1));
    for body in [json!({}), json!({ "email": null }), json!({ "email": 7 }), json!({ "email": [EMAIL] })] {
        world.storefront("customers/request-email-verification").token(&ada).json(&body).send().await.refused(422, "body_invalid");
    }
}

#[tokio::test]
async fn every_spelling_of_the_address_is_one_and_the_plain_one_is_mailed_to_and_saved() {
    let world = World::new().await;
    let ada = token(&world.register(PHONE).await);
    for spelling in ["Ada@BÜCHER.example", "ada@xn--bcher-kva.example", " ADA@bücher.example "] {
        ask(&world, &ada, spelling).await.ok(200);
    }
    assert_eq!(world.messages().len(), 2, "one message a minute, beside that of the registration");
    assert_eq!(world.messages()[0].to, "ada@xn--bcher-kva.example");
    let saved = confirm(&world, &ada, world.last_code()).await.ok(200);
    assert_eq!(saved["customer"]["email"], "ada@xn--bcher-kva.example");
    ask_to_sign_in(&world, "ADA@Bücher.example").await.ok(200);
}

#[tokio::test]
async fn a_code_for_one_address_does_not_verify_another() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    ask(&world, &ada, NEW).await.ok(200);
    let first = world.last_code();
    ask(&world, &ada, OTHER).await.ok(200);
    let second = world.last_code();
    if first != second {
        confirm(&world, &ada, first).await.refused(422, "code_invalid");
    }
    let saved = confirm(&world, &ada, second).await.ok(200);
    assert_eq!(saved["customer"]["email"], OTHER);
}

#[tokio::test]
async fn a_code_for_an_address_verifies_no_number() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    ask(&world, &ada, NEW).await.ok(200);
    let code = world.last_code();
    let body = json!({ "code": code });
    world.storefront("customers/verify-phone-number").token(&ada).json(&body).send().await.refused(422, "code_invalid");
    confirm(&world, &ada, code).await.ok(200);
}

#[tokio::test]
async fn a_code_verifies_for_the_customer_who_asked_alone() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    let bob = token(&world.register("bob@example.com").await);
    ask(&world, &ada, NEW).await.ok(200);
    confirm(&world, &bob, world.last_code()).await.refused(422, "code_invalid");
    confirm(&world, &ada, world.last_code()).await.ok(200);
}

#[tokio::test]
async fn two_customers_verify_one_address_at_once_and_it_belongs_to_one() {
    for _ in 0..5 {
        let world = World::new().await;
        let ada = token(&world.register(EMAIL).await);
        let bob = token(&world.register("bob@example.com").await);
        ask(&world, &ada, NEW).await.ok(200);
        let adas = world.last_code();
        ask(&world, &bob, NEW).await.ok(200);
        let bobs = world.last_code();
        let (first, second) = join(confirm(&world, &ada, adas), confirm(&world, &bob, bobs)).await;
        match first.status {
            200 => second.refused(422, "email_taken"),
            _ => {
                first.refused(422, "email_taken");
                second.ok(200)
            }
        };
        assert_eq!(world.count("select count(*) from customers where email = 'ada@lovelace.example'").await, 1);
    }
}

#[tokio::test]
async fn two_customers_who_prove_the_address_the_other_one_typed_do_not_wait_in_a_circle() {
    for _ in 0..5 {
        let world = World::new().await;
        let ada = token(&world.register_with(PHONE, json!({ "email": NEW })).await);
        let bob = token(&world.register_with("+12025550199", json!({ "email": OTHER })).await);
        ask(&world, &ada, OTHER).await.ok(200);
        let adas = world.last_code();
        ask(&world, &bob, NEW).await.ok(200);
        let bobs = world.last_code();
        let (adas, bobs) = join(confirm(&world, &ada, adas), confirm(&world, &bob, bobs)).await;
        assert_eq!(adas.ok(200)["customer"]["email"], OTHER);
        assert_eq!(bobs.ok(200)["customer"]["email"], NEW);
    }
}

#[tokio::test]
async fn whoever_merely_typed_the_address_loses_it() {
    let world = World::new().await;
    let eve = world.register_with(PHONE, json!({ "email": NEW })).await;
    let ada = token(&world.register(EMAIL).await);
    change(&world, &ada, NEW).await;
    let me = world.storefront_get("customers/me").token(&token(&eve)).send().await.ok(200);
    assert_eq!(me["email"], Value::Null);
    assert_eq!(world.count("select count(*) from events where name = 'customer.updated'").await, 2);
}

#[tokio::test]
async fn a_code_on_its_way_to_the_address_being_left_lets_nobody_in() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    ask_to_sign_in(&world, EMAIL).await.ok(200);
    let to_the_old_address = world.last_code();
    change(&world, &ada, NEW).await;
    world.verify(EMAIL, to_the_old_address).await.refused(422, "code_invalid");
}

/// Changes the address to [`NEW`] while codes that were asked for are not written yet.
async fn change_while_codes_are_under_way(world: &World, token: &str) {
    sqlx::query("create table under_way as select * from verification_codes where purpose = 'sign_in'").execute(&world.pool).await.unwrap();
    change(world, token, NEW).await;
    sqlx::query("insert into verification_codes select * from under_way").execute(&world.pool).await.unwrap();
}

#[tokio::test]
async fn nor_does_one_that_was_asked_for_before_the_change_and_written_after_it() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    ask_to_sign_in(&world, EMAIL).await.ok(200);
    let to_the_old_address = world.last_code();
    change_while_codes_are_under_way(&world, &ada).await;
    let body = json!({ "identity": EMAIL, "code": to_the_old_address, "password": "battery staple" });
    world.storefront("customers/reset-password").json(&body).send().await.refused(422, "code_invalid");
    world.verify(EMAIL, to_the_old_address).await.refused(422, "code_invalid");
    assert_eq!(world.count("select count(*) from customer_tokens where revoked_at is null").await, 1);
}

#[tokio::test]
async fn nor_does_one_that_was_asked_for_by_the_number_and_mailed_to_that_address() {
    let world = World::new().await;
    let ada = token(&world.register(PHONE).await);
    change(&world, &ada, EMAIL).await;
    sqlx::query("update stores set texts_paused_at = now(), texts_paused_reason = 'by hand'").execute(&world.pool).await.unwrap();
    let sent = world.storefront("customers/login-with-sms").json(&json!({ "phone": PHONE })).send().await.ok(200);
    assert_eq!((&sent["method"], world.messages()[0].to.as_str()), (&json!("email"), EMAIL));
    let to_the_old_address = world.last_code();
    change_while_codes_are_under_way(&world, &ada).await;
    let body = json!({ "identity": PHONE, "code": to_the_old_address, "password": "battery staple" });
    world.storefront("customers/reset-password").json(&body).send().await.refused(422, "code_invalid");
    world.verify(PHONE, to_the_old_address).await.refused(422, "code_invalid");
    assert_eq!(world.count("select count(*) from customer_tokens where revoked_at is null").await, 1);
}

#[tokio::test]
async fn who_closes_the_account_verifies_nothing_with_a_code_asked_for_before() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    ask(&world, &ada, NEW).await.ok(200);
    let code = world.last_code();
    world.storefront("customers/account-closure").token(&ada).send().await.ok(200);
    let body = json!({ "code": world.last_code() });
    world.storefront("customers/confirm-account-closure").token(&ada).json(&body).send().await.ok(200);
    confirm(&world, &ada, code).await.refused(401, "customer_token_invalid");
    ask(&world, &ada, OTHER).await.refused(401, "customer_token_invalid");
    assert_eq!(world.count("select count(*) from verification_codes where purpose = 'verify_email'").await, 0);
}

#[tokio::test]
async fn the_code_lives_ten_minutes_and_five_guesses_lock_it() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    ask(&world, &ada, NEW).await.ok(200);
    let code = world.last_code();
    world.pass(TimeDelta::minutes(10));
    confirm(&world, &ada, code).await.refused(422, "code_expired");
    ask(&world, &ada, NEW).await.ok(200);
    let code = world.last_code();
    for _ in 0..4 {
        confirm(&world, &ada, wrong(&code)).await.refused(422, "code_invalid");
    }
    confirm(&world, &ada, wrong(&code)).await.refused(422, "code_locked");
    confirm(&world, &ada, code).await.refused(422, "code_locked");
}

#[tokio::test]
async fn ten_wrong_codes_lock_the_address_out_for_everybody_who_asks_about_it() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    let bob = token(&world.register("bob@example.com").await);
    ask(&world, &ada, NEW).await.ok(200);
    let adas = world.last_code();
    for _ in 0..5 {
        confirm(&world, &ada, wrong(&adas)).await;
    }
    ask(&world, &bob, NEW).await.ok(200);
    let bobs = world.last_code();
    for _ in 0..4 {
        confirm(&world, &bob, wrong(&bobs)).await.refused(422, "code_invalid");
    }
    confirm(&world, &bob, wrong(&bobs)).await.refused(429, "identity_locked_out");
    confirm(&world, &bob, bobs).await.refused(429, "identity_locked_out");
    world.open_account(NEW, "123456").await.refused(429, "identity_locked_out");
}
