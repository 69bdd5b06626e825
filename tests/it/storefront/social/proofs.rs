//! Proofs that the provider itself verifies: the authorization code of A, the access token of C.

use std::time::Duration;

use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::{customer, login};
use crate::support::customers::EMAIL;
use crate::support::identity_provider::{IdentityProvider, claims_of_a, foreign, rsa, with};
use crate::support::{Answer, World};

/// A world that exchanges authorization codes of A.
async fn exchanging(idp: &IdentityProvider) -> World {
    let token_url = idp.url("/token");
    let changes = [
        ("providers.idp_a.client_id", "shop"),
        ("providers.idp_a.client_secret", "s3cret"),
        ("providers.idp_a.token_url", token_url.as_str()),
    ];
    idp.world(&changes).await
}

async fn login_with_code(world: &World, code: &str) -> Answer {
    let token = rsa().sign(&claims_of_a(world, "7"));
    login(world, "idp-a", json!({ "identityToken": token, "authorizationCode": code })).await
}

fn tokens(id_token: &str) -> ResponseTemplate {
    ResponseTemplate::new(200)
        .set_body_json(json!({ "access_token": "x", "token_type": "Bearer", "expires_in": 3600, "id_token": id_token }))
}

#[tokio::test]
async fn a_code_is_exchanged_where_there_is_a_client_secret() {
    let idp = IdentityProvider::start().await;
    let world = exchanging(&idp).await;
    idp.answer("POST", "/token", tokens(&rsa().sign(&claims_of_a(&world, "7")))).await;
    login_with_code(&world, "c0de").await.ok(200);
    let asked = idp.asked("/token").await;
    let form: Vec<(String, String)> = url::form_urlencoded::parse(&asked[0].body).into_owned().collect();
    let expected = [("grant_type", "authorization_code"), ("code", "c0de"), ("client_id", "shop"), ("client_secret", "s3cret")];
    assert_eq!(form, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));

    // A stolen token alone is not enough, and a token that fails verification causes no request to the provider.
    let token = rsa().sign(&claims_of_a(&world, "7"));
    login(&world, "idp-a", json!({ "identityToken": token })).await.refused(401, "identity_not_verified");
    let forged = json!({ "identityToken": foreign().sign_with(&rsa().header(), &claims_of_a(&world, "7")), "authorizationCode": "c0de" });
    login(&world, "idp-a", forged).await.refused(401, "identity_not_verified");
    assert_eq!(idp.asked("/token").await.len(), 1);
}

#[tokio::test]
async fn a_code_refused_by_the_provider_is_refused() {
    let idp = IdentityProvider::start().await;
    let world = exchanging(&idp).await;
    let used = ResponseTemplate::new(400).set_body_json(json!({ "error": "invalid_grant", "error_description": "oops" }));
    let somebody_else = tokens(&rsa().sign(&claims_of_a(&world, "8")));
    let forged = tokens(&foreign().sign_with(&rsa().header(), &claims_of_a(&world, "7")));
    let of_another_app = tokens(&rsa().sign(&with(&claims_of_a(&world, "7"), json!({ "aud": "com.mallory.app" }))));
    for answer in [used, somebody_else, forged, of_another_app] {
        idp.answer("POST", "/token", answer).await;
        let refusal = login_with_code(&world, "c0de").await.refused(401, "identity_not_verified");
        assert!(!refusal.to_string().contains("oops"));
    }
    assert_eq!(world.count("select count(*) from customers").await, 0);
}

#[tokio::test]
async fn a_failed_code_exchange_is_unavailable() {
    let idp = IdentityProvider::start().await;
    let world = exchanging(&idp).await;
    for answer in [
        ResponseTemplate::new(400).set_body_json(json!({ "error": "invalid_client" })),
        ResponseTemplate::new(400).set_body_json(json!({ "error": "something_new" })),
        ResponseTemplate::new(400).set_body_string("<html>oops</html>"),
        ResponseTemplate::new(500).set_body_string("oops"),
        ResponseTemplate::new(200).set_body_string("oops"),
        ResponseTemplate::new(200).set_body_json(json!({ "access_token": "x" })),
        ResponseTemplate::new(200).set_body_string("x".repeat(300_000)),
        ResponseTemplate::new(307).insert_header("location", idp.url("/elsewhere")),
    ] {
        idp.answer("POST", "/token", answer).await;
        let refusal = login_with_code(&world, "c0de").await.refused(503, "provider_unavailable");
        assert!(!refusal.to_string().contains("oops"));
    }
    assert!(idp.asked("/elsewhere").await.is_empty());
}

/// The graph API's result for a valid access token of a user.
fn inspected(user_id: &str) -> Value {
    json!({ "app_id": "4711", "type": "USER", "is_valid": true, "user_id": user_id, "expires_at": 0, "scopes": ["email"] })
}

async fn graph_says(idp: &IdentityProvider, data: Value) {
    idp.answer("GET", "/graph/v1.0/debug_token", ResponseTemplate::new(200).set_body_json(json!({ "data": data }))).await;
}

fn proof(user_id: &str) -> Value {
    json!({ "idpCUserId": user_id, "accessToken": "t0ken", "email": EMAIL, "name": "Ada" })
}

