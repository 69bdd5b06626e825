//! Proofs that the provider itself verifies: the authorization code of A, the access token of C.

use std::time::Duration;

use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::{customer, login};
use crate::support::customers::{EMAIL, PASSWORD, token};
use crate::support::identity_provider::{IdentityProvider, another, claims_of_a, foreign, rsa, with};
use crate::support::{Answer, World};

/// A world that exchanges authorization codes of A.
pub(super) async fn exchanging(idp: &IdentityProvider) -> World {
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

pub(super) fn tokens(id_token: &str) -> ResponseTemplate {
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
    for answer in [used, somebody_else] {
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
    let forged = foreign().sign_with(&rsa().header(), &claims_of_a(&world, "7"));
    let of_another_app = rsa().sign(&with(&claims_of_a(&world, "7"), json!({ "aud": "com.mallory.app" })));
    for answer in [
        tokens(&forged),
        tokens(&of_another_app),
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
    assert_eq!(world.count("select count(*) from customers").await, 0);
}

/// The graph API's result for a valid access token of a user.
fn inspected(user_id: &str) -> Value {
    json!({ "app_id": "4711", "type": "USER", "is_valid": true, "user_id": user_id, "expires_at": 0, "scopes": ["email"] })
}

async fn graph_says(idp: &IdentityProvider, data: Value) {
    idp.answer("GET", "/graph/v1.0/debug_token", ResponseTemplate::new(200).set_body_json(json!({ "data": data }))).await;
}

/// The graph accepts the app's own token.
async fn graph_accepts_the_app(idp: &IdentityProvider) {
    let of_the_app = json!({ "data": { "app_id": "4711", "type": "APP", "is_valid": true } });
    idp.answer_about("4711|graph secret", ResponseTemplate::new(200).set_body_json(of_the_app)).await;
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
    graph_accepts_the_app(&idp).await;
    login(&world, "idp-c", proof("7")).await.refused(401, "identity_not_verified");

    let asked = idp.asked("/graph/v1.0/debug_token").await.len();
    login(&world, "idp-c", with(&proof("7"), json!({ "accessToken": null }))).await.refused(401, "identity_not_verified");
    login(&world, "idp-c", with(&proof("7"), json!({ "idpCUserId": null }))).await.refused(422, "body_invalid");
    for id in ["7 8", "größe", &"7".repeat(256)] {
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
async fn an_app_that_sends_no_access_token_costs_nobody_a_guess() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[("storefront.failures_per_address", "3")]).await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    // The body of interface 1.
    let body = json!({ "idpCUserId": "7", "email": EMAIL, "name": "Ada" });
    let from_the_carrier = |path: &str, body: &Value| world.storefront(path).from("203.0.113.9").json(body).send();
    for access_token in [json!(null), json!("")].into_iter().cycle().take(8) {
        let body = with(&body, json!({ "accessToken": access_token }));
        from_the_carrier("customers/login-with-idp-c", &body).await.refused(401, "identity_not_verified");
    }
    let password = json!({ "identity": EMAIL, "password": PASSWORD });
    from_the_carrier("customers/login", &password).await.ok(200);
    // One that is wrong counts.
    graph_says(&idp, with(&inspected("7"), json!({ "is_valid": false, "error": { "code": 190 } }))).await;
    for _ in 0..3 {
        from_the_carrier("customers/login-with-idp-c", &proof("7")).await.refused(401, "identity_not_verified");
    }
    from_the_carrier("customers/login-with-idp-c", &proof("7")).await.refused(429, "guesses_exceeded");
}

#[tokio::test]
async fn an_app_that_sends_no_authorization_code_costs_nobody_a_guess_either() {
    let idp = IdentityProvider::start().await;
    let token_url = idp.url("/token");
    let exchange = [
        ("providers.idp_a.client_id", "shop"),
        ("providers.idp_a.client_secret", "s3cret"),
        ("providers.idp_a.token_url", token_url.as_str()),
        ("storefront.failures_per_address", "3"),
    ];
    let world = idp.world(&exchange).await;
    let present = async |code: Value| {
        let body = json!({ "identityToken": rsa().sign(&claims_of_a(&world, "7")), "authorizationCode": code });
        world.storefront("customers/login-with-idp-a").from("203.0.113.9").json(&body).send().await
    };
    for code in [json!(null), json!("")].into_iter().cycle().take(8) {
        present(code).await.refused(401, "identity_not_verified");
    }
    idp.answer("POST", "/token", tokens(&rsa().sign(&claims_of_a(&world, "7")))).await;
    present(json!("c0de")).await.ok(200);
}

#[tokio::test]
async fn a_form_without_an_id_is_told_that_it_is_required_and_costs_nobody_a_guess() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[("storefront.failures_per_address", "3")]).await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    graph_says(&idp, inspected("7")).await;
    let from_the_carrier = |path: &str, body: &Value| world.storefront(path).from("203.0.113.9").json(body).send();
    for _ in 0..4 {
        for id in [json!({ "idpCUserId": "" }), json!({ "idpCUserId": null }), json!({})] {
            let mut body = id;
            body["accessToken"] = json!("t0ken");
            let refused = from_the_carrier("customers/login-with-idp-c", &body).await.refused(422, "body_invalid");
            assert_eq!(refused["fields"]["idpCUserId"][0], "idpCUserId is required.");
        }
    }
    let password = json!({ "identity": EMAIL, "password": PASSWORD });
    let ada = token(&from_the_carrier("customers/login", &password).await.ok(200));
    let body = json!({ "idpCUserId": "", "accessToken": "t0ken" });
    world.storefront("customers/link-idp-c").token(&ada).json(&body).send().await.refused(422, "body_invalid");
}

/// An error of the graph, as its documentation has them.
fn graph_error(members: Value) -> ResponseTemplate {
    let error = with(&json!({ "message": "oops", "type": "OAuthException" }), members);
    ResponseTemplate::new(400).set_body_json(json!({ "error": error }))
}

#[tokio::test]
async fn trouble_at_the_provider_is_not_the_customers_fault() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[("storefront.failures_per_address", "3")]).await;
    let from_the_carrier = || world.storefront("customers/login-with-idp-c").from("203.0.113.9").json(&proof("7")).send();
    let ada = token(&world.register(EMAIL).await);
    let trouble = [
        graph_error(json!({ "code": 2, "is_transient": true })),
        graph_error(json!({ "code": 190, "is_transient": true })),
        graph_error(json!({ "code": 1 })),
        graph_error(json!({ "code": 4 })),
        graph_error(json!({ "code": 17 })),
        graph_error(json!({ "code": 341 })),
        graph_error(json!({ "code": 368 })),
        graph_error(json!({ "code": 613 })),
        graph_error(json!({ "code": 12_345 })),
        graph_error(json!({})),
        ResponseTemplate::new(400).set_body_string("<html>oops</html>"),
        ResponseTemplate::new(403).set_body_string("oops"),
        ResponseTemplate::new(429).set_body_json(json!({ "error": { "code": 190 } })),
        ResponseTemplate::new(500).set_body_json(json!({ "error": { "code": 190 } })),
        ResponseTemplate::new(200).set_body_json(json!({ "data": { "error": { "code": 2, "message": "oops" }, "is_valid": false } })),
    ];
    for answer in trouble {
        idp.answer("GET", "/graph/v1.0/debug_token", answer).await;
        let refusal = from_the_carrier().await.refused(503, "provider_unavailable");
        assert!(!refusal.to_string().contains("oops"));
        let linking = world.storefront("customers/link-idp-c").token(&ada).json(&proof("7")).send().await;
        linking.refused(503, "provider_unavailable");
    }
    // Nothing was counted: three wrong proofs are refused as such, and only then nobody is heard any more.
    graph_says(&idp, with(&inspected("7"), json!({ "is_valid": false, "error": { "code": 190 } }))).await;
    for _ in 0..3 {
        from_the_carrier().await.refused(401, "identity_not_verified");
    }
    from_the_carrier().await.refused(429, "guesses_exceeded");
}

