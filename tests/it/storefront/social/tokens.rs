//! Identity tokens that must be rejected; each is a known attack.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use futures::future::join_all;
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use portico::callers::Scope;
use serde_json::{Value, json};

use super::{login, login_a, login_b};
use crate::support::customers::{EMAIL, token};
use crate::support::identity_provider::{
    APP, IdentityProvider, WEB_APP, another, claims_of_a, claims_of_b, ec, foreign, rsa, unsigned, with,
};
use crate::support::{Answer, World};

async fn nobody_is_signed_in_by(world: &World, token: &str, what: &str) {
    let answer = login(world, "idp-a", json!({ "identityToken": token })).await;
    assert_eq!((answer.status, answer.body["code"].as_str()), (401, Some("identity_not_verified")), "{what}");
}

#[tokio::test]
async fn both_kinds_of_keys_sign() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    for key in [rsa(), ec()] {
        login(&world, "idp-a", json!({ "identityToken": key.sign(&claims_of_a(&world, "7")) })).await.ok(200);
    }
}

#[tokio::test]
async fn a_token_without_a_signature_of_the_provider_is_refused() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let claims = claims_of_a(&world, "7");
    let good = rsa().sign(&claims);
    let (message, signature) = good.rsplit_once('.').unwrap();
    for algorithm in ["none", "None", "NONE", "nOnE", ""] {
        let header = with(&rsa().header(), json!({ "alg": algorithm }));
        for signature in ["", signature] {
            nobody_is_signed_in_by(&world, &format!("{}.{signature}", unsigned(&header, &claims)), algorithm).await;
        }
    }
    // The public key is not secret: if it were accepted as an HMAC key, anyone could create tokens.
    let public = [rsa().pair.public_key_pem(), rsa().jwk().to_string(), rsa().jwk()["n"].as_str().unwrap().to_owned()];
    for secret in public.iter().map(String::as_bytes).chain([rsa().pair.public_key_raw()]) {
        let message = unsigned(&with(&rsa().header(), json!({ "alg": "HS256" })), &claims);
        let mac = crypto::sign(message.as_bytes(), &EncodingKey::from_secret(secret), Algorithm::HS256).unwrap();
        nobody_is_signed_in_by(&world, &format!("{message}.{mac}"), "HS256 with the public key").await;
    }
    nobody_is_signed_in_by(&world, &foreign().sign_with(&rsa().header(), &claims), "a foreign key under a known kid").await;
    nobody_is_signed_in_by(&world, &foreign().sign(&claims), "a foreign key").await;
    let other = unsigned(&rsa().header(), &with(&claims, json!({ "sub": "8" })));
    nobody_is_signed_in_by(&world, &format!("{other}.{signature}"), "other claims under a good signature").await;
    nobody_is_signed_in_by(&world, &format!("{message}.{}", &signature[..signature.len() - 4]), "a cut signature").await;
    let zeros = URL_SAFE_NO_PAD.encode([0; 64]);
    nobody_is_signed_in_by(&world, &format!("{}.{zeros}", unsigned(&ec().header(), &claims)), "a signature of zeros").await;
    assert_eq!(world.count("select count(*) from customers").await, 0);
}

#[tokio::test]
async fn a_header_chooses_no_key_and_no_algorithm() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let claims = claims_of_a(&world, "7");
    let mallory = IdentityProvider::start().await;
    mallory.publish(&[foreign()]).await;
    for kid in [foreign().kid, rsa().kid] {
        for header in [
            json!({ "alg": "RS256", "kid": kid, "jwk": foreign().jwk() }),
            json!({ "alg": "RS256", "kid": kid, "jku": mallory.url("/keys") }),
            json!({ "alg": "RS256", "kid": kid, "x5u": mallory.url("/keys"), "x5c": [foreign().pair.public_key_pem()] }),
        ] {
            nobody_is_signed_in_by(&world, &foreign().sign_with(&header, &claims), &header.to_string()).await;
        }
    }
    assert!(mallory.asked("/keys").await.is_empty());

    for (what, key, header) in [
        ("another algorithm of the family", rsa(), json!({ "alg": "RS512", "kid": "rsa-1" })),
        ("another family", rsa(), json!({ "alg": "ES256", "kid": "rsa-1" })),
        ("the key of another family", ec(), json!({ "alg": "ES256", "kid": "rsa-1" })),
        ("no kid", rsa(), json!({ "alg": "RS256" })),
        ("a path for a kid", rsa(), json!({ "alg": "RS256", "kid": "../../dev/null" })),
        ("a list for a kid", rsa(), json!({ "alg": "RS256", "kid": ["rsa-1"] })),
        ("an unknown critical extension", rsa(), json!({ "alg": "RS256", "kid": "rsa-1", "crit": ["exp"] })),
    ] {
        nobody_is_signed_in_by(&world, &key.sign_with(&header, &claims), what).await;
    }
}

