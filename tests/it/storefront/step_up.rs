//! A stolen token must not become the account: what opens the account is changed in a fresh session only (decisions, section 3, Freshness).

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::customers::{EMAIL, PASSWORD, PHONE, home, login, me, token, wrong};
use crate::support::identity_provider::{IdentityProvider, sign_in_with_a};
use crate::support::{Answer, World};

const NEW_PHONE: &str = "+12015550199";

async fn post(world: &World, token: &str, path: &str, body: Value) -> Answer {
    world.storefront(path).token(token).json(&body).send().await
}

/// What a thief of a token would do, each with a body that a fresh session may send.
fn takeovers() -> Vec<(&'static str, Value)> {
    vec![
        ("customers/request-phone-verification", json!({ "phone": NEW_PHONE })),
        ("customers/verify-phone-number", json!({ "code": "123456" })),
        ("customers/request-email-verification", json!({ "email": "eve@example.com" })),
        ("customers/verify-email", json!({ "code": "123456" })),
        ("customers/change-password", json!({ "password": "battery staple correct" })),
        ("customers/link-idp-a", json!({ "identityToken": "x" })),
    ]
}

#[tokio::test]
async fn a_session_that_is_not_fresh_changes_nothing_that_opens_the_account() {
    let world = World::new().await;
    let ada = token(&world.register_with(EMAIL, json!({ "phone": PHONE, "password": PASSWORD })).await);
    world.pass(TimeDelta::minutes(10));
    for (path, body) in takeovers() {
        let refusal = post(&world, &ada, path, body).await.refused(403, "fresh_sign_in_required");
        assert_eq!(refusal["ways"], json!(["code", "password", "sign_in"]), "{path}");
        // Only proven contacts, and no more of them than is needed to recognize them.
        assert_eq!(refusal["contacts"], json!({ "email": "a•••@example.com" }), "{path}");
    }
    let unlink = world.request(Method::DELETE, "/storefront/v1/customers/providers/idp-a").key(&world.store_key).token(&ada);
    unlink.send().await.refused(403, "fresh_sign_in_required");
    assert_eq!(world.messages().len(), 1, "that of the registration");
    // What does not open the account needs no proof.
    me(&world, &ada).await;
    world.storefront_get("customers/sessions").token(&ada).send().await.ok(200);
}

#[tokio::test]
async fn a_session_is_fresh_for_ten_minutes_after_the_sign_in() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    world.pass(TimeDelta::minutes(10) - TimeDelta::microseconds(1));
    post(&world, &ada, "customers/request-phone-verification", json!({ "phone": PHONE })).await.ok(200);
    let code = json!({ "code": world.last_code() });
    world.pass(TimeDelta::microseconds(1));
    post(&world, &ada, "customers/request-phone-verification", json!({ "phone": PHONE })).await.refused(403, "fresh_sign_in_required");
    post(&world, &ada, "customers/verify-email", code.clone()).await.refused(403, "fresh_sign_in_required");
    // What was asked for in time is confirmed as long as the code lives.
    world.pass(TimeDelta::minutes(9));
    let saved = post(&world, &ada, "customers/verify-phone-number", code).await.ok(200);
    assert_eq!(saved["customer"]["phone"], PHONE);
}

#[tokio::test]
async fn a_code_to_a_proven_contact_makes_the_session_fresh_and_no_other() {
    let world = World::new().await;
    let ada = token(&world.register_with(EMAIL, json!({ "phone": PHONE, "password": PASSWORD })).await);
    let stolen = token(&login(&world, EMAIL, PASSWORD).await.ok(200));
    world.pass(TimeDelta::hours(1));
    assert_eq!(post(&world, &ada, "customers/request-step-up", json!({})).await.ok(200)["method"], "email");
    assert_eq!(world.messages()[0].to, EMAIL, "the number is not proven");
    let code = world.last_code();
    let confirm = |code: String| post(&world, &ada, "customers/confirm-step-up", json!({ "code": code }));
    assert_eq!(confirm(wrong(&code)).await.refused(422, "code_invalid")["attempts_left"], 4);
    let fresh = confirm(code.clone()).await.ok(200);
    assert_eq!(fresh["fresh_until"], "2026-05-21T11:25:00.000+00:00");
    confirm(code).await.refused(422, "code_used");
    post(&world, &ada, "customers/request-phone-verification", json!({ "phone": NEW_PHONE })).await.ok(200);
    post(&world, &stolen, "customers/request-phone-verification", json!({ "phone": PHONE })).await.refused(403, "fresh_sign_in_required");
    world.pass(TimeDelta::minutes(10));
    post(&world, &ada, "customers/request-phone-verification", json!({ "phone": PHONE })).await.refused(403, "fresh_sign_in_required");
}

