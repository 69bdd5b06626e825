//! What operators do to the account of a customer: decisions, section 9.

use chrono::TimeDelta;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, PHONE, login, reset_password, token, wrong};

/// A customer with a password, and the path of her record.
async fn ada(world: &World) -> (Value, String) {
    let ada = world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let path = format!("/storefront/int/v1/customers/{}", ada["customer"]["id"].as_str().unwrap());
    (ada, path)
}

async fn act(world: &World, path: &str, act: &str, body: Value) -> Value {
    world.api(Method::POST, &format!("{path}/{act}")).json(&body).send().await.ok(200)["customer"].take()
}

async fn me(world: &World, token: &str, status: u16, code: &str) {
    world.storefront_get("customers/me").token(token).send().await.refused(status, code);
}

#[tokio::test]
async fn a_ban_ends_every_session_and_refuses_every_sign_in_until_it_is_lifted() {
    let world = World::new().await;
    let (ada, path) = ada(&world).await;
    world.storefront_get("customers/me").token(&token(&ada)).send().await.ok(200);
    let banned = act(&world, &path, "ban", json!({ "reason": "chargebacks" })).await;
    assert_eq!((&banned["banned_reason"], banned["banned_at"].is_string()), (&json!("chargebacks"), true));
    me(&world, &token(&ada), 401, "customer_token_invalid").await;

    // Only who proves to be her is told.
    login(&world, EMAIL, PASSWORD).await.refused(403, "account_banned");
    login(&world, EMAIL, "wrong password").await.refused(401, "credentials_invalid");
    world.pass(TimeDelta::minutes(2));
    let code = world.sign_in_code(EMAIL).await;
    world.verify(EMAIL, wrong(&code)).await.refused(422, "code_invalid");
    world.verify(EMAIL, code.as_str()).await.refused(403, "account_banned");
    reset_password(&world, EMAIL, code, "another password").await.refused(403, "account_banned");
    let refused = world.api(Method::GET, "/storefront/int/v1/sign-ins?outcome=account_banned").send().await.ok(200);
    assert_eq!(refused["sign_ins"].as_array().unwrap().len(), 3);

    // A second ban has another reason and the first instant.
    let again = act(&world, &path, "ban", json!({ "reason": "more chargebacks" })).await;
    assert_eq!((&again["banned_reason"], &again["banned_at"]), (&json!("more chargebacks"), &banned["banned_at"]));
    let lifted = act(&world, &path, "unban", json!({})).await;
    assert_eq!((&lifted["banned_at"], &lifted["banned_reason"]), (&Value::Null, &Value::Null));
    login(&world, EMAIL, PASSWORD).await.ok(200);
    // What ended stays ended.
    me(&world, &token(&ada), 401, "customer_token_invalid").await;
    for reason in [json!({}), json!({ "reason": "" }), json!({ "reason": "a", "until": "b" })] {
        world.api(Method::POST, &format!("{path}/ban")).json(&reason).send().await.refused(422, "body_invalid");
    }
}

#[tokio::test]
async fn a_sign_in_and_a_ban_at_the_same_moment_leave_no_session() {
    let world = World::new().await;
    let (_, path) = ada(&world).await;
    for round in 0..5 {
        let sign_ins = futures::future::join_all((0..4).map(|_| login(&world, EMAIL, PASSWORD)));
        let (answers, _) = futures::future::join(sign_ins, act(&world, &path, "ban", json!({ "reason": "now" }))).await;
        for answer in answers {
            if answer.status == 200 {
                me(&world, &token(&answer.body), 401, "customer_token_invalid").await;
            } else {
                answer.refused(403, "account_banned");
            }
        }
        assert_eq!(world.count("select count(*) from customer_tokens where revoked_at is null").await, 0, "round {round}");
        act(&world, &path, "unban", json!({})).await;
        // What was refused counts as a guess.
        world.pass(TimeDelta::minutes(16));
    }
}

#[tokio::test]
async fn an_operator_unlocks_who_has_guessed_too_often() {
    let world = World::new().await;
    let (_, path) = ada(&world).await;
    let until = async || world.api(Method::GET, &path).send().await.ok(200)["customer"]["locked_out_until"].take();
    assert_eq!(until().await, Value::Null);
    for _ in 0..10 {
        login(&world, EMAIL, "wrong password").await.refused(401, "credentials_invalid");
    }
    login(&world, EMAIL, PASSWORD).await.refused(429, "password_attempts_exceeded");
    assert_eq!(until().await, "2026-05-21T10:30:00.000+00:00");
    assert_eq!(act(&world, &path, "unlock", json!({})).await["email"], EMAIL);
    assert_eq!(until().await, Value::Null);
    login(&world, EMAIL, PASSWORD).await.ok(200);

    // Codes: the tenth wrong one locks her address out, also for the right code.
    world.pass(TimeDelta::minutes(2));
    for _ in 0..2 {
        let code = world.sign_in_code(EMAIL).await;
        for _ in 0..5 {
            world.verify(EMAIL, wrong(&code)).await;
        }
        world.pass(TimeDelta::minutes(1));
    }
    let code = world.sign_in_code(EMAIL).await;
    world.verify(EMAIL, wrong(&code)).await.refused(429, "identity_locked_out");
    assert!(until().await.is_string());
    act(&world, &path, "unlock", json!({})).await;
    // At once, although a code was sent a moment ago: the old one is forgotten.
    let code = world.sign_in_code(EMAIL).await;
    world.verify(EMAIL, code).await.ok(200);
}

