//! Every first factor is asked for the second one, which opens the session.

use chrono::TimeDelta;
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::ada;
use crate::support::World;
use crate::support::authenticator_app::{enrol, finish, finish_with, handle, offer};
use crate::support::customers::{EMAIL, PASSWORD, login, me, reset_password, token};
use crate::support::identity_provider::{IdentityProvider, another, claims_of_a, claims_of_b, rsa, with};

async fn sessions(world: &World) -> i64 {
    world.count("select count(*) from customer_tokens where revoked_at is null").await
}

#[tokio::test]
async fn a_right_first_factor_opens_nothing_and_the_second_one_opens_the_session() {
    let world = World::new().await;
    let (_, app) = ada(&world).await;
    world.pass(TimeDelta::minutes(2));
    let told = world.messages().len();
    // Whether somebody has a second factor is told to those who have the first one.
    login(&world, EMAIL, "wrong password").await.refused(401, "credentials_invalid");
    let refusal = world.storefront("customers/login").json(&json!({ "identity": EMAIL, "password": PASSWORD })).send().await;
    assert!(refusal.body.get("token").is_none() && refusal.body.get("customer").is_none(), "{}", refusal.body);
    let waiting = handle(refusal);
    assert_eq!((sessions(&world).await, world.messages().len()), (1, told), "no session, and no new device is told");

    let code = app.code(&world);
    let answer = finish(&world, &waiting, &code).await.ok(200);
    me(&world, &token(&answer)).await;
    assert_eq!(answer["customer"]["email"], EMAIL);
    let listed = world.storefront_get("customers/sessions").token(&token(&answer)).send().await.ok(200);
    assert_eq!(listed["sessions"][0]["method"], "totp");
    // Neither the handle nor the code works again.
    finish(&world, &waiting, &app.next_code(&world)).await.refused(422, "code_used");
    let waiting = handle(login(&world, EMAIL, PASSWORD).await);
    finish(&world, &waiting, &code).await.refused(422, "code_used");
    finish(&world, &waiting, &app.code(&world)).await.ok(200);

    let entries = world.api(Method::GET, "/storefront/int/v1/sign-ins?method=password&outcome=second_factor_required").send().await.ok(200);
    let entries = entries["sign_ins"].as_array().unwrap();
    assert_eq!((entries.len(), &entries[0]["customer"]), (2, &answer["customer"]["id"]));
    let entries = world.api(Method::GET, "/storefront/int/v1/sign-ins?method=totp").send().await.ok(200);
    let outcomes: Vec<_> = entries["sign_ins"].as_array().unwrap().iter().map(|entry| entry["outcome"].clone()).collect();
    assert_eq!(outcomes.iter().filter(|outcome| *outcome == "signed_in").count(), 2, "{outcomes:?}");
}

#[tokio::test]
async fn codes_and_identity_providers_are_asked_too_and_link_nothing() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let (ada, app) = ada(&world).await;
    let linked = json!({ "identityToken": rsa().sign(&claims_of_a(&world, "7")) });
    world.storefront("customers/link-idp-a").token(&ada).json(&linked).send().await.ok(200);
    world.pass(TimeDelta::minutes(2));

    let code = world.sign_in_code(EMAIL).await;
    let by_code = handle(world.verify(EMAIL, code.as_str()).await);
    world.verify(EMAIL, code).await.refused(422, "code_used");
    let linked = json!({ "identityToken": rsa().sign(&another(&claims_of_a(&world, "7"))) });
    let by_link = handle(world.storefront("customers/login-with-idp-a").json(&linked).send().await);
    world.storefront("customers/login-with-idp-a").json(&linked).send().await.refused(401, "identity_not_verified");
    // A provider that vouches for the address opens the account, but does not become a way in of its own by that.
    let claims = with(&claims_of_b(&world, "8"), json!({ "email": EMAIL, "email_verified": true }));
    let vouched = json!({ "idToken": rsa().sign(&claims), "clientId": crate::support::identity_provider::APP });
    let by_vouched = async || handle(world.storefront("customers/login-with-idp-b").from("203.0.113.9").json(&vouched).send().await);
    let (by_address, again) = (by_vouched().await, by_vouched().await);
    assert_eq!((sessions(&world).await, world.count("select count(*) from provider_links").await), (1, 1));
    for waiting in [by_code, by_link, by_address, again] {
        let answer = finish(&world, &waiting, &app.next_code(&world)).await.ok(200);
        assert_eq!(me(&world, &token(&answer)).await["email"], EMAIL);
    }
    // Whoever has no account yet has no second factor.
    let stranger = json!({ "identityToken": rsa().sign(&another(&claims_of_a(&world, "9"))) });
    world.storefront("customers/login-with-idp-a").json(&stranger).send().await.ok(200);
}

