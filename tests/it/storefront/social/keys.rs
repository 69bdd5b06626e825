//! The published keys of a provider: fetched rarely, and kept while the provider is unavailable.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use futures::future::join_all;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::{login, login_a};
use crate::support::identity_provider::{IdentityProvider, SigningKey, claims_of_a, foreign, rsa};
use crate::support::waiting::until;
use crate::support::{Answer, World};

async fn login_with(world: &World, key: &SigningKey) -> Answer {
    login(world, "idp-a", json!({ "identityToken": key.sign(&claims_of_a(world, "7")) })).await
}

#[tokio::test]
async fn keys_are_fetched_once_an_hour_however_many_ask() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let answers = join_all((0..8).map(|_| login_with(&world, rsa()))).await;
    assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
    world.pass(TimeDelta::minutes(59));
    login_with(&world, rsa()).await.ok(200);
    assert_eq!(idp.asked("/keys").await.len(), 1);
    world.pass(TimeDelta::minutes(1));
    let answers = join_all((0..8).map(|_| login_with(&world, rsa()))).await;
    assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
    assert_eq!(idp.asked("/keys").await.len(), 2);
}

#[tokio::test]
async fn a_new_key_is_found_and_a_withdrawn_one_stops_working_within_the_hour() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    login_with(&world, rsa()).await.ok(200);
    idp.publish(&[foreign()]).await;
    world.pass(TimeDelta::minutes(1));
    login_with(&world, rsa()).await.ok(200);
    // The request for the new key returns the old one too.
    login_with(&world, foreign()).await.ok(200);
    login_with(&world, rsa()).await.refused(401, "identity_not_verified");

    idp.publish(&[rsa()]).await;
    world.pass(TimeDelta::hours(1));
    login_with(&world, foreign()).await.refused(401, "identity_not_verified");
}

#[tokio::test]
async fn a_flood_of_unknown_keys_fetches_once_a_minute() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    login_with(&world, rsa()).await.ok(200);
    let flood = async || {
        let tokens: Vec<_> = (0..50).map(|number| json!({ "alg": "RS256", "kid": format!("unknown-{number}") })).collect();
        let tokens = tokens.iter().map(|header| foreign().sign_with(header, &claims_of_a(&world, "7")));
        let answers = join_all(tokens.map(|token| login(&world, "idp-a", json!({ "identityToken": token })))).await;
        assert!(answers.iter().all(|answer| answer.status == 401));
        login_with(&world, rsa()).await.ok(200);
    };
    flood().await;
    world.pass(TimeDelta::seconds(59));
    flood().await;
    assert_eq!(idp.asked("/keys").await.len(), 1);
    world.pass(TimeDelta::seconds(1));
    flood().await;
    assert_eq!(idp.asked("/keys").await.len(), 2);
}

#[tokio::test]
async fn cached_keys_stay_valid_while_the_provider_is_unavailable() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    login_with(&world, rsa()).await.ok(200);
    idp.answer_keys(ResponseTemplate::new(503)).await;
    world.pass(TimeDelta::days(2));
    login_with(&world, rsa()).await.ok(200);
    // The provider may have published another key since, so the key is not known to be invalid.
    let refusal = login_with(&world, foreign()).await.refused(503, "provider_unavailable");
    assert_eq!(refusal["retry_after"], 60);
    idp.publish(&[rsa(), foreign()]).await;
    world.pass(TimeDelta::minutes(1));
    login_with(&world, foreign()).await.ok(200);
    assert_eq!(idp.asked("/keys").await.len(), 3);
}