#[tokio::test]
async fn the_customer_chooses_between_text_and_mail() {
    let world = World::new().await;
    let ada = token(&world.register(PHONE).await);
    sqlx::query("update customers set email = $1, email_verified_at = now()").bind(EMAIL).execute(&world.pool).await.unwrap();
    world.pass(TimeDelta::hours(1));
    let ask = |body: Value| post(&world, &ada, "customers/request-step-up", body);
    assert_eq!(ask(json!({})).await.ok(200)["method"], "sms");
    world.pass(TimeDelta::minutes(2));
    assert_eq!(ask(json!({ "method": "email" })).await.ok(200)["method"], "email");
    assert_eq!(world.messages()[0].to, EMAIL);
    ask(json!({ "method": "pigeon" })).await.refused(422, "body_invalid");
}

#[tokio::test]
async fn the_password_makes_the_session_fresh_and_cannot_be_guessed() {
    let world = World::new().await;
    let ada = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    world.pass(TimeDelta::hours(1));
    let confirm = |password: &str| post(&world, &ada, "customers/confirm-step-up", json!({ "password": password }));
    confirm("wrong password").await.refused(401, "credentials_invalid");
    confirm(PASSWORD).await.ok(200);
    post(&world, &ada, "customers/request-phone-verification", json!({ "phone": PHONE })).await.ok(200);
    // Ten wrong ones, from whatever address, and the right one is not compared any more.
    for _ in 0..10 {
        confirm("wrong password").await.refused(401, "credentials_invalid");
    }
    confirm(PASSWORD).await.refused(429, "password_attempts_exceeded");
    world.pass(TimeDelta::minutes(15));
    confirm(PASSWORD).await.ok(200);
    for body in [json!({}), json!({ "code": "123456", "password": PASSWORD }), json!({ "password": null })] {
        post(&world, &ada, "customers/confirm-step-up", body).await.refused(422, "body_invalid");
    }
}

#[tokio::test]
async fn strangers_who_lock_the_password_keep_no_customer_from_proving_it_on_their_own_device() {
    let world = World::new().await;
    let ada = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    for _ in 0..10 {
        login(&world, EMAIL, "wrong password").await.refused(401, "credentials_invalid");
    }
    post(&world, &ada, "customers/confirm-step-up", json!({ "password": PASSWORD })).await.refused(429, "password_attempts_exceeded");
    let at_home = world.storefront("customers/confirm-step-up").token(&ada).from(&home(EMAIL));
    at_home.json(&json!({ "password": PASSWORD })).send().await.ok(200);
}

#[tokio::test]
async fn a_session_that_another_instance_has_ended_confirms_nothing() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    post(&world, &ada, "customers/request-phone-verification", json!({ "phone": PHONE })).await.ok(200);
    let code = json!({ "code": world.last_code() });
    // This instance has the session in its cache, for another second.
    sqlx::query("update customer_tokens set revoked_at = now()").execute(&world.pool).await.unwrap();
    post(&world, &ada, "customers/verify-phone-number", code).await.refused(401, "customer_token_invalid");
    assert_eq!(world.count("select count(*) from customers where phone is not null").await, 0);
}

#[tokio::test]
async fn a_customer_with_a_provider_alone_signs_in_with_it_again() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let ada = sign_in_with_a(&world, "7").await;
    world.pass(TimeDelta::hours(1));
    let refusal = post(&world, &ada, "customers/request-email-verification", json!({ "email": EMAIL })).await;
    let refusal = refusal.refused(403, "fresh_sign_in_required");
    assert_eq!((&refusal["ways"], &refusal["contacts"]), (&json!(["sign_in"]), &json!({})));
    post(&world, &ada, "customers/request-step-up", json!({})).await.refused(422, "contact_missing");
    post(&world, &ada, "customers/confirm-step-up", json!({ "password": PASSWORD })).await.refused(401, "credentials_invalid");
    let again = sign_in_with_a(&world, "7").await;
    post(&world, &again, "customers/request-email-verification", json!({ "email": EMAIL })).await.ok(200);
}

#[tokio::test]
async fn closing_the_account_needs_no_other_proof_than_its_code() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    world.pass(TimeDelta::hours(1));
    post(&world, &ada, "customers/account-closure", json!({})).await.ok(200);
    assert_eq!(world.messages()[0].to, EMAIL);
    post(&world, &ada, "customers/confirm-account-closure", json!({ "code": world.last_code() })).await.ok(200);
    assert!(world.messages()[0].text.contains("Your account at Acme Shop was closed."));
}

#[tokio::test]
async fn a_code_of_another_purpose_does_not_make_a_session_fresh() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    world.pass(TimeDelta::hours(1));
    post(&world, &ada, "customers/account-closure", json!({})).await.ok(200);
    post(&world, &ada, "customers/confirm-step-up", json!({ "code": world.last_code() })).await.refused(422, "code_invalid");
    let to_sign_in = world.sign_in_code(EMAIL).await;
    post(&world, &ada, "customers/confirm-step-up", json!({ "code": to_sign_in })).await.refused(422, "code_invalid");
}
