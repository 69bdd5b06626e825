//! Failures of one client address, over all customers of a store (decisions, section 4).

use chrono::TimeDelta;
use futures::future::join_all;
use serde_json::json;

use crate::support::customers::{EMAIL, PASSWORD, PHONE, home, login, wrong};
use crate::support::identity_provider::{IdentityProvider, claims_of_a, foreign, rsa};
use crate::support::{Answer, World};

const VILLAIN: &str = "203.0.113.66";

async fn login_from(world: &World, address: &str, identity: &str, password: &str) -> Answer {
    let body = json!({ "identity": identity, "password": password });
    world.storefront("customers/login").from(address).json(&body).send().await
}

fn nobody(number: usize) -> String {
    format!("customer{number}@example.com")
}

#[tokio::test]
async fn one_password_cannot_be_tried_at_many_accounts() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    for number in 0..100 {
        login_from(&world, VILLAIN, &nobody(number), PASSWORD).await.refused(401, "credentials_invalid");
    }
    let refusal = login_from(&world, VILLAIN, EMAIL, PASSWORD).await.refused(429, "guesses_exceeded");
    assert_eq!(refusal["retry_after"], 900);
    // What is refused costs nobody a guess, and others are not refused.
    assert_eq!(world.count("select count(*) from wrong_passwords").await, 100);
    login(&world, EMAIL, PASSWORD).await.ok(200);
    world.pass(TimeDelta::minutes(15));
    login_from(&world, VILLAIN, EMAIL, PASSWORD).await.ok(200);
}

#[tokio::test]
async fn an_ipv6_network_is_one_address() {
    let world = World::with(&[("storefront.failures_per_address", "10")]).await;
    for number in 0..10 {
        login_from(&world, &format!("2001:db8::{number:x}"), &nobody(number), PASSWORD).await.refused(401, "credentials_invalid");
    }
    login_from(&world, "2001:db8::ffff", EMAIL, PASSWORD).await.refused(429, "guesses_exceeded");
    login_from(&world, "2001:db8:0:1::1", EMAIL, PASSWORD).await.refused(401, "credentials_invalid");
}

#[tokio::test]
async fn another_64_for_every_guess_does_not_help_within_a_48() {
    let world = World::with(&[("storefront.failures_per_address", "2")]).await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    for number in 0..32 {
        login_from(&world, &format!("2001:db8:7:{number:x}::1"), &nobody(number), PASSWORD).await.refused(401, "credentials_invalid");
    }
    let refusal = login_from(&world, "2001:db8:7:ffff::1", EMAIL, PASSWORD).await.refused(429, "guesses_exceeded");
    assert_eq!(refusal["retry_after"], 900);
    assert_eq!(world.count("select count(*) from wrong_passwords").await, 32);
    // Another customer of the hoster is not refused.
    login_from(&world, "2001:db8:8::1", EMAIL, PASSWORD).await.ok(200);
    world.pass(TimeDelta::minutes(15));
    login_from(&world, "2001:db8:7:ffff::1", EMAIL, PASSWORD).await.ok(200);
}

#[tokio::test]
async fn who_signs_in_after_all_has_not_failed_for_the_48_either() {
    let world = World::with(&[("storefront.failures_per_address", "2")]).await;
    // Phones of a mobile carrier, each with a /64 of its own.
    for number in 0..34 {
        let (identity, phone) = (nobody(number), format!("2001:db8:7:{number:x}::1"));
        world.register_with(&identity, json!({ "password": PASSWORD })).await;
        login_from(&world, &phone, &identity, "wrong password").await.refused(401, "credentials_invalid");
        login_from(&world, &phone, &identity, PASSWORD).await.ok(200);
    }
    assert_eq!(world.count("select coalesce(sum(cardinality(hits)), 0)::bigint from rate_limits where bucket like 'failures:%'").await, 0);
}