#[tokio::test]
async fn an_identity_token_of_a_waiting_sign_in_opens_no_session_and_waits_again_for_its_client_alone() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let (ada, _) = ada(&world).await;
    let claims = claims_of_a(&world, "7");
    let linked = json!({ "identityToken": rsa().sign(&claims) });
    world.storefront("customers/link-idp-a").token(&ada).json(&linked).send().await.ok(200);
    let present = async |address: &str, agent: &str, body: &Value| {
        world.storefront("customers/login-with-idp-a").from(address).header("user-agent", agent).json(body).send().await
    };
    let body = json!({ "identityToken": rsa().sign(&another(&claims)) });
    let first = handle(present("203.0.113.9", "Shop/2.1", &body).await);
    assert_ne!(handle(present("203.0.113.9", "Shop/2.1", &body).await), first);
    present("203.0.113.66", "Shop/2.1", &body).await.refused(401, "identity_not_verified");
    present("203.0.113.9", "curl", &body).await.refused(401, "identity_not_verified");
    world.pass(TimeDelta::minutes(1));
    present("203.0.113.9", "Shop/2.1", &body).await.refused(401, "identity_not_verified");

    let body = json!({ "identityToken": rsa().sign(&another(&claims)) });
    handle(present("203.0.113.9", "Shop/2.1", &body).await);
    let list = world.api(Method::GET, &format!("/storefront/int/v1/customers?email={EMAIL}")).send().await.ok(200);
    let path = format!("/storefront/int/v1/customers/{}/remove-second-factor", list["customers"][0]["id"].as_str().unwrap());
    world.api(Method::POST, &path).json(&json!({})).send().await.ok(200);
    // Nothing waits any more, and what the token has begun was no session.
    present("203.0.113.9", "Shop/2.1", &body).await.refused(401, "identity_not_verified");
    assert_eq!(sessions(&world).await, 1);
}

#[tokio::test]
async fn a_new_password_counts_once_the_second_factor_is_right_too() {
    let world = World::new().await;
    let (ada, app) = ada(&world).await;
    world.pass(TimeDelta::minutes(2));
    let code = world.sign_in_code(EMAIL).await;
    let waiting = handle(reset_password(&world, EMAIL, code, "battery staple correct").await);
    // Who reads the mailbox alone has changed nothing.
    me(&world, &ada).await;
    handle(login(&world, EMAIL, PASSWORD).await);
    login(&world, EMAIL, "battery staple correct").await.refused(401, "credentials_invalid");

    let answer = finish(&world, &waiting, &app.code(&world)).await.ok(200);
    assert_eq!(answer["review"]["second_factor"]["recovery_codes_left"], 10, "it does not remove the factor");
    assert!(world.messages().iter().any(|message| message.text.contains("password") && message.code.is_none()));
    world.storefront_get("customers/me").token(&ada).send().await.refused(401, "customer_token_invalid");
    login(&world, EMAIL, PASSWORD).await.refused(401, "credentials_invalid");
    // What waited with the password before waits no longer.
    assert_eq!(world.count("select count(*) from pending_sign_ins where consumed_at is null").await, 0);
    handle(login(&world, EMAIL, "battery staple correct").await);
}

#[tokio::test]
async fn a_handle_works_in_the_app_that_was_given_it_for_five_minutes() {
    let world = World::new().await;
    let (ada, app) = ada(&world).await;
    let (_, other_store) = world.another_store().await;
    world.pass(TimeDelta::minutes(2));
    let waiting = handle(login(&world, EMAIL, PASSWORD).await);
    let body = json!({ "second_factor": waiting, "code": app.code(&world) });
    let request = || world.storefront("customers/login-with-totp").json(&body);
    request().key(&other_store).send().await.refused(422, "second_factor_expired");
    request().header("user-agent", "another app").send().await.refused(422, "second_factor_expired");
    finish(&world, "no handle", &app.code(&world)).await.refused(422, "second_factor_expired");
    for body in [json!({ "second_factor": waiting }), json!({ "second_factor": waiting, "code": "123456", "recovery_code": "x" })] {
        finish_with(&world, body).await.refused(422, "body_invalid");
    }
    world.pass(TimeDelta::minutes(5) - TimeDelta::microseconds(1));
    finish(&world, &waiting, &app.wrong_code(&world)).await.refused(422, "code_invalid");
    world.pass(TimeDelta::microseconds(1));
    finish(&world, &waiting, &app.code(&world)).await.refused(422, "second_factor_expired");

    // The oldest of six that one network has begun ends, but none of another one. Signing out everywhere ends all.
    let elsewhere = handle(login(&world, EMAIL, PASSWORD).await);
    let mut waiting = Vec::new();
    for _ in 0..6 {
        let body = json!({ "identity": EMAIL, "password": PASSWORD });
        waiting.push(handle(world.storefront("customers/login").from("203.0.113.9").json(&body).send().await));
        world.pass(TimeDelta::seconds(1));
    }
    finish(&world, &waiting[0], &app.code(&world)).await.refused(422, "second_factor_expired");
    finish(&world, &elsewhere, &app.wrong_code(&world)).await.refused(422, "code_invalid");
    world.storefront("customers/logout-all").token(&ada).send().await.ok(200);
    finish(&world, &waiting[5], &app.code(&world)).await.refused(422, "second_factor_expired");
    handle(login(&world, EMAIL, PASSWORD).await);
    world.pass(TimeDelta::minutes(5));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from pending_sign_ins").await, 0);
}

#[tokio::test]
async fn one_code_opens_one_session_however_many_requests_bring_it() {
    let world = World::new().await;
    let (_, app) = ada(&world).await;
    world.pass(TimeDelta::minutes(2));
    let mut waiting = Vec::new();
    for _ in 0..4 {
        waiting.push(handle(login(&world, EMAIL, PASSWORD).await));
    }
    let code = app.code(&world);
    let answers = join_all(waiting.iter().chain(&waiting).map(|handle| finish(&world, handle, &code))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    assert_eq!(sessions(&world).await, 2);
}

#[tokio::test]
async fn a_customer_without_one_signs_in_as_before() {
    let world = World::new().await;
    offer(&world, "optional").await;
    let ada = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    // What is only offered asks for nothing.
    world.storefront("customers/totp/request").token(&ada).send().await.ok(200);
    login(&world, EMAIL, PASSWORD).await.ok(200);
    let other = token(&world.register("bob@example.com").await);
    enrol(&world, &other).await;
    let answer: Value = login(&world, EMAIL, PASSWORD).await.ok(200);
    me(&world, &token(&answer)).await;
}
