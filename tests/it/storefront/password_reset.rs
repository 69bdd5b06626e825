//! Resetting the password with a code: "Forgot your password?" in an app.

use chrono::TimeDelta;
use futures::future::join_all;
use reqwest::Method;
use serde_json::json;

use crate::support::customers::{EMAIL, PASSWORD, PHONE, login, reset_password, token, wrong};
use crate::support::identity_provider::{APP, IdentityProvider, claims_of_a, claims_of_b, rsa, with};
use crate::support::{Answer, World};

const NEW: &str = "battery staple correct";

/// Signs in with provider B as the same person each time, without an address.
async fn login_with_b(world: &World) -> Answer {
    let body = json!({ "idToken": rsa().sign(&claims_of_b(world, "7")), "clientId": APP });
    world.storefront("customers/login-with-idp-b").json(&body).send().await
}

/// Links the account of [`EMAIL`] to that person, too.
async fn link_b(world: &World) {
    let claims = with(&claims_of_b(world, "7"), json!({ "email": EMAIL, "email_verified": true }));
    let body = json!({ "idToken": rsa().sign(&claims), "clientId": APP });
    world.storefront("customers/login-with-idp-b").json(&body).send().await.ok(200);
}

#[tokio::test]
async fn a_code_sets_a_new_password_and_ends_every_other_session() {
    let world = World::new().await;
    let stolen = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    world.storefront_get("customers/me").token(&stolen).send().await.ok(200);
    // Ten wrong passwords, as from a customer who has forgotten theirs.
    for _ in 0..10 {
        login(&world, EMAIL, "wrong password").await.refused(401, "credentials_invalid");
    }
    login(&world, EMAIL, PASSWORD).await.refused(429, "password_attempts_exceeded");
    let code = world.sign_in_code(EMAIL).await;
    let answer = reset_password(&world, "ADA@example.com", code.clone(), NEW).await.ok(200);
    assert_eq!(answer["customer"]["email"], EMAIL);
    world.storefront_get("customers/me").token(&token(&answer)).send().await.ok(200);
    world.storefront_get("customers/me").token(&stolen).send().await.refused(401, "customer_token_invalid");
    login(&world, EMAIL, PASSWORD).await.refused(401, "credentials_invalid");
    login(&world, EMAIL, NEW).await.ok(200);
    // The code works once, on this route or the other.
    reset_password(&world, EMAIL, code.clone(), PASSWORD).await.refused(422, "code_used");
    world.verify(EMAIL, code).await.refused(422, "code_used");
    let entries = world.api(Method::GET, "/storefront/int/v1/sign-ins?method=password_reset").send().await.ok(200)["sign_ins"].clone();
    let mut outcomes: Vec<_> = entries.as_array().unwrap().iter().map(|entry| entry["outcome"].as_str().unwrap()).collect();
    outcomes.sort_unstable();
    assert_eq!(outcomes, ["code_used", "signed_in"]);
}

#[tokio::test]
async fn a_customer_without_a_password_gets_one() {
    let world = World::new().await;
    world.register(PHONE).await;
    world.pass(TimeDelta::minutes(2));
    login(&world, PHONE, NEW).await.refused(401, "credentials_invalid");
    reset_password(&world, PHONE, world.sign_in_code(PHONE).await, NEW).await.ok(200);
    login(&world, PHONE, NEW).await.ok(200);
}

#[tokio::test]
async fn guesses_at_the_code_count_and_an_invalid_password_does_not() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let code = world.sign_in_code(EMAIL).await;
    for bad in ["short", "password1", &"x".repeat(257)] {
        let refusal = reset_password(&world, EMAIL, wrong(&code), bad).await.refused(422, "body_invalid");
        assert!(refusal["fields"]["password"].is_array(), "{refusal}");
    }
    for left in [4, 3] {
        assert_eq!(reset_password(&world, EMAIL, wrong(&code), NEW).await.refused(422, "code_invalid")["attempts_left"], left);
    }
    for left in [2, 1] {
        assert_eq!(world.verify(EMAIL, wrong(&code)).await.refused(422, "code_invalid")["attempts_left"], left);
    }
    reset_password(&world, EMAIL, wrong(&code), NEW).await.refused(422, "code_locked");
    reset_password(&world, EMAIL, code, NEW).await.refused(422, "code_locked");
    for _ in 0..3 {
        reset_password(&world, EMAIL, "123456", NEW).await.refused(422, "code_locked");
    }
    reset_password(&world, EMAIL, "123456", NEW).await.refused(429, "identity_locked_out");
    login(&world, EMAIL, PASSWORD).await.ok(200);
}