#[tokio::test]
async fn a_wrong_secret_of_the_app_is_not_the_customers_fault_either() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    // The secret is replaced at the provider in the moment after a sign-in.
    graph_says(&idp, inspected("7")).await;
    login(&world, "idp-c", proof("7")).await.ok(200);
    // The provider says of both tokens in the same words that it does not take them.
    for error in [json!({ "code": 190 }), json!({ "code": 100 }), json!({ "code": 101 })] {
        idp.answer("GET", "/graph/v1.0/debug_token", graph_error(error)).await;
        let refusal = login(&world, "idp-c", proof("7")).await.refused(503, "provider_unavailable");
        assert_eq!(refusal["retry_after"], 60);
    }
    // The app's own is taken, so it was the customer's.
    idp.answer("GET", "/graph/v1.0/debug_token", graph_error(json!({ "code": 190 }))).await;
    graph_accepts_the_app(&idp).await;
    login(&world, "idp-c", proof("7")).await.refused(401, "identity_not_verified");
}

/// The claims of the identity token of a limited sign-in with C.
fn claims_of_c(world: &World, subject: &str) -> Value {
    let now = world.clock.now().timestamp();
    another(&json!({ "iss": "https://c.example", "aud": "4711", "sub": subject, "nonce": "n0nce", "iat": now, "exp": now + 3_600 }))
}