#[tokio::test]
async fn malformed_tokens_are_refused() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let good = rsa().sign(&claims_of_a(&world, "7"));
    let (message, signature) = good.rsplit_once('.').unwrap();
    let claims_that_are_none = rsa().sign(&json!("7"));
    for text in
        [".", "..", "x", "a.b.c", message, &format!("{good}.{signature}"), &format!(" {good}"), &format!("{good}="), &claims_that_are_none]
    {
        nobody_is_signed_in_by(&world, text, text).await;
    }
    nobody_is_signed_in_by(&world, &"x.".repeat(100_000), "a long token").await;
    for body in [json!({}), json!({ "identityToken": null }), json!({ "identityToken": "" }), json!({ "identityToken": 7 })] {
        login(&world, "idp-a", body).await.refused(422, "body_invalid");
    }
}

#[tokio::test]
async fn a_token_with_other_claims_is_refused() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let (good, now) = (claims_of_a(&world, "7"), world.clock.now().timestamp());
    for change in [
        json!({ "exp": now - 60 }),
        json!({ "nbf": now + 61 }),
        json!({ "iat": now + 61 }),
        json!({ "iat": now - 601 }),
        json!({ "iss": "https://b.example" }),
        json!({ "iss": "https://a.example.evil.example" }),
        json!({ "aud": "com.mallory.app" }),
        json!({ "aud": [APP, "com.mallory.app"] }),
        json!({ "aud": [APP, WEB_APP] }),
        json!({ "azp": "com.mallory.app" }),
        json!({ "sub": "" }),
        json!({ "sub": 7 }),
        json!({ "sub": "7\0" }),
        json!({ "sub": "7".repeat(256) }),
        json!({ "sub": null }),
        json!({ "exp": null }),
        json!({ "iat": null }),
        json!({ "iss": null }),
        json!({ "aud": null }),
    ] {
        nobody_is_signed_in_by(&world, &rsa().sign(&with(&good, change.clone())), &change.to_string()).await;
    }
    assert_eq!(world.count("select count(*) from customers").await, 0);
}

#[tokio::test]
async fn a_token_can_be_used_for_ten_minutes_regardless_of_its_expiry() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    // The token itself expires a day later.
    let claims = claims_of_a(&world, "7");
    world.pass(TimeDelta::minutes(10));
    login_a(&world, &claims).await.ok(200);
    world.pass(TimeDelta::seconds(1));
    login_a(&world, &claims).await.refused(401, "identity_not_verified");
}

#[tokio::test]
async fn a_token_signs_in_once_during_its_validity() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    // The provider's clock is ahead of ours by the tolerated maximum.
    let issued_at = world.clock.now().timestamp() + 60;
    let of_a = json!({ "identityToken": rsa().sign(&with(&claims_of_a(&world, "7"), json!({ "iat": issued_at }))) });
    let token = ec().sign(&with(&claims_of_b(&world, "7"), json!({ "iat": issued_at })));
    let of_b = json!({ "idToken": with_the_other_signature(&token), "clientId": APP });
    for (provider, body) in [("idp-a", &of_a), ("idp-b", &of_b)] {
        login(&world, provider, body.clone()).await.ok(200);
    }
    let assert_refused = async || {
        for (provider, body) in [("idp-a", &of_a), ("idp-b", &of_b)] {
            login(&world, provider, body.clone()).await.refused(401, "identity_not_verified");
        }
    };
    assert_refused().await;
    // The original form of the signature counts as the same token, and so does a use at another instance.
    login(&world, "idp-b", with(&of_b, json!({ "idToken": token }))).await.refused(401, "identity_not_verified");
    login(&world.another_instance(), "idp-a", of_a.clone()).await.refused(401, "identity_not_verified");
    // The last second in which the token is valid.
    world.pass(TimeDelta::minutes(11));
    world.state.storefront.sweep().await.unwrap();
    assert_refused().await;
    world.pass(TimeDelta::seconds(1));
    world.state.storefront.sweep().await.unwrap();
    assert_refused().await;
    assert_eq!(world.count("select count(*) from used_identity_tokens").await, 0, "expired tokens are deleted");
    assert_eq!(world.count("select count(*) from customer_tokens").await, 2);
}