#[tokio::test]
async fn no_code_of_another_purpose_or_customer_sets_a_password() {
    let world = World::new().await;
    let ada = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    world.register_with(PHONE, json!({ "password": PASSWORD })).await;
    world.storefront("customers/account-closure").token(&ada).send().await.ok(200);
    reset_password(&world, EMAIL, world.last_code(), NEW).await.refused(422, "code_invalid");
    let creation = world.creation_code("new@example.com").await;
    reset_password(&world, "new@example.com", creation, NEW).await.refused(422, "code_invalid");
    world.pass(TimeDelta::minutes(2));
    let of_the_other = world.sign_in_code(PHONE).await;
    reset_password(&world, EMAIL, of_the_other, NEW).await.refused(422, "code_invalid");
    for (identity, guess) in [("nobody@example.com", json!("123456")), ("not an identity", json!("123456")), (EMAIL, json!("12345"))] {
        reset_password(&world, identity, guess, NEW).await.refused(422, "code_invalid");
    }
    let body = json!({ "identity": EMAIL, "password": NEW });
    world.storefront("customers/reset-password").json(&body).send().await.refused(422, "body_invalid");
    // A token is not accepted as proof here.
    world.storefront("customers/reset-password").token(&ada).json(&body).send().await.refused(422, "body_invalid");
    for identity in [EMAIL, PHONE] {
        login(&world, identity, PASSWORD).await.ok(200);
    }
}

#[tokio::test]
async fn a_code_used_many_times_at_once_sets_one_password() {
    let world = World::new().await;
    world.register(EMAIL).await;
    let code = world.sign_in_code(EMAIL).await;
    let passwords: Vec<_> = (0..5).map(|number| format!("battery staple {number}")).collect();
    let answers = join_all(passwords.iter().map(|password| reset_password(&world, EMAIL, code.clone(), password))).await;
    let set: Vec<_> = answers.iter().zip(&passwords).filter(|(answer, _)| answer.status == 200).collect();
    assert_eq!(set.len(), 1, "{answers:?}");
    login(&world, EMAIL, set[0].1).await.ok(200);
    assert_eq!(world.count("select count(*) from customer_tokens where revoked_at is null").await, 2, "the reset's and the sign-in's");
}

#[tokio::test]
async fn no_sign_in_by_the_old_password_survives_a_parallel_reset() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let code = world.sign_in_code(EMAIL).await;
    let by_the_old = join_all((0..8).map(|_| login(&world, EMAIL, PASSWORD)));
    let (reset, answers) = tokio::join!(reset_password(&world, EMAIL, code, NEW), by_the_old);
    let newest = token(&reset.ok(200));
    for answer in answers {
        match answer.status {
            200 => {
                let older = token(&answer.ok(200));
                world.storefront_get("customers/me").token(&older).send().await.refused(401, "customer_token_invalid");
            }
            _ => {
                answer.refused(401, "credentials_invalid");
            }
        }
    }
    world.storefront_get("customers/me").token(&newest).send().await.ok(200);
    assert_eq!(world.count("select count(*) from customer_tokens where revoked_at is null").await, 1, "the reset's");
}

#[tokio::test]
async fn a_new_password_suspends_provider_links() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let ada = world.register(EMAIL).await["customer"]["id"].clone();
    link_b(&world).await;
    assert_eq!(login_with_b(&world).await.ok(200)["customer"]["id"], ada);
    let code = world.sign_in_code(EMAIL).await;
    reset_password(&world, EMAIL, code, NEW).await.ok(200);
    assert_eq!(world.count("select count(*) from provider_links where suspended_at is not null").await, 1);
    // A subject without a vouched address opens neither the account nor another one.
    login_with_b(&world).await.refused(409, "provider_link_suspended");
    assert_eq!(world.count("select count(*) from customers").await, 1);
    // A provider that vouches for the address opens the account again, and so does the suspended link with such a token.
    link_b(&world).await;
    assert_eq!(login_with_b(&world).await.ok(200)["customer"]["id"], ada);
    let claims = with(&claims_of_a(&world, "8"), json!({ "email": EMAIL, "email_verified": true }));
    let body = json!({ "identityToken": rsa().sign(&claims) });
    assert_eq!(world.storefront("customers/login-with-idp-a").json(&body).send().await.ok(200)["customer"]["id"], ada);
}

#[tokio::test]
async fn no_sign_in_with_a_provider_survives_a_parallel_reset() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    for _ in 0..5 {
        let ada = world.register(EMAIL).await["customer"]["id"].clone();
        link_b(&world).await;
        let code = world.sign_in_code(EMAIL).await;
        let with_b = join_all((0..8).map(|_| login_with_b(&world)));
        let (reset, answers) = tokio::join!(reset_password(&world, EMAIL, code, NEW), with_b);
        let newest = token(&reset.ok(200));
        for answer in answers {
            match answer.status {
                200 => {
                    let login = answer.ok(200);
                    assert_eq!(login["customer"]["id"], ada);
                    world.storefront_get("customers/me").token(&token(&login)).send().await.refused(401, "customer_token_invalid");
                }
                _ => {
                    answer.refused(409, "provider_link_suspended");
                }
            }
        }
        world.storefront_get("customers/me").token(&newest).send().await.ok(200);
        let theirs = "select count(*) from customers join customer_tokens on customers.id = customer_id
                      where email is not null and closed_at is null and revoked_at is null";
        assert_eq!(world.count(theirs).await, 1, "the reset's");
        sqlx::query("update customers set closed_at = now()").execute(&world.pool).await.unwrap();
        world.pass(TimeDelta::minutes(2));
    }
}
