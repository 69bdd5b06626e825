//! Account linking: which account a provider's token opens.

use futures::future::join_all;
use portico::storefront::export_customer;
use reqwest::Method;
use serde_json::json;

use super::{customer, login, login_a, login_b};
use crate::support::customers::{EMAIL, PASSWORD, me, token};
use crate::support::identity_provider::{APP, IdentityProvider, claims_of_a, claims_of_b, rsa, with};

#[tokio::test]
async fn the_first_sign_in_opens_an_account_and_the_next_one_finds_it() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let claims = with(&claims_of_a(&world, "7"), json!({ "email": "Ada@Example.com", "email_verified": "true" }));
    let body = json!({ "identityToken": rsa().sign(&claims), "idpAUserId": "7", "name": " Ada ", "authorizationCode": "c0de" });
    let first = login(&world, "idp-a", body).await.ok(200);
    assert_eq!((&first["customer"]["name"], &first["customer"]["email"]), (&json!("Ada"), &json!("Ada@example.com")));
    assert_eq!(first["customer"]["email_verified"], true);
    assert_eq!(me(&world, &token(&first)).await, first["customer"]);
    assert_eq!(world.count("select count(*) from events where name = 'customer.created'").await, 1);

    // The provider sends name and address only once; later tokens may lack both, and the app may send another name.
    let body = json!({ "identityToken": rsa().sign(&claims_of_a(&world, "7")), "name": "Eve" });
    let second = login(&world, "idp-a", body).await.ok(200);
    assert_eq!(second["customer"], first["customer"]);
    assert_ne!(second["token"], first["token"]);
    assert_eq!(world.count("select count(*) from events where name = 'customer.created'").await, 1);
}

#[tokio::test]
async fn a_newcomer_may_have_neither_name_nor_address() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let nobody = login_a(&world, &claims_of_a(&world, "7")).await.ok(200);
    assert_eq!((&nobody["customer"]["name"], &nobody["customer"]["email"]), (&json!(""), &json!(null)));
    let named = login_b(&world, &with(&claims_of_b(&world, "8"), json!({ "name": "Bob" }))).await.ok(200);
    assert_eq!(named["customer"]["name"], "Bob");
    let odd = login_b(&world, &with(&claims_of_b(&world, "9"), json!({ "name": "B\0b", "email": "no address" }))).await.ok(200);
    assert_eq!((&odd["customer"]["name"], &odd["customer"]["email"]), (&json!(""), &json!(null)));
}

#[tokio::test]
async fn an_address_the_provider_vouches_for_opens_the_account_it_is_proven_on() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let registered = world.register(EMAIL).await["customer"]["id"].clone();
    let claims = with(&claims_of_b(&world, "7"), json!({ "email": "ADA@example.com", "email_verified": true }));
    assert_eq!(customer(login_b(&world, &claims).await), registered);
    // From now on the subject counts: the address at the provider may change, even to that of another customer.
    let other = world.register("bob@example.com").await["customer"]["id"].clone();
    let moved = with(&claims, json!({ "email": "bob@example.com" }));
    assert_eq!(customer(login_b(&world, &moved).await), registered);
    assert_ne!(registered, other);
    assert_eq!(world.count("select count(*) from customers").await, 2);
}

#[tokio::test]
async fn an_address_that_is_not_vouched_for_opens_no_account() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let victim = world.register(EMAIL).await["customer"]["id"].clone();
    for (subject, verified) in [("1", json!(false)), ("2", json!("false")), ("3", json!(null)), ("4", json!(1))] {
        let claims = with(&claims_of_b(&world, subject), json!({ "email": EMAIL, "email_verified": verified }));
        let stranger = login_b(&world, &claims).await.ok(200);
        assert_ne!(stranger["customer"]["id"], victim);
        assert_eq!(stranger["customer"]["email_verified"], false);
    }
}

#[tokio::test]
async fn an_address_in_the_body_opens_no_account() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let victim = world.register(EMAIL).await["customer"]["id"].clone();
    let (a, b) = (rsa().sign(&claims_of_a(&world, "1")), rsa().sign(&claims_of_b(&world, "2")));
    let extra = json!({ "email": EMAIL, "email_verified": true, "emailVerified": true });
    for (provider, body) in [("idp-a", json!({ "identityToken": a })), ("idp-b", json!({ "idToken": b, "clientId": APP }))] {
        let stranger = login(&world, provider, with(&body, extra.clone())).await.ok(200);
        assert_ne!(stranger["customer"]["id"], victim);
        assert_eq!(stranger["customer"]["email"], json!(null), "the address of {provider} comes from the token only");
    }
}

#[tokio::test]
async fn an_unverified_address_moves_to_the_customer_that_a_provider_vouches_for() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let eve = world.register_with("+12015550123", json!({ "email": EMAIL, "password": PASSWORD })).await;
    let claims = with(&claims_of_a(&world, "7"), json!({ "email": EMAIL, "email_verified": true }));
    let ada = login_a(&world, &claims).await.ok(200);
    assert_ne!(ada["customer"]["id"], eve["customer"]["id"]);
    assert_eq!(me(&world, &token(&eve)).await["email"], json!(null));
    let body = json!({ "identity": EMAIL, "password": PASSWORD });
    world.storefront("customers/login").json(&body).send().await.refused(401, "credentials_invalid");
}