#[tokio::test]
async fn a_limited_sign_in_with_c_is_another_proof_of_the_same_person() {
    let idp = IdentityProvider::start().await;
    let keys = idp.url("/keys");
    let world = idp.world(&[("providers.idp_c.issuers", "https://c.example"), ("providers.idp_c.jwks_url", keys.as_str())]).await;
    graph_says(&idp, inspected("7")).await;
    let first = customer(login(&world, "idp-c", proof("7")).await);
    let limited = |more: Value| with(&json!({ "idToken": rsa().sign(&claims_of_c(&world, "7")) }), more);
    assert_eq!(customer(login(&world, "idp-c", limited(json!({}))).await), first);
    // What the libraries send along besides proves nothing, and what is said of the token has to be true.
    let besides = json!({ "idpCUserId": "7", "nonce": "n0nce", "accessToken": "of a limited sign-in", "email": EMAIL });
    assert_eq!(customer(login(&world, "idp-c", limited(besides)).await), first);
    assert_eq!(idp.asked("/graph/v1.0/debug_token").await.len(), 1, "the graph is not asked about it");
    for wrong in [json!({ "idpCUserId": "8" }), json!({ "nonce": "another" })] {
        login(&world, "idp-c", limited(wrong)).await.refused(401, "identity_not_verified");
    }
    for claims in [json!({ "aud": "4712" }), json!({ "iss": "https://a.example" }), json!({ "iat": 0 })] {
        let body = json!({ "idToken": rsa().sign(&with(&claims_of_c(&world, "7"), claims)) });
        login(&world, "idp-c", body).await.refused(401, "identity_not_verified");
    }
    // It is used once, unlike an access token.
    let body = limited(json!({}));
    login(&world, "idp-c", body.clone()).await.ok(200);
    login(&world, "idp-c", body).await.refused(401, "identity_not_verified");
    // It links, too.
    let ada = token(&world.register(EMAIL).await);
    let body = json!({ "idToken": rsa().sign(&claims_of_c(&world, "8")) });
    let links = world.storefront("customers/link-idp-c").token(&ada).json(&body).send().await.ok(200);
    assert_eq!(links["providers"][0]["provider"], "idp-c");
}

#[tokio::test]
async fn an_identity_token_of_c_is_neither_a_proof_nor_a_wrong_one_where_nothing_says_whose_keys_sign_it() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[("storefront.failures_per_address", "1")]).await;
    let body = json!({ "idToken": rsa().sign(&claims_of_c(&world, "7")) });
    for body in [body.clone(), with(&body, json!({ "idpCUserId": "7" }))] {
        login(&world, "idp-c", body).await.refused(404, "provider_not_configured");
    }
    let refused = login(&world, "idp-c", json!({ "accessToken": "t0ken", "idToken": "" })).await.refused(422, "body_invalid");
    assert_eq!(refused["fields"]["idpCUserId"][0], "idpCUserId is required.");
    // An older app sends both.
    graph_says(&idp, inspected("7")).await;
    login(&world, "idp-c", with(&body, proof("7"))).await.ok(200);
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