#[tokio::test]
async fn a_token_presented_in_parallel_requests_signs_in_once() {
    let idp = IdentityProvider::start().await;
    for known in [false, true] {
        let world = idp.world(&[]).await;
        if known {
            login_a(&world, &claims_of_a(&world, "7")).await.ok(200);
        }
        let there = world.another_instance();
        let body = json!({ "identityToken": rsa().sign(&claims_of_a(&world, "7")) });
        let answers = join_all((0..20).map(|n| login([&world, &there][n % 2], "idp-a", body.clone()))).await;
        let (signed_in, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 200);
        assert_eq!(signed_in.len(), 1);
        for answer in refused {
            answer.refused(401, "identity_not_verified");
        }
        assert_eq!(world.count("select count(*) from customers").await, 1);
    }
}

#[tokio::test]
async fn a_failed_sign_in_does_not_use_the_token() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let token = rsa().sign(&claims_of_a(&world, "7"));
    login(&world, "idp-a", json!({ "identityToken": token, "idpAUserId": "8" })).await.refused(401, "identity_not_verified");
    login(&world, "idp-a", json!({ "identityToken": token, "name": "x".repeat(256) })).await.refused(422, "body_invalid");
    // In another store neither.
    let (_, key) = world.another_store().await;
    at(&world, &key, &json!({ "identityToken": token, "name": "x".repeat(256) })).await.refused(422, "body_invalid");
    login(&world, "idp-a", json!({ "identityToken": token })).await.ok(200);
}

/// Signs in with A at the store of this key, always from the same client.
async fn at(world: &World, key: &str, body: &Value) -> Answer {
    world.storefront("customers/login-with-idp-a").key(key).from("203.0.113.9").json(body).send().await
}

#[tokio::test]
async fn a_token_that_was_used_in_one_store_opens_no_other_that_shares_the_app() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let (other, _) = world.another_company(&Scope::ALL).await;
    let (_, of_other) = world.store_of(other).await;
    let (_, of_same) = world.another_store().await;
    let keys = [&world.store_key, &of_same, &of_other];
    let body = json!({ "identityToken": rsa().sign(&claims_of_a(&world, "7")) });
    at(&world, &world.store_key, &body).await.ok(200);
    for key in [&of_same, &of_other] {
        // Not even the client that has just used it, which may present it again where it did.
        at(&world, key, &body).await.refused(401, "identity_not_verified");
    }
    at(&world, &world.store_key, &body).await.ok(200);
    assert_eq!(world.count("select count(*) from customers").await, 1);

    // In parallel requests, one of the stores is first.
    let body = json!({ "identityToken": rsa().sign(&another(&claims_of_a(&world, "8"))) });
    let answers = join_all(keys.map(|key| at(&world, key, &body))).await;
    let (signed_in, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 200);
    assert_eq!(signed_in.len(), 1);
    for answer in refused {
        answer.refused(401, "identity_not_verified");
    }

    // A new token of the same person signs in there.
    for key in [&of_same, &of_other] {
        let body = json!({ "identityToken": rsa().sign(&another(&claims_of_a(&world, "7"))) });
        at(&world, key, &body).await.ok(200);
    }
    world.pass(TimeDelta::minutes(12));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from presented_identity_tokens").await, 0, "expired tokens are deleted");
}

#[tokio::test]
async fn a_token_that_was_used_in_one_store_links_nothing_in_another() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let (_, key) = world.another_store().await;
    let body = json!({ "identityToken": rsa().sign(&claims_of_a(&world, "7")) });
    at(&world, &key, &body).await.ok(200);
    let customer = token(&world.register(EMAIL).await);
    let link = world.storefront("customers/link-idp-a").token(&customer).json(&body);
    link.send().await.refused(401, "identity_not_verified");

    // Nor does one that has linked sign in elsewhere.
    let body = json!({ "identityToken": rsa().sign(&another(&claims_of_a(&world, "8"))) });
    world.storefront("customers/link-idp-a").token(&customer).json(&body).send().await.ok(200);
    at(&world, &key, &body).await.refused(401, "identity_not_verified");
}

