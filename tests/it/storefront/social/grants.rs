//! What a provider has handed out for an authorization code is given back when the account is closed (decisions, section 6, Grants).

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::login;
use crate::support::World;
use crate::support::customers::{EMAIL, token};
use crate::support::identity_provider::{IdentityProvider, claims_of_a, rsa};

/// A world that exchanges authorization codes of A, which takes grants back.
async fn world(idp: &IdentityProvider) -> World {
    let (token_url, revoke_url) = (idp.url("/token"), idp.url("/revoke"));
    let changes = [
        ("providers.idp_a.client_id", "shop"),
        ("providers.idp_a.client_secret", "s3cret"),
        ("providers.idp_a.token_url", token_url.as_str()),
        ("providers.idp_a.revoke_url", revoke_url.as_str()),
    ];
    idp.world(&changes).await
}

/// The body of a sign-in with A, after which the provider has handed out this grant.
async fn body(world: &World, idp: &IdentityProvider, grant: &str) -> Value {
    let identity_token = || rsa().sign(&claims_of_a(world, "7"));
    let tokens = json!({ "access_token": "x", "token_type": "Bearer", "refresh_token": grant, "id_token": identity_token() });
    idp.answer("POST", "/token", ResponseTemplate::new(200).set_body_json(tokens)).await;
    json!({ "identityToken": identity_token(), "authorizationCode": "c0de" })
}

async fn sign_in(world: &World, idp: &IdentityProvider, grant: &str) -> String {
    token(&login(world, "idp-a", body(world, idp, grant).await).await.ok(200))
}

async fn close(world: &World, token: &str) {
    for path in ["customers/account-closure", "customers/confirm-account-closure"] {
        world.storefront(path).token(token).send().await.ok(200);
    }
}

/// The provider's answer to whoever gives a grant back.
async fn takes_back(idp: &IdentityProvider, status: u16) {
    idp.answer("POST", "/revoke", ResponseTemplate::new(status)).await;
}

/// The grants that were given back.
async fn given_back(idp: &IdentityProvider) -> Vec<String> {
    let form = |body: &[u8]| url::form_urlencoded::parse(body).into_owned().collect::<Vec<(String, String)>>();
    let asked = idp.asked("/revoke").await.into_iter().map(|request| form(&request.body));
    asked
        .map(|form| {
            let [token, hint, client, secret] = form.as_slice() else { panic!("{form:?}") };
            let pair = |(name, value): &(String, String)| format!("{name}={value}");
            let known = [pair(hint), pair(client), pair(secret)];
            assert_eq!(known, ["token_type_hint=refresh_token", "client_id=shop", "client_secret=s3cret"]);
            assert_eq!(token.0, "token");
            token.1.clone()
        })
        .collect()
}

async fn kept(world: &World) -> i64 {
    world.count("select count(*) from provider_grants").await
}

#[tokio::test]
async fn closing_the_account_gives_back_what_the_provider_has_handed_out() {
    let idp = IdentityProvider::start().await;
    let world = world(&idp).await;
    takes_back(&idp, 200).await;
    sign_in(&world, &idp, "an older one").await;
    let ada = sign_in(&world, &idp, "r3fresh").await;
    let sealed: Vec<u8> = sqlx::query_scalar("select sealed_token from provider_grants").fetch_one(&world.pool).await.unwrap();
    assert!(!sealed.windows(7).any(|part| part == b"r3fresh"));
    world.state.storefront.sweep().await.unwrap();
    assert!(given_back(&idp).await.is_empty(), "the account uses it");
    close(&world, &ada).await;
    assert_eq!(given_back(&idp).await, ["r3fresh"]);
    assert_eq!(kept(&world).await, 0);
}

#[tokio::test]
async fn a_provider_that_does_not_take_it_back_is_asked_again_for_a_week() {
    let idp = IdentityProvider::start().await;
    let world = world(&idp).await;
    takes_back(&idp, 503).await;
    close(&world, &sign_in(&world, &idp, "first").await).await;
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(given_back(&idp).await.len(), 1);
    world.pass(TimeDelta::hours(1));
    takes_back(&idp, 200).await;
    world.state.storefront.sweep().await.unwrap();
    assert_eq!((given_back(&idp).await.len(), kept(&world).await), (2, 0));

    takes_back(&idp, 400).await;
    close(&world, &sign_in(&world, &idp, "second").await).await;
    world.pass(TimeDelta::days(7) - TimeDelta::seconds(1));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(kept(&world).await, 1);
    world.pass(TimeDelta::hours(1));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!((given_back(&idp).await.len(), kept(&world).await), (5, 0));
}

#[tokio::test]
async fn whoever_comes_back_keeps_the_grant() {
    let idp = IdentityProvider::start().await;
    let world = world(&idp).await;
    takes_back(&idp, 503).await;
    close(&world, &sign_in(&world, &idp, "first").await).await;
    let again = sign_in(&world, &idp, "second").await;
    world.pass(TimeDelta::hours(1));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!((given_back(&idp).await, kept(&world).await), (vec!["first".to_owned()], 1));
    world.storefront_get("customers/me").token(&again).send().await.ok(200);
}

#[tokio::test]
async fn a_link_that_is_removed_and_an_account_that_the_shop_erases_give_it_back_too() {
    let idp = IdentityProvider::start().await;
    let world = world(&idp).await;
    takes_back(&idp, 200).await;
    let registered = world.register(EMAIL).await;
    let (ada, id) = (token(&registered), registered["customer"]["id"].as_str().unwrap());
    let link = async |grant: &str| {
        let linking = world.storefront("customers/link-idp-a").token(&ada).json(&body(&world, &idp, grant).await);
        linking.send().await.ok(200);
    };
    link("first").await;
    world.request(Method::DELETE, "/storefront/v1/customers/providers/idp-a").key(&world.store_key).token(&ada).send().await.ok(200);
    // At once, as when the account is closed.
    assert_eq!((given_back(&idp).await, kept(&world).await), (vec!["first".to_owned()], 0));
    link("second").await;
    world.api(Method::POST, &format!("/storefront/int/v1/customers/{id}/erase")).json(&json!({})).send().await.ok(200);
    assert_eq!((given_back(&idp).await.len(), kept(&world).await), (2, 0));
    // One that the provider does not take says no longer whose it is.
    takes_back(&idp, 503).await;
    let bob = sign_in(&world, &idp, "third").await;
    let me = world.storefront_get("customers/me").token(&bob).send().await.ok(200);
    let path = format!("/storefront/int/v1/customers/{}/erase", me["id"].as_str().unwrap());
    world.api(Method::POST, &path).json(&json!({})).send().await.ok(200);
    assert_eq!(world.count("select count(*) from provider_grants where subject is null").await, 1);
}

#[tokio::test]
async fn nothing_is_kept_where_it_cannot_be_given_back() {
    let idp = IdentityProvider::start().await;
    let token_url = idp.url("/token");
    let changes = [
        ("providers.idp_a.client_id", "shop"),
        ("providers.idp_a.client_secret", "s3cret"),
        ("providers.idp_a.token_url", token_url.as_str()),
    ];
    let world = idp.world(&changes).await;
    sign_in(&world, &idp, "r3fresh").await;
    assert_eq!(kept(&world).await, 0);
}
