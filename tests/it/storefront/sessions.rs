//! A customer's sessions: how many there are, how long they last, what they are called, and what ends with them (decisions, section 3,
//! Sessions).

use chrono::TimeDelta;
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::customers::{EMAIL, PASSWORD, login, reset_password, token};
use crate::support::waiting::until;
use crate::support::{Answer, World};

async fn is_signed_in(world: &World, token: &str) -> bool {
    world.storefront_get("customers/me").token(token).send().await.status == 200
}

async fn listed(world: &World, token: &str, query: &str) -> Value {
    world.storefront_get(&format!("customers/sessions{query}")).token(token).send().await.ok(200)
}

async fn on_session(world: &World, method: Method, token: &str, id: &str, body: Value) -> Answer {
    world.request(method, &format!("/storefront/v1/customers/sessions/{id}")).key(&world.store_key).token(token).json(&body).send().await
}

/// The id of the session that has this token.
async fn id_of(world: &World, token: &str) -> String {
    let listed = listed(world, token, "").await["sessions"].clone();
    let current = listed.as_array().unwrap().iter().find(|session| session["current"] == true).unwrap();
    current["id"].as_str().unwrap().to_owned()
}

async fn register_device(world: &World, token: &str, push_token: &str) -> Answer {
    world.storefront("customers/register-device").token(token).json(&json!({ "platform": "ios", "token": push_token })).send().await
}

#[tokio::test]
async fn one_more_session_than_a_customer_may_have_ends_the_one_that_was_used_the_longest_ago() {
    let world = World::with(&[("storefront.sessions_per_customer", "3")]).await;
    let first = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    register_device(&world, &first, "first").await.ok(200);
    let mut tokens = vec![first];
    for _ in 0..3 {
        world.pass(TimeDelta::seconds(1));
        tokens.push(token(&login(&world, EMAIL, PASSWORD).await.ok(200)));
    }
    assert!(!is_signed_in(&world, &tokens[0]).await);
    for lasting in &tokens[1..] {
        assert!(is_signed_in(&world, lasting).await);
    }
    assert_eq!(world.count("select count(*) from devices").await, 0, "its push device ended with it");
}

#[tokio::test]
async fn a_session_in_constant_use_is_not_ended_by_many_sign_ins_within_five_minutes() {
    let world = World::with(&[("storefront.sessions_per_customer", "6")]).await;
    let used = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    let sign_in = async || {
        world.pass(TimeDelta::seconds(10));
        token(&login(&world, EMAIL, PASSWORD).await.ok(200))
    };
    let mut others = Vec::new();
    for _ in 0..3 {
        others.push(sign_in().await);
    }
    for _ in 0..4 {
        world.pass(TimeDelta::seconds(10));
        assert!(is_signed_in(&world, &used).await);
        until("the use is noted", async || {
            world.count("select count(*) from customer_tokens where last_used_at > (select max(created_at) from customer_tokens)").await > 0
        })
        .await;
        others.push(sign_in().await);
    }
    assert!(is_signed_in(&world, &used).await);
    for (number, other) in others.iter().enumerate() {
        assert_eq!(is_signed_in(&world, other).await, number >= 2, "{number}");
    }
}

#[tokio::test]
async fn parallel_sign_ins_leave_no_more_sessions_than_a_customer_may_have() {
    let world = World::with(&[("storefront.sessions_per_customer", "3")]).await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    for answer in join_all((0..8).map(|_| login(&world, EMAIL, PASSWORD))).await {
        answer.ok(200);
    }
    assert_eq!(world.count("select count(*) from customer_tokens where revoked_at is null").await, 3);
}

#[tokio::test]
async fn a_session_ends_after_its_lifetime_however_much_it_is_used() {
    let world = World::with(&[("storefront.session_lifetime", "20d"), ("storefront.token_lifetime", "15d")]).await;
    let ada = token(&world.register(EMAIL).await);
    world.pass(TimeDelta::days(14));
    assert!(is_signed_in(&world, &ada).await);
    until("the use is recorded", async || {
        world.count("select count(*) from customer_tokens where expires_at = created_at + interval '20 days'").await > 0
    })
    .await;
    world.pass(TimeDelta::days(6) - TimeDelta::seconds(1));
    assert!(is_signed_in(&world, &ada).await);
    world.pass(TimeDelta::seconds(2));
    assert!(!is_signed_in(&world, &ada).await);
}