#[tokio::test]
async fn an_access_token_is_shown_to_the_provider() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    graph_says(&idp, inspected("7")).await;
    let first = login(&world, "idp-c", proof("7")).await.ok(200);
    assert_eq!((&first["customer"]["name"], &first["customer"]["email"]), (&json!("Ada"), &json!(EMAIL)));
    assert_eq!(first["customer"]["email_verified"], false, "the address was merely typed");
    let asked = idp.asked("/graph/v1.0/debug_token").await;
    let query: Vec<_> = asked[0].url.query_pairs().into_owned().collect();
    assert_eq!(query[0], ("input_token".to_owned(), "t0ken".to_owned()));
    assert_eq!(query[1], ("access_token".to_owned(), "4711|graph secret".to_owned()));
    let second = json!({ "idpCUserId": "7", "accessToken": "t0ken" });
    assert_eq!(customer(login(&world, "idp-c", second).await), first["customer"]["id"]);
}

#[tokio::test]
async fn an_address_sent_with_an_id_of_c_opens_no_account() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let victim = world.register(EMAIL).await;
    graph_says(&idp, inspected("7")).await;
    let first = customer(login(&world, "idp-c", proof("7")).await);
    assert_ne!(first, victim["customer"]["id"]);
    graph_says(&idp, inspected("8")).await;
    let refusal = login(&world, "idp-c", with(&proof("8"), json!({ "email": "nobody" }))).await.refused(422, "body_invalid");
    assert!(refusal["fields"]["email"].is_array());
    // To a customer who has an account, what was typed means nothing.
    graph_says(&idp, inspected("7")).await;
    let sloppy = with(&proof("7"), json!({ "email": "nobody", "name": "x".repeat(256) }));
    assert_eq!(customer(login(&world, "idp-c", sloppy).await), first);
}

#[tokio::test]
async fn an_access_token_refused_by_the_provider_is_refused() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let past = world.clock.now().timestamp() - 1;
    for change in [
        json!({ "is_valid": false }),
        json!({ "app_id": "4712" }),
        json!({ "user_id": "8" }),
        json!({ "user_id": null }),
        json!({ "expires_at": past }),
        json!({ "type": "PAGE" }),
    ] {
        graph_says(&idp, with(&inspected("7"), change.clone())).await;
        let answer = login(&world, "idp-c", proof("7")).await;
        assert_eq!(answer.status, 401, "{change}");
    }
    let refusal = ResponseTemplate::new(400).set_body_json(json!({ "error": { "message": "oops", "code": 190 } }));
    idp.answer("GET", "/graph/v1.0/debug_token", refusal).await;
    login(&world, "idp-c", proof("7")).await.refused(401, "identity_not_verified");

    let asked = idp.asked("/graph/v1.0/debug_token").await.len();
    login(&world, "idp-c", with(&proof("7"), json!({ "accessToken": null }))).await.refused(401, "identity_not_verified");
    login(&world, "idp-c", with(&proof("7"), json!({ "idpCUserId": null }))).await.refused(422, "body_invalid");
    for id in ["", "7 8", "größe", &"7".repeat(256)] {
        login(&world, "idp-c", proof(id)).await.refused(401, "identity_not_verified");
    }
    assert_eq!(idp.asked("/graph/v1.0/debug_token").await.len(), asked);
    assert_eq!(world.count("select count(*) from customers").await, 0);
}

#[tokio::test]
async fn a_graph_that_does_not_answer_is_unavailable() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[("providers.idp_c.timeout", "2s")]).await;
    for answer in [
        ResponseTemplate::new(500).set_body_string("oops"),
        ResponseTemplate::new(200).set_body_string("<html>oops</html>"),
        ResponseTemplate::new(302).insert_header("location", idp.url("/elsewhere")),
        ResponseTemplate::new(200).set_delay(Duration::from_secs(60)),
    ] {
        idp.answer("GET", "/graph/v1.0/debug_token", answer).await;
        let refusal = login(&world, "idp-c", proof("7")).await.refused(503, "provider_unavailable");
        assert!(!refusal.to_string().contains("oops") && !refusal.to_string().contains("secret"));
    }
    assert!(idp.asked("/elsewhere").await.is_empty());
}

#[tokio::test]
async fn an_unverified_id_opens_only_the_account_it_opened_before() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[("providers.idp_c.verification", "none")]).await;
    let victim = world.register(EMAIL).await;
    let first = customer(login(&world, "idp-c", json!({ "idpCUserId": "7", "email": EMAIL })).await);
    assert_ne!(first, victim["customer"]["id"]);
    assert_eq!(customer(login(&world, "idp-c", json!({ "idpCUserId": "7" })).await), first);
    assert_ne!(customer(login(&world, "idp-c", json!({ "idpCUserId": "8" })).await), first);
    // It does not open an account that was created with a proven id either.
    sqlx::query("update provider_links set provider = 'idp_c' where subject = '7'").execute(&world.pool).await.unwrap();
    assert_ne!(customer(login(&world, "idp-c", json!({ "idpCUserId": "7" })).await), first);
}