#[tokio::test]
async fn without_any_keys_the_sign_in_is_unavailable_until_the_provider_answers() {
    let large = format!(r#"{{"keys":[],"x":"{}"}}"#, "x".repeat(300_000));
    let elsewhere = IdentityProvider::start().await;
    for answer in [
        ResponseTemplate::new(500),
        ResponseTemplate::new(404),
        ResponseTemplate::new(200).set_body_string("<html>oops</html>"),
        ResponseTemplate::new(200).set_body_json(json!([])),
        ResponseTemplate::new(200).set_body_json(json!({ "keys": [] })),
        ResponseTemplate::new(200).set_body_string(large),
        ResponseTemplate::new(302).insert_header("location", elsewhere.url("/keys")),
    ] {
        let idp = IdentityProvider::start().await;
        let world = idp.world(&[]).await;
        idp.answer_keys(answer).await;
        let refusal = login_with(&world, rsa()).await.refused(503, "provider_unavailable");
        assert!(!refusal.to_string().contains("oops"), "the provider's text does not leak");
        // It is asked again after two seconds, then four, and so on up to a minute.
        for (times, wait) in [2, 4, 8, 16, 32, 60, 60].into_iter().enumerate() {
            let refusal = login_with(&world, rsa()).await.refused(503, "provider_unavailable");
            assert_eq!(refusal["retry_after"], wait, "{times}");
            assert_eq!(idp.asked("/keys").await.len(), times + 1);
            world.pass(TimeDelta::seconds(wait) - TimeDelta::microseconds(1));
            login_with(&world, rsa()).await.refused(503, "provider_unavailable");
            assert_eq!(idp.asked("/keys").await.len(), times + 1);
            world.pass(TimeDelta::microseconds(1));
        }
        idp.publish(&[rsa()]).await;
        login_with(&world, rsa()).await.ok(200);
    }
    assert!(elsewhere.asked("/keys").await.is_empty(), "redirects are not followed");
}

#[tokio::test]
async fn a_request_to_a_slow_or_unreachable_provider_fails() {
    let idp = IdentityProvider::start().await;
    // This test waits in real time, because the timeout is that of the HTTP client.
    let slow = idp.world(&[("providers.idp_a.timeout", "1s")]).await;
    idp.answer_keys(ResponseTemplate::new(200).set_delay(Duration::from_secs(60))).await;
    let answers = join_all((0..10).map(|_| login_with(&slow, rsa()))).await;
    assert!(answers.iter().all(|answer| answer.body["code"] == "provider_unavailable"));
    assert_eq!(idp.asked("/keys").await.len(), 1);
    let down = idp.world(&[("providers.idp_a.jwks_url", "http://127.0.0.1:1/keys")]).await;
    login_with(&down, rsa()).await.refused(503, "provider_unavailable");
}

#[tokio::test]
async fn a_fetch_continues_when_its_client_disconnects() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let keys = json!({ "keys": [rsa().jwk()] });
    idp.answer_keys(ResponseTemplate::new(200).set_delay(Duration::from_secs(2)).set_body_json(keys)).await;
    let claims: Value = claims_of_a(&world, "7");
    // The client disconnects as soon as the provider receives the request.
    tokio::select! {
        _ = login_a(&world, &claims) => panic!("the request ended too early"),
        () = until("the keys are requested", async || !idp.asked("/keys").await.is_empty()) => {}
    }
    login_a(&world, &claims).await.ok(200);
    assert_eq!(idp.asked("/keys").await.len(), 1);
}

#[tokio::test]
async fn a_hanging_provider_with_stale_keys_delays_one_sign_in_only() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[("providers.idp_a.timeout", "5s")]).await;
    login_with(&world, rsa()).await.ok(200);
    idp.answer_keys(ResponseTemplate::new(200).set_delay(Duration::from_secs(60))).await;
    world.pass(TimeDelta::hours(1));
    let asked = async |times| until("the keys are requested again", async || idp.asked("/keys").await.len() >= times).await;
    let first = async {
        login_with(&world, rsa()).await.ok(200);
        Instant::now()
    };
    // Only the first sign-in waits for the provider. Sign-ins during this fetch, and during later ones, do not wait.
    let others = async {
        asked(2).await;
        let answers = join_all((0..10).map(|_| login_with(&world, rsa()))).await;
        assert!(answers.iter().all(|answer| answer.status == 200));
        Instant::now()
    };
    let (first, others) = tokio::join!(first, others);
    assert!(others < first, "the others were served before the provider's timeout");
    world.pass(TimeDelta::minutes(1));
    let began = Instant::now();
    let answers = join_all((0..10).map(|_| login_with(&world, rsa()))).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    asked(3).await;
    assert_eq!(idp.asked("/keys").await.len(), 3, "only one of them started a fetch");
    idp.publish(&[rsa(), foreign()]).await;
    world.pass(TimeDelta::minutes(1));
    login_with(&world, foreign()).await.ok(200);
}