/// The same token with the other valid signature: from an ECDSA signature (r, s), anyone can compute (r, n - s), which is valid too.
fn with_the_other_signature(token: &str) -> String {
    let order = hex::decode("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551").unwrap();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let mut signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    let mut borrowed = 0;
    for place in (0..32).rev() {
        let difference = i16::from(order[place]) - i16::from(signature[32 + place]) - borrowed;
        borrowed = i16::from(difference < 0);
        signature[32 + place] = u8::try_from(difference.rem_euclid(256)).unwrap();
    }
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[tokio::test]
async fn the_user_id_sent_by_the_app_must_match_the_token() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    for (id, status) in [(json!("7"), 200), (json!(null), 200), (json!(""), 200), (json!("8"), 401), (json!("07"), 401)] {
        let token = rsa().sign(&claims_of_a(&world, "7"));
        let answer = login(&world, "idp-a", json!({ "identityToken": token, "idpAUserId": id })).await;
        assert_eq!(answer.status, status, "{id}");
    }
}

#[tokio::test]
async fn a_nonce_in_the_request_must_match_the_token() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    // SHA-256 of "nonce", as the libraries of some providers pass it on: in hex, in base64url, in base64.
    let digest = "78377b525757b494427f89014f97d79928f3938d14eb51e20fb5dec9834eb304";
    let (url_safe, padded) = ("eDd7UldXtJRCf4kBT5fXmSjzk40U61HiD7XeyYNOswQ", "eDd7UldXtJRCf4kBT5fXmSjzk40U61HiD7XeyYNOswQ=");
    let login = async |provider: &str, claim: Value, sent: Value| {
        let claims = if provider == "idp-a" { claims_of_a(&world, "7") } else { claims_of_b(&world, "7") };
        let token = rsa().sign(&with(&claims, json!({ "nonce": claim })));
        login(&world, provider, json!({ "identityToken": token, "idToken": token, "clientId": APP, "nonce": sent })).await.status
    };
    for (claim, sent, status) in [
        (json!("nonce"), json!("nonce"), 200),
        (json!(digest), json!("nonce"), 200),
        (json!(digest.to_uppercase()), json!("nonce"), 200),
        (json!(url_safe), json!("nonce"), 200),
        (json!(padded), json!("nonce"), 200),
        (json!("nonce"), json!(null), 200),
        (json!("nonce"), json!(""), 200),
        (json!("nonce"), json!(digest), 401),
        (json!("nonce"), json!("other"), 401),
        (json!(url_safe), json!("other"), 401),
        (json!(null), json!("nonce"), 401),
    ] {
        for provider in ["idp-a", "idp-b"] {
            assert_eq!(login(provider, claim.clone(), sent.clone()).await, status, "{provider} {claim} {sent}");
        }
    }
}

#[tokio::test]
async fn a_token_of_b_must_be_for_the_app_in_the_request() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    for (client_id, audience, party, status) in [
        (APP, APP, APP, 200),
        (APP, WEB_APP, APP, 200),
        (WEB_APP, WEB_APP, APP, 200),
        (WEB_APP, APP, APP, 401),
        (APP, "com.mallory.app", APP, 401),
        (APP, APP, "com.mallory.app", 401),
        ("com.mallory.app", "com.mallory.app", "com.mallory.app", 401),
        ("com.mallory.app", APP, "com.mallory.app", 401),
        ("", APP, APP, 422),
    ] {
        let token = rsa().sign(&with(&claims_of_b(&world, "7"), json!({ "aud": audience, "azp": party })));
        let answer = login(&world, "idp-b", json!({ "idToken": token, "clientId": client_id })).await;
        assert_eq!(answer.status, status, "{client_id} {audience} {party}");
    }
    login_b(&world, &with(&claims_of_b(&world, "7"), json!({ "azp": null, "iss": "b.example" }))).await.ok(200);
    login_b(&world, &claims_of_a(&world, "7")).await.refused(401, "identity_not_verified");
    let token = rsa().sign(&claims_of_b(&world, "7"));
    login(&world, "idp-b", json!({ "idToken": token })).await.refused(422, "body_invalid");
    login(&world, "idp-b", json!({ "clientId": APP })).await.refused(422, "body_invalid");
}
