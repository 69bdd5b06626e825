//! The look-up of customer tokens by the company's own servers: RFC 7662, docs/storefront.md.

use chrono::TimeDelta;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::customers::{EMAIL, me, token};
use crate::support::waiting::until;
use crate::support::{Answer, World};

const PATH: &str = "/storefront/int/v1/tokens/introspect";
const FORM: &str = "application/x-www-form-urlencoded";

async fn ask(world: &World, key: &str, form: String) -> Answer {
    world.request(Method::POST, PATH).key(key).header("content-type", FORM).body(form).send().await
}

async fn introspect(world: &World, token: &str) -> Value {
    ask(world, &world.api_key, form(token)).await.ok(200)
}

/// The bar of a token is not a letter of a form.
fn form(token: &str) -> String {
    format!("token={}&token_type_hint=access_token", token.replace('|', "%7C"))
}

#[tokio::test]
async fn a_live_token_is_active_and_says_whose_it_is() {
    let world = World::new().await;
    let ada = world.register(EMAIL).await;
    let sessions = world.storefront_get("customers/sessions").token(&token(&ada)).send().await.ok(200);
    let answer = ask(&world, &world.key_of(world.company, &[Scope::Read]).await, form(&token(&ada))).await;
    assert_eq!(answer.headers["cache-control"], "no-store");
    let began = world.clock.now().timestamp();
    let expected = json!({
        "active": true,
        "sub": ada["customer"]["id"],
        "client_id": world.store,
        "sid": sessions["sessions"][0]["id"],
        "iat": began,
        "exp": began + TimeDelta::days(365).num_seconds(),
        "auth_time": began,
    });
    assert_eq!(answer.ok(200), expected);
}

#[tokio::test]
async fn every_other_token_is_only_not_active() {
    let world = World::new().await;
    let (ada, inactive) = (token(&world.register(EMAIL).await), json!({ "active": false }));
    let (number, _) = ada.split_once('|').unwrap();
    for unknown in [String::new(), "x".to_owned(), format!("{number}|{}", "a".repeat(40)), format!("99{ada}")] {
        assert_eq!(introspect(&world, &unknown).await, inactive, "{unknown}");
    }
    let (_, other) = world.another_company(&[Scope::Admin]).await;
    assert_eq!(ask(&world, &other, form(&ada)).await.ok(200), inactive);
    assert_eq!(introspect(&world, &ada).await["active"], true);
    world.storefront("customers/logout").token(&ada).send().await.ok(200);
    assert_eq!(introspect(&world, &ada).await, inactive);
}

#[tokio::test]
async fn asking_for_a_token_is_using_it() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    world.pass(TimeDelta::days(364));
    assert_eq!(introspect(&world, &ada).await["active"], true);
    let used = "select count(*) from customer_tokens where last_used_at > created_at";
    until("the use is recorded", async || world.count(used).await > 0).await;
    world.pass(TimeDelta::days(2));
    assert_eq!(me(&world, &ada).await["email"], EMAIL);
}

#[tokio::test]
async fn what_is_no_form_with_a_token_is_refused() {
    let world = World::new().await;
    world.api(Method::POST, PATH).json(&json!({ "token": "x" })).send().await.refused(415, "media_type_unsupported");
    for form in ["", "hint=x", "token=a&token=b"] {
        ask(&world, &world.api_key, form.to_owned()).await.refused(422, "body_invalid");
    }
    ask(&world, "unknown", form("x")).await.refused(401, "api_key_invalid");
    let without_scopes = world.key_of(world.company, &[]).await;
    ask(&world, &without_scopes, form("x")).await.refused(403, "scope_missing");
}