#[tokio::test]
async fn codes_passwords_resets_and_identity_tokens_count_together() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[("storefront.failures_per_address", "12")]).await;
    for number in 0..3 {
        let identity = nobody(number);
        let post = |path: &str, body| world.storefront(path).from(VILLAIN).json(&body).send();
        let code = json!({ "identity": identity, "code": "123456" });
        post("customers/verify-code", code).await.refused(422, "code_invalid");
        let reset = json!({ "identity": identity, "code": "123456", "password": PASSWORD });
        post("customers/reset-password", reset).await.refused(422, "code_invalid");
        login_from(&world, VILLAIN, &identity, PASSWORD).await.refused(401, "credentials_invalid");
        let forged = json!({ "identityToken": foreign().sign(&claims_of_a(&world, "7")) });
        post("customers/login-with-idp-a", forged).await.refused(401, "identity_not_verified");
    }
    let forged = json!({ "identityToken": foreign().sign(&claims_of_a(&world, "7")) });
    world.storefront("customers/login-with-idp-a").from(VILLAIN).json(&forged).send().await.refused(429, "guesses_exceeded");
    let code = json!({ "identity": EMAIL, "code": "123456" });
    world.storefront("customers/verify-code").from(VILLAIN).json(&code).send().await.refused(429, "guesses_exceeded");
    login_from(&world, VILLAIN, EMAIL, PASSWORD).await.refused(429, "guesses_exceeded");
    // Nobody guesses a signature: who has a right token gets in, whoever else is in the network.
    let right = json!({ "identityToken": rsa().sign(&claims_of_a(&world, "7")) });
    world.storefront("customers/login-with-idp-a").from(VILLAIN).json(&right).send().await.ok(200);
}

#[tokio::test]
async fn who_signs_in_after_all_has_not_failed() {
    let world = World::with(&[("storefront.failures_per_address", "10")]).await;
    let carrier = "203.0.113.1";
    // Customers of a mobile carrier, behind one address, who type their passwords wrong at first.
    for number in 0..10 {
        let identity = nobody(number);
        world.register_with(&identity, json!({ "password": PASSWORD })).await;
        for _ in 0..3 {
            login_from(&world, carrier, &identity, "wrong password").await.refused(401, "credentials_invalid");
        }
        login_from(&world, carrier, &identity, PASSWORD).await.ok(200);
    }
    // By a code, too.
    let code = world.sign_in_code(&nobody(0)).await;
    let typed = |code: String| json!({ "identity": nobody(0), "code": code });
    let verify = async |code: String| world.storefront("customers/verify-code").from(carrier).json(&typed(code)).send().await;
    verify(wrong(&code)).await.refused(422, "code_invalid");
    verify(code).await.ok(200);
    assert_eq!(world.count("select coalesce(sum(cardinality(hits)), 0)::bigint from rate_limits where bucket like 'failures:%'").await, 0);
}

#[tokio::test]
async fn a_customer_on_a_device_of_theirs_gets_in_whatever_others_do_behind_the_same_address() {
    let world = World::with(&[("storefront.failures_per_address", "10")]).await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let carrier = home(EMAIL);
    for number in 0..10 {
        login_from(&world, &carrier, &nobody(number), PASSWORD).await.refused(401, "credentials_invalid");
    }
    login_from(&world, &carrier, &nobody(10), PASSWORD).await.refused(429, "guesses_exceeded");
    login_from(&world, &carrier, EMAIL, PASSWORD).await.ok(200);
}

#[tokio::test]
async fn parallel_guesses_of_one_address_exceed_the_limit_by_those_under_way_at_most() {
    let world = World::with(&[("storefront.failures_per_address", "10")]).await;
    let identities: Vec<_> = (0..60).map(nobody).collect();
    let guess = |identity| {
        let body = json!({ "identity": identity, "code": "123456" });
        world.storefront("customers/verify-code").from(VILLAIN).json(&body).send()
    };
    let answers = join_all(identities.iter().map(guess)).await;
    let judged = answers.iter().filter(|answer| answer.status == 422).count();
    assert!((10..=18).contains(&judged), "{judged}");
    assert_eq!(answers.iter().filter(|answer| answer.body["code"] == "guesses_exceeded").count(), 60 - judged);
}

#[tokio::test]
async fn a_flood_of_refused_sign_ins_does_not_fill_the_audit_but_is_counted() {
    let world = World::with(&[("storefront.failures_per_address", "1")]).await;
    for _ in 0..120 {
        login_from(&world, VILLAIN, PHONE, PASSWORD).await;
    }
    assert_eq!(world.count("select count(*) from sign_ins").await, 100);
    assert_eq!(world.count("select sum(total)::bigint from sign_in_hours").await, 20);
    let figures = world.api(reqwest::Method::GET, "/storefront/int/v1/figures").send().await.ok(200);
    assert_eq!(figures["figures"]["sign_ins"][0]["refused"], 120, "{figures}");
    world.pass(TimeDelta::hours(1));
    login_from(&world, VILLAIN, PHONE, PASSWORD).await;
    assert_eq!(world.count("select count(*) from sign_ins").await, 101);
}