#[tokio::test]
async fn the_app_names_the_device_at_the_sign_in_and_the_customer_later() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let body = json!({ "identity": EMAIL, "password": PASSWORD });
    let ada = token(&world.storefront("customers/login").json(&body).header("device-name", "Ada's phone").send().await.ok(200));
    let session = listed(&world, &ada, "?limit=1").await["sessions"][0].clone();
    assert_eq!((&session["device_name"], &session["current"]), (&json!("Ada's phone"), &json!(true)));
    let id = session["id"].as_str().unwrap();
    let name = |name: Value| on_session(&world, Method::PUT, &ada, id, json!({ "device_name": name }));
    name(json!(" Blue phone ")).await.ok(200);
    assert_eq!(listed(&world, &ada, "?limit=1").await["sessions"][0]["device_name"], "Blue phone");
    let of_operators = world.api(Method::GET, &format!("/storefront/int/v1/tokens/{id}")).send().await.ok(200);
    assert_eq!(of_operators["token"]["device_name"], "Blue phone");
    for bad in [json!("x".repeat(65)), json!("\u{200b}"), json!("a\nb"), json!(7)] {
        name(bad).await.refused(422, "body_invalid");
    }
    for none in [Value::Null, json!("")] {
        name(json!("Blue phone")).await.ok(200);
        name(none).await.ok(200);
        assert_eq!(listed(&world, &ada, "?limit=1").await["sessions"][0]["device_name"], Value::Null);
    }
    let bob = token(&world.register("bob@example.com").await);
    on_session(&world, Method::PUT, &bob, id, json!({ "device_name": "mine" })).await.refused(404, "record_not_found");
}

#[tokio::test]
async fn the_list_of_sessions_has_pages() {
    let world = World::new().await;
    let ada = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    for _ in 0..6 {
        world.pass(TimeDelta::seconds(1));
        login(&world, EMAIL, PASSWORD).await.ok(200);
    }
    let (mut seen, mut query) = (Vec::new(), "?limit=3".to_owned());
    loop {
        let page = listed(&world, &ada, &query).await;
        assert_eq!(page["meta"]["per_page"], 3);
        seen.extend(page["sessions"].as_array().unwrap().iter().map(|session| session["last_used_at"].as_str().unwrap().to_owned()));
        let Some(next) = page["meta"]["next"].as_str() else { break };
        query = format!("?limit=3&after={next}");
    }
    assert_eq!(seen.len(), 7);
    assert!(seen.windows(2).all(|pair| pair[0] > pair[1]), "{seen:?}");
    for query in ["?limit=0", "?limit=101", "?limit=x", "?after=x"] {
        world.storefront_get(&format!("customers/sessions{query}")).token(&ada).send().await.refused(422, "parameter_invalid");
    }
}

#[tokio::test]
async fn a_push_device_ends_with_the_session_that_registered_it() {
    let world = World::new().await;
    let devices = async || world.count("select count(*) from devices").await;
    let sign_in = async || token(&login(&world, EMAIL, PASSWORD).await.ok(200));
    let kept = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    register_device(&world, &kept, "kept").await.ok(200);

    // By signing out.
    let ended = sign_in().await;
    register_device(&world, &ended, "a").await.ok(200);
    world.storefront("customers/logout").token(&ended).send().await.ok(200);
    assert_eq!(devices().await, 1);
    // From the list of sessions.
    let ended = sign_in().await;
    register_device(&world, &ended, "b").await.ok(200);
    on_session(&world, Method::DELETE, &kept, &id_of(&world, &ended).await, json!({})).await.ok(200);
    assert_eq!(devices().await, 1);
    // By an operator.
    let ended = sign_in().await;
    register_device(&world, &ended, "c").await.ok(200);
    world.api(Method::DELETE, &format!("/storefront/int/v1/tokens/{}", id_of(&world, &ended).await)).send().await.ok(200);
    assert_eq!(devices().await, 1);
    // A device that another session registers again is that session's.
    let other = sign_in().await;
    register_device(&world, &other, "kept").await.ok(200);
    world.storefront("customers/logout").token(&kept).send().await.ok(200);
    assert_eq!(devices().await, 1);
    // By a new password.
    let code = world.sign_in_code(EMAIL).await;
    reset_password(&world, EMAIL, code, "battery staple correct").await.ok(200);
    assert_eq!(devices().await, 0);
}

#[tokio::test]
async fn the_push_device_of_a_session_that_expired_is_removed() {
    let world = World::with(&[("storefront.token_lifetime", "1d")]).await;
    let ada = token(&world.register(EMAIL).await);
    register_device(&world, &ada, "a").await.ok(200);
    world.pass(TimeDelta::days(1) - TimeDelta::seconds(1));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from devices").await, 1);
    world.pass(TimeDelta::seconds(1));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from devices").await, 0);
}

#[tokio::test]
async fn no_push_device_is_left_of_a_session_that_ends_while_it_registers_one() {
    let world = World::new().await;
    for round in 0..10 {
        let ada = token(&world.register_with(&format!("ada{round}@example.com"), json!({ "password": PASSWORD })).await);
        let name = format!("push {round}");
        let ending = world.storefront("customers/logout").token(&ada).send();
        let (registered, ended) = tokio::join!(register_device(&world, &ada, &name), ending);
        ended.ok(200);
        assert!([200, 401].contains(&registered.status), "{registered:?}");
    }
    assert_eq!(world.count("select count(*) from devices").await, 0);
}
