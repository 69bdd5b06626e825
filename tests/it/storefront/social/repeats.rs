//! An identity token that the same client presents again: a button tapped twice, or an answer that got lost (decisions, section 6).

use chrono::TimeDelta;
use futures::future::join_all;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::proofs::{exchanging, tokens};
use crate::support::customers::{EMAIL, me, token};
use crate::support::identity_provider::{IdentityProvider, claims_of_a, rsa};
use crate::support::{Answer, World};

const PHONE_OF_ADA: &str = "203.0.113.9";

async fn present(world: &World, address: &str, identity_token: &str) -> Answer {
    let body = json!({ "identityToken": identity_token });
    world.storefront("customers/login-with-idp-a").from(address).header("user-agent", "Shop/2.1").json(&body).send().await
}

#[tokio::test]
async fn the_same_client_may_present_a_token_again_within_a_minute() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let identity_token = rsa().sign(&claims_of_a(&world, "7"));
    let first = present(&world, PHONE_OF_ADA, &identity_token).await.ok(200);
    world.pass(TimeDelta::seconds(59));
    let again = present(&world, PHONE_OF_ADA, &identity_token).await.ok(200);
    // The app may keep the token of either answer.
    assert_eq!(me(&world, &token(&first)).await, me(&world, &token(&again)).await);
    assert_ne!(token(&first), token(&again));
    world.pass(TimeDelta::seconds(1));
    present(&world, PHONE_OF_ADA, &identity_token).await.refused(401, "identity_not_verified");
}

#[tokio::test]
async fn nobody_else_may_and_not_after_the_session_has_ended_or_for_long() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let identity_token = rsa().sign(&claims_of_a(&world, "7"));
    let first = token(&present(&world, PHONE_OF_ADA, &identity_token).await.ok(200));
    present(&world, "203.0.113.66", &identity_token).await.refused(401, "identity_not_verified");
    let body = json!({ "identityToken": identity_token });
    let other_program = world.storefront("customers/login-with-idp-a").from(PHONE_OF_ADA).header("user-agent", "curl").json(&body);
    other_program.send().await.refused(401, "identity_not_verified");
    present(&world, PHONE_OF_ADA, &identity_token).await.ok(200);
    present(&world, PHONE_OF_ADA, &identity_token).await.ok(200);
    present(&world, PHONE_OF_ADA, &identity_token).await.refused(401, "identity_not_verified");
    assert_eq!(world.count("select count(*) from customer_tokens").await, 3);

    let identity_token = rsa().sign(&crate::support::identity_provider::another(&claims_of_a(&world, "7")));
    let second = token(&present(&world, PHONE_OF_ADA, &identity_token).await.ok(200));
    world.storefront("customers/logout").token(&second).send().await.ok(200);
    present(&world, PHONE_OF_ADA, &identity_token).await.refused(401, "identity_not_verified");
    world.storefront_get("customers/me").token(&first).send().await.ok(200);
}

#[tokio::test]
async fn a_double_tap_in_parallel_signs_in_with_both() {
    let idp = IdentityProvider::start().await;
    for known in [false, true] {
        let world = idp.world(&[]).await;
        if known {
            let earlier = rsa().sign(&crate::support::identity_provider::another(&claims_of_a(&world, "7")));
            present(&world, PHONE_OF_ADA, &earlier).await.ok(200);
        }
        let there = world.another_instance();
        let identity_token = rsa().sign(&claims_of_a(&world, "7"));
        let answers = join_all([&world, &there].map(|instance| present(instance, PHONE_OF_ADA, &identity_token))).await;
        let tokens: Vec<_> = answers.into_iter().map(|answer| token(&answer.ok(200))).collect();
        let customers: Vec<Value> = vec![me(&world, &tokens[0]).await, me(&world, &tokens[1]).await];
        assert_eq!(customers[0]["id"], customers[1]["id"]);
        assert_eq!(world.count("select count(*) from customers").await, 1);
    }
}

/// A provider that exchanges one code once, as all do.
async fn exchanges_once(world: &World, idp: &IdentityProvider) {
    idp.answer("POST", "/token", ResponseTemplate::new(400).set_body_json(json!({ "error": "invalid_grant" }))).await;
    idp.answer_once("POST", "/token", tokens(&rsa().sign(&claims_of_a(world, "7")))).await;
}

#[tokio::test]
async fn a_double_tap_signs_in_twice_though_the_code_is_good_once() {
    for in_parallel in [false, true] {
        let idp = IdentityProvider::start().await;
        let world = exchanging(&idp).await;
        let there = world.another_instance();
        exchanges_once(&world, &idp).await;
        let identity_token = rsa().sign(&claims_of_a(&world, "7"));
        let present = async |instance: &World, address: &str, code: &str| {
            let body = json!({ "identityToken": identity_token, "authorizationCode": code });
            instance.storefront("customers/login-with-idp-a").from(address).header("user-agent", "Shop/2.1").json(&body).send().await
        };
        let answers = match in_parallel {
            true => join_all([&world, &there].map(|instance| present(instance, PHONE_OF_ADA, "c0de"))).await,
            false => vec![present(&world, PHONE_OF_ADA, "c0de").await, present(&there, PHONE_OF_ADA, "c0de").await],
        };
        let opened: Vec<_> = answers.into_iter().map(|answer| token(&answer.ok(200))).collect();
        assert_ne!(opened[0], opened[1]);
        assert_eq!(me(&world, &opened[0]).await, me(&world, &opened[1]).await);
        assert_eq!(world.count("select count(*) from customers").await, 1);
        if in_parallel {
            continue;
        }
        // Another code has to be exchanged, and nobody else has sent this one.
        present(&world, PHONE_OF_ADA, "an0ther").await.refused(401, "identity_not_verified");
        present(&world, "203.0.113.66", "c0de").await.refused(401, "identity_not_verified");
        // The third request is the last one.
        present(&world, PHONE_OF_ADA, "c0de").await.ok(200);
        present(&world, PHONE_OF_ADA, "c0de").await.refused(401, "identity_not_verified");
    }
}

#[tokio::test]
async fn a_double_tap_links_once_and_is_told_that_it_is_linked() {
    let idp = IdentityProvider::start().await;
    let world = exchanging(&idp).await;
    let ada = token(&world.register(EMAIL).await);
    let told = world.messages().len();
    exchanges_once(&world, &idp).await;
    let body = json!({ "identityToken": rsa().sign(&claims_of_a(&world, "7")), "authorizationCode": "c0de" });
    let link = |token: &str| world.storefront("customers/link-idp-a").from(PHONE_OF_ADA).token(token).json(&body).send();
    for answer in join_all([ada.as_str(); 2].map(link)).await {
        assert_eq!(answer.ok(200)["providers"][0]["provider"], "idp-a");
    }
    assert_eq!(world.messages().len(), told + 1);
    // The token is used up for everything else.
    let bob = token(&world.register("bob@example.com").await);
    link(&bob).await.refused(401, "identity_not_verified");
    let signing_in = world.storefront("customers/login-with-idp-a").from(PHONE_OF_ADA).json(&body);
    signing_in.send().await.refused(401, "identity_not_verified");
}
