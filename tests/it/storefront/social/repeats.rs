//! An identity token that the same client presents again: a button tapped twice, or an answer that got lost (decisions, section 6).

use chrono::TimeDelta;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::support::customers::{me, token};
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
