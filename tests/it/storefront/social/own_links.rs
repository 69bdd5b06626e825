//! The customer's own links to identity providers: listed, made and removed (decisions, section 6, Links of the customer).

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::{customer, login, login_a, login_b};
use crate::support::customers::{EMAIL, PASSWORD, reset_password, token};
use crate::support::identity_provider::{APP, IdentityProvider, another, claims_of_a, claims_of_b, rsa, with};
use crate::support::{Answer, World};

async fn link_b(world: &World, token: &str, claims: &Value) -> Answer {
    let body = json!({ "idToken": rsa().sign(&another(claims)), "clientId": APP });
    world.storefront("customers/link-idp-b").token(token).json(&body).send().await
}

async fn providers(world: &World, token: &str) -> Value {
    let mut listed = world.storefront_get("customers/providers").token(token).send().await.ok(200)["providers"].clone();
    for link in listed.as_array_mut().unwrap() {
        link.as_object_mut().unwrap().remove("linked_at").unwrap();
    }
    listed
}

async fn unlink(world: &World, token: &str, name: &str) -> Answer {
    let path = format!("/storefront/v1/customers/providers/{name}");
    world.request(Method::DELETE, &path).key(&world.store_key).token(token).send().await
}

#[tokio::test]
async fn a_customer_links_a_provider_signs_in_with_it_and_unlinks_it() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let ada = world.register(EMAIL).await;
    let (id, ada) = (ada["customer"]["id"].clone(), token(&ada));
    assert_eq!(providers(&world, &ada).await, json!([]));
    let claims = claims_of_b(&world, "7");
    link_b(&world, &ada, &claims).await.ok(200);
    link_b(&world, &ada, &claims).await.ok(200);
    assert_eq!(providers(&world, &ada).await, json!([{ "provider": "idp-b", "state": "active" }]));
    assert!(world.messages()[0].text.contains("idp-b opens your account"), "{}", world.messages()[0].text);
    assert_eq!(world.messages().iter().filter(|message| message.code.is_none()).count(), 1);
    assert_eq!(customer(login_b(&world, &claims).await), id);

    unlink(&world, &ada, "idp-a").await.refused(404, "record_not_found");
    unlink(&world, &ada, "idp-b").await.ok(200);
    assert_eq!(providers(&world, &ada).await, json!([]));
    assert_ne!(customer(login_b(&world, &claims).await), id);
}

#[tokio::test]
async fn an_identity_of_another_account_is_not_linked() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let claims = claims_of_b(&world, "7");
    login_b(&world, &claims).await.ok(200);
    let ada = token(&world.register(EMAIL).await);
    link_b(&world, &ada, &claims).await.refused(409, "provider_linked_elsewhere");
    // An identity token is used once, whatever for. That what it has linked is linked may be asked again.
    let body = json!({ "idToken": rsa().sign(&claims_of_b(&world, "8")), "clientId": APP });
    let link = || world.storefront("customers/link-idp-b").token(&ada).json(&body).send();
    link().await.ok(200);
    link().await.ok(200);
    assert_eq!(world.messages().iter().filter(|message| message.code.is_none()).count(), 1, "it is told once");
    unlink(&world, &ada, "idp-b").await.ok(200);
    link().await.refused(401, "identity_not_verified");
    login(&world, "idp-b", body.clone()).await.refused(401, "identity_not_verified");
}

#[tokio::test]
async fn the_last_way_in_is_not_removed() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let ada = token(&login_a(&world, &claims_of_a(&world, "7")).await.ok(200));
    unlink(&world, &ada, "idp-a").await.refused(409, "last_way_in");
    link_b(&world, &ada, &claims_of_b(&world, "8")).await.ok(200);
    // Of two at once, one remains.
    let answers = join_all(["idp-a", "idp-b"].map(|name| unlink(&world, &ada, name))).await;
    let mut statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
    assert_eq!(world.count("select count(*) from provider_links").await, 1);
}

#[tokio::test]
async fn a_new_password_suspends_links_until_they_are_linked_again() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let ada = world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let claims = claims_of_b(&world, "7");
    link_b(&world, &token(&ada), &claims).await.ok(200);
    let code = world.sign_in_code(EMAIL).await;
    let reset = reset_password(&world, EMAIL, code, "battery staple correct").await.ok(200);
    let review = &reset["review"];
    assert_eq!(review["contacts"], json!([{ "kind": "email", "contact": EMAIL, "verified": true }]));
    assert_eq!((&review["providers"][0]["provider"], &review["providers"][0]["state"]), (&json!("idp-b"), &json!("suspended")));
    login_b(&world, &claims).await.refused(409, "provider_link_suspended");
    assert_eq!(world.count("select count(*) from customers").await, 1, "no second account");
    link_b(&world, &token(&reset), &claims).await.ok(200);
    assert_eq!(customer(login_b(&world, &claims).await), ada["customer"]["id"]);
}

#[tokio::test]
async fn the_provider_s_word_for_the_proven_address_resumes_a_suspended_link() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let ada = world.register(EMAIL).await;
    let claims = claims_of_b(&world, "7");
    link_b(&world, &token(&ada), &claims).await.ok(200);
    let code = world.sign_in_code(EMAIL).await;
    let reset = reset_password(&world, EMAIL, code, PASSWORD).await.ok(200);
    let vouched = with(&claims, json!({ "email": EMAIL, "email_verified": true }));
    assert_eq!(customer(login_b(&world, &vouched).await), ada["customer"]["id"]);
    assert_eq!(providers(&world, &token(&reset)).await, json!([{ "provider": "idp-b", "state": "active" }]));
}

#[tokio::test]
async fn a_customer_is_told_when_a_provider_is_linked_by_its_word_for_the_address() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    world.register(EMAIL).await;
    let claims = with(&claims_of_b(&world, "7"), json!({ "email": EMAIL, "email_verified": true }));
    login_b(&world, &claims).await.ok(200);
    assert!(world.messages()[0].text.contains("signing in with idp-b opens your account"), "{}", world.messages()[0].text);
}

#[tokio::test]
async fn an_operator_sees_links_and_their_state() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    let ada = world.register(EMAIL).await;
    link_b(&world, &token(&ada), &claims_of_b(&world, "7")).await.ok(200);
    let path = format!("/storefront/int/v1/customers/{}", ada["customer"]["id"].as_str().unwrap());
    world.api(Method::POST, &format!("{path}/reset-password")).send().await.ok(200);
    let links = world.api(Method::GET, &path).send().await.ok(200)["customer"]["provider_links"].clone();
    assert_eq!((&links[0]["provider"], &links[0]["state"]), (&json!("idp-b"), &json!("suspended")));
}