#[tokio::test]
async fn a_password_that_an_operator_has_reset_opens_nothing_until_a_code_sets_another() {
    let world = World::new().await;
    let (ada, path) = ada(&world).await;
    act(&world, &path, "reset-password", json!({})).await;
    me(&world, &token(&ada), 401, "customer_token_invalid").await;
    login(&world, EMAIL, PASSWORD).await.refused(401, "credentials_invalid");
    world.pass(TimeDelta::minutes(2));
    let code = world.sign_in_code(EMAIL).await;
    reset_password(&world, EMAIL, code, "another password").await.ok(200);
    login(&world, EMAIL, "another password").await.ok(200);
    // Who can be sent no code would be locked out for good.
    sqlx::query("update customers set email_verified_at = null").execute(&world.pool).await.unwrap();
    world.api(Method::POST, &format!("{path}/reset-password")).json(&json!({})).send().await.refused(422, "contact_missing");
    login(&world, EMAIL, "another password").await.ok(200);
}

#[tokio::test]
async fn an_operator_closes_an_account_like_its_customer_could() {
    let world = World::new().await;
    let (ada, path) = ada(&world).await;
    let device = json!({ "platform": "ios", "token": "apns" });
    world.storefront("customers/register-device").token(&token(&ada)).json(&device).send().await.ok(200);
    let closed = act(&world, &path, "close", json!({})).await;
    assert!(closed["closed_at"].is_string());
    me(&world, &token(&ada), 401, "customer_token_invalid").await;
    login(&world, EMAIL, PASSWORD).await.refused(401, "credentials_invalid");
    assert_eq!(world.count("select count(*) from devices").await, 0);
    let events = world.get("events?event=customer.closed").await;
    assert_eq!(events["events"][0]["data"]["id"], ada["customer"]["id"]);
    for (again, body) in [("close", json!({})), ("ban", json!({ "reason": "a" })), ("unban", json!({})), ("unlock", json!({}))] {
        world.api(Method::POST, &format!("{path}/{again}")).json(&body).send().await.refused(409, "account_closed");
    }
}

#[tokio::test]
async fn an_export_has_all_and_signs_nobody_in() {
    let world = World::new().await;
    let (ada, path) = ada(&world).await;
    let device = json!({ "platform": "ios", "token": "the-push-token" });
    world.storefront("customers/register-device").token(&token(&ada)).json(&device).send().await.ok(200);
    let exported = world.api(Method::GET, &format!("{path}/export")).send().await.ok(200);
    assert_eq!((&exported["customer"]["email"], &exported["customer"]["has_password"]), (&json!(EMAIL), &json!(true)));
    assert_eq!((&exported["devices"][0]["platform"], exported["sign_ins"].as_array().unwrap().len()), (&json!("ios"), 1));
    let text = exported.to_string();
    for secret in ["the-push-token", "argon2", "digest", token(&ada).split_once('|').unwrap().1] {
        assert!(!text.contains(secret), "{secret}");
    }
}

#[tokio::test]
async fn acts_are_in_the_audit_trail_and_for_those_who_may_change_customers() {
    let world = World::new().await;
    let (_, path) = ada(&world).await;
    act(&world, &path, "ban", json!({ "reason": "chargebacks" })).await;
    act(&world, &path, "unban", json!({})).await;
    act(&world, &path, "unlock", json!({})).await;
    act(&world, &path, "reset-password", json!({})).await;
    world.api(Method::GET, &format!("{path}/export")).send().await.ok(200);
    act(&world, &path, "close", json!({})).await;
    let changes = world.get("changes?kind=customer").await["changes"].take();
    let told: Vec<_> = changes.as_array().unwrap().iter().map(|change| (change["action"].clone(), change["fields"].clone())).collect();
    let updated = |fields: Value| (json!("updated"), fields);
    let ban = || updated(json!(["banned_at", "banned_reason"]));
    let mut expected = vec![
        updated(json!(["closed_at"])),
        (json!("shown"), json!([])),
        updated(json!(["password"])),
        updated(json!(["locked_out_until"])),
        ban(),
        ban(),
    ];
    // Of one instant, so in no order.
    let mut told = told;
    let by_text = |change: &(Value, Value)| format!("{change:?}");
    told.sort_by_key(by_text);
    expected.sort_by_key(by_text);
    assert_eq!(told, expected);
    assert!(!changes.to_string().contains("chargebacks"), "values are not kept");

    let reader = world.key_of(world.company, &[Scope::Read]).await;
    let (_, other) = world.another_company(&[Scope::Admin]).await;
    for act in ["ban", "unban", "unlock", "reset-password", "close"] {
        let body = if act == "ban" { json!({ "reason": "a" }) } else { json!({}) };
        let send = |key: &str| world.request(Method::POST, &format!("{path}/{act}")).key(key).json(&body).send();
        send(&reader).await.refused(403, "scope_missing");
        send(&other).await.refused(404, "record_not_found");
    }
    world.request(Method::GET, &format!("{path}/export")).key(&reader).send().await.refused(403, "scope_missing");
    world.request(Method::GET, &format!("{path}/export")).key(&other).send().await.refused(404, "record_not_found");
}

#[tokio::test]
async fn a_customer_is_found_however_the_address_or_number_is_written() {
    let world = World::new().await;
    world.register(PHONE).await;
    world.register("Grace.Hopper@Example.com").await;
    let ask = |query: &str| world.api(Method::GET, &format!("/storefront/int/v1/customers?{query}")).send();
    let find = async |query: &str| ask(query).await.ok(200)["customers"].as_array().unwrap().len();
    for query in ["email=grace.hopper@example.com", "email=GRACE.HOPPER@example.com", "phone=%2B12015550123", "phone=%2B1%20201-555-0123"] {
        assert_eq!(find(query).await, 1, "{query}");
    }
    assert_eq!(find("email=nobody@example.com").await, 0);
    for query in ["email=grace", "phone=5550123", "phone="] {
        ask(query).await.refused(422, "parameter_invalid");
    }
}
