//! The published keys of a provider: fetched rarely, and kept while the provider is unavailable.

use std::cell::Cell;
use std::time::Duration;

use chrono::TimeDelta;
use futures::future::join_all;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use wiremock::ResponseTemplate;

use super::{login, login_a};
use crate::support::held_answers::HeldAnswers;
use crate::support::identity_provider::{IdentityProvider, SigningKey, claims_of_a, foreign, rsa};
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
    let slow = idp.world(&[("providers.idp_a.timeout", "3s")]).await;
    let knowing = idp.world(&[("providers.idp_a.timeout", "3s")]).await;
    login_with(&knowing, rsa()).await.ok(200);
    idp.answer_keys(ResponseTemplate::new(200).set_delay(Duration::from_secs(60))).await;
    knowing.pass(TimeDelta::hours(1));
    let (answers, known) = tokio::join!(join_all((0..10).map(|_| login_with(&slow, rsa()))), login_with(&knowing, rsa()));
    assert!(answers.iter().all(|answer| answer.body["code"] == "provider_unavailable"));
    // Whoever has waited in vain for newer keys is verified with those of before.
    known.ok(200);
    assert_eq!(idp.asked("/keys").await.len(), 1 + 2, "each of the two has asked once");
    let down = idp.world(&[("providers.idp_a.jwks_url", "http://127.0.0.1:1/keys")]).await;
    login_with(&down, rsa()).await.refused(503, "provider_unavailable");
}

/// The document with these keys.
fn published(keys: &[&SigningKey]) -> Value {
    json!({ "keys": keys.iter().map(|key| key.jwk()).collect::<Vec<_>>() })
}

/// A world whose provider A has its keys where the story holds the answers back. Whoever waits for them waits as long as the story wants.
async fn world_that_asks(idp: &IdentityProvider, keys: &HeldAnswers) -> World {
    idp.world(&[("providers.idp_a.jwks_url", &keys.url()), ("providers.idp_a.timeout", "10m")]).await
}

#[tokio::test]
async fn a_fetch_continues_when_its_client_disconnects() {
    let answered = CancellationToken::new();
    let (idp, keys) = (IdentityProvider::start().await, HeldAnswers::start(&answered, 200, &published(&[rsa()])).await);
    let world = world_that_asks(&idp, &keys).await;
    let claims: Value = claims_of_a(&world, "7");
    // The client disconnects as soon as the provider receives the request.
    tokio::select! {
        _ = login_a(&world, &claims) => panic!("the request ended too early"),
        () = keys.is_asked(1) => {}
    }
    answered.cancel();
    login_a(&world, &claims).await.ok(200);
    assert_eq!(keys.asked(), 1);
}

#[tokio::test]
async fn a_hanging_provider_with_stale_keys_delays_one_sign_in_only() {
    let [at_once, first_failure, second_failure] = [(); 3].map(|()| CancellationToken::new());
    at_once.cancel();
    let (idp, keys) = (IdentityProvider::start().await, HeldAnswers::start(&at_once, 200, &published(&[rsa()])).await);
    let world = world_that_asks(&idp, &keys).await;
    login_with(&world, rsa()).await.ok(200);
    keys.answer(&first_failure, 503, &Value::Null);
    world.pass(TimeDelta::hours(1));
    let has_ended = Cell::new(false);
    let first = async {
        login_with(&world, rsa()).await.ok(200);
        has_ended.set(true);
    };
    // Only the first sign-in waits for the provider. Sign-ins during this fetch, and during later ones, do not wait.
    let others = async {
        keys.is_asked(2).await;
        let answers = join_all((0..10).map(|_| login_with(&world, rsa()))).await;
        assert!(answers.iter().all(|answer| answer.status == 200));
        assert!(!has_ended.get(), "the first one still waits for the provider");
        first_failure.cancel();
    };
    tokio::join!(first, others);
    keys.answer(&second_failure, 503, &Value::Null);
    world.pass(TimeDelta::minutes(1));
    // The provider answers when all of them are served.
    let answers = join_all((0..10).map(|_| login_with(&world, rsa()))).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    keys.is_asked(3).await;
    assert_eq!(keys.asked(), 3, "only one of them started a fetch");
    second_failure.cancel();
    keys.answer(&at_once, 200, &published(&[rsa(), foreign()]));
    world.pass(TimeDelta::minutes(1));
    login_with(&world, foreign()).await.ok(200);
}