#[tokio::test]
async fn one_subject_is_another_customer_per_provider_and_store() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let at_a = customer(login_a(&world, &claims_of_a(&world, "7")).await);
    let at_b = customer(login_b(&world, &claims_of_b(&world, "7")).await);
    assert_ne!(at_a, at_b);
    let (_, key) = world.another_store().await;
    let claims = with(&claims_of_a(&world, "7"), json!({ "email": EMAIL, "email_verified": true }));
    let body = json!({ "identityToken": rsa().sign(&claims) });
    let elsewhere = world.storefront("customers/login-with-idp-a").key(&key).json(&body).send().await.ok(200);
    assert_ne!(elsewhere["customer"]["id"], at_a);
    world.storefront_get("customers/me").token(&token(&elsewhere)).send().await.refused(401, "customer_token_invalid");
}

#[tokio::test]
async fn first_sign_ins_in_parallel_make_one_customer() {
    let idp = IdentityProvider::start().await;
    let vouched = json!({ "email": EMAIL, "email_verified": true });
    for more in [json!({}), vouched.clone()] {
        let world = idp.world(&[]).await;
        let claims = with(&claims_of_a(&world, "7"), more);
        let answers = join_all((0..20).map(|_| login_a(&world, &claims))).await;
        let customers: Vec<_> = answers.into_iter().map(customer).collect();
        assert!(customers.iter().all(|id| *id == customers[0]));
        assert_eq!(world.count("select count(*) from customers").await, 1);
        assert_eq!(world.count("select count(*) from events where name = 'customer.created'").await, 1);
    }
    // One person with one address at two providers.
    let world = idp.world(&[]).await;
    let (a, b) = (with(&claims_of_a(&world, "7"), vouched.clone()), with(&claims_of_b(&world, "8"), vouched));
    let (at_a, at_b) = tokio::join!(join_all((0..10).map(|_| login_a(&world, &a))), join_all((0..10).map(|_| login_b(&world, &b))));
    assert!(at_a.into_iter().chain(at_b).all(|answer| answer.status == 200));
    assert_eq!(world.count("select count(*) from customers").await, 1);
    assert_eq!(world.count("select count(*) from provider_links").await, 2);
}

#[tokio::test]
async fn a_closed_account_cannot_be_opened_by_a_provider() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let claims = || with(&claims_of_a(&world, "7"), json!({ "email": EMAIL, "email_verified": true }));
    let first = login_a(&world, &claims()).await.ok(200);
    world.storefront("customers/account-closure").token(&token(&first)).send().await.ok(200);
    let code = json!({ "code": world.last_code() });
    world.storefront("customers/confirm-account-closure").token(&token(&first)).json(&code).send().await.ok(200);
    assert_eq!(world.count("select count(*) from provider_links").await, 0);
    let second = customer(login_a(&world, &claims()).await);
    assert_ne!(second, first["customer"]["id"]);

    // A concurrent sign-in during the closure may leave a link behind; it does not open the closed account.
    sqlx::query("update customers set closed_at = now()").execute(&world.pool).await.unwrap();
    let third = customer(login_a(&world, &claims()).await);
    assert_ne!(third, second);
    assert_eq!(customer(login_a(&world, &claims()).await), third);
}

#[tokio::test]
async fn the_audit_and_the_export_contain_providers() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let ada = customer(login_b(&world, &claims_of_b(&world, "7")).await);
    login_b(&world, &claims_of_a(&world, "7")).await.refused(401, "identity_not_verified");
    let entries = world.api(Method::GET, "/storefront/int/v1/sign-ins?method=idp_b").send().await.ok(200)["sign_ins"].clone();
    let mut outcomes: Vec<_> = entries.as_array().unwrap().iter().map(|entry| entry["outcome"].as_str().unwrap()).collect();
    outcomes.sort_unstable();
    assert_eq!(outcomes, ["identity_not_verified", "signed_in"]);
    let (mut conn, ada) = (world.pool.acquire().await.unwrap(), ada.as_str().unwrap().parse().unwrap());
    let exported = export_customer(&mut conn, Some(&world.application_key), ada).await.unwrap().unwrap().document;
    let link = &exported["provider_links"][0];
    assert_eq!((&link["provider"], &link["subject"]), (&json!("idp_b"), &json!("7")));
}

#[tokio::test]
async fn an_invalid_name_is_refused() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let token = || rsa().sign(&claims_of_a(&world, "7"));
    for name in [json!("x".repeat(256)), json!("Ada\r\nBcc: eve@example.com"), json!(5)] {
        let body = json!({ "identityToken": token(), "name": name });
        let refusal = login(&world, "idp-a", body).await.refused(422, "body_invalid");
        assert!(refusal["fields"]["name"].is_array(), "{refusal}");
    }
    for name in [json!(null), json!(""), json!("  ")] {
        login(&world, "idp-a", json!({ "identityToken": token(), "name": name })).await.ok(200);
    }
}
