//! The audit log of sign-ins and the tokens: a token never exists without its entry, nor an entry without its token.

use serde_json::{Value, json};

use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD};
use crate::support::identity_provider::{APP, IdentityProvider, claims_of_a, claims_of_b, rsa};

const TOKENS: &str = "select count(*) from customer_tokens";
const SIGNED_IN: &str = "select count(*) from sign_ins where outcome = 'signed_in'";
const GUESSES: &str = "select coalesce(sum(cardinality(wrong_at) + cardinality(in_flight)), 0)::bigint from wrong_passwords";

/// A valid request for each way of signing in.
async fn every_way(world: &World) -> Vec<(&'static str, Value)> {
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    world.register("bob@example.com").await;
    vec![
        ("customers", json!({ "name": "Eve", "identity": "eve@example.com", "code": world.creation_code("eve@example.com").await })),
        ("customers/login", json!({ "identity": EMAIL, "password": PASSWORD })),
        ("customers/verify-code", json!({ "identity": EMAIL, "code": world.sign_in_code(EMAIL).await })),
        (
            "customers/reset-password",
            json!({ "identity": "bob@example.com", "code": world.sign_in_code("bob@example.com").await, "password": PASSWORD }),
        ),
        ("customers/login-with-idp-a", json!({ "identityToken": rsa().sign(&claims_of_a(world, "7")) })),
        ("customers/login-with-idp-b", json!({ "idToken": rsa().sign(&claims_of_b(world, "8")), "clientId": APP })),
    ]
}

#[tokio::test]
async fn a_sign_in_without_an_audit_entry_fails() {
    let provider = IdentityProvider::start().await;
    let world = provider.world(&[]).await;
    let ways = every_way(&world).await;
    let at_first = world.count(TOKENS).await;
    sqlx::query("alter table sign_ins add constraint full_disk check (outcome <> 'signed_in') not valid")
        .execute(&world.pool)
        .await
        .unwrap();
    for (path, body) in &ways {
        world.storefront(path).json(body).send().await.refused(500, "internal_error");
    }
    assert_eq!(world.count(TOKENS).await, at_first);
    assert_eq!(world.count(GUESSES).await, 1, "the password was right, but the sign-in failed");
    assert_eq!(world.count("select count(*) from sign_ins where outcome = 'internal_error'").await, 6);

    // The failed attempts consumed nothing.
    sqlx::query("alter table sign_ins drop constraint full_disk").execute(&world.pool).await.unwrap();
    for (path, body) in &ways {
        let answer = world.storefront(path).json(body).send().await;
        assert!(answer.body["token"].is_string(), "{path}: {answer:?}");
    }
    assert_eq!((world.count(TOKENS).await, world.count(SIGNED_IN).await), (at_first + 6, at_first + 6));
    assert_eq!(world.count("select count(distinct method) from sign_ins where outcome = 'signed_in'").await, 6);
    assert_eq!(world.count("select count(*) from sign_ins where outcome = 'signed_in' and customer_id is null").await, 0);
    assert_eq!(world.count(GUESSES).await, 0);
}

#[tokio::test]
async fn the_audit_has_no_success_without_a_token() {
    let provider = IdentityProvider::start().await;
    let world = provider.world(&[]).await;
    let ways = every_way(&world).await;
    let at_first = world.count(SIGNED_IN).await;
    sqlx::query("alter table customer_tokens add constraint full_disk check (false) not valid").execute(&world.pool).await.unwrap();
    for (path, body) in &ways {
        world.storefront(path).json(body).send().await.refused(500, "internal_error");
    }
    assert_eq!(world.count(SIGNED_IN).await, at_first);
    assert_eq!(world.count(GUESSES).await, 1);
}
