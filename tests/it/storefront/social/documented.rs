//! The steps of `docs/identity-providers.md`, with its settings as they stand there.

use portico::storefront::export_customer;
use reqwest::Method;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::{customer, login};
use crate::support::World;
use crate::support::identity_provider::{APP, IdentityProvider, another, rsa};
use crate::support::page::block;

const PAGE: &str = include_str!("../../../../docs/identity-providers.md");

/// The settings that the page sets in the environment.
fn variables() -> Vec<(String, &'static str)> {
    let assigned = block(PAGE, "sh").lines().filter_map(|line| line.strip_prefix("PORTICO_")?.split_once('='));
    assigned.map(|(name, value)| (name.to_lowercase().replace("__", "."), value)).collect()
}

/// The world of the page. Only the addresses differ: they are those of the mock.
async fn world(idp: &IdentityProvider) -> World {
    let (keys, tokens, variables) = (idp.url("/keys"), idp.url("/token"), variables());
    let addresses = [("providers.acme_id.jwks_url", keys.as_str()), ("providers.acme_id.token_url", tokens.as_str())];
    let variables = variables.iter().map(|(key, value)| (key.as_str(), *value));
    World::with_file(block(PAGE, "toml"), &variables.chain(addresses).collect::<Vec<_>>()).await
}

fn token(world: &World, subject: &str) -> String {
    let now = world.clock.now().timestamp();
    let claims = json!({
        "iss": "https://id.acme.example", "aud": APP, "sub": subject, "nonce": "n0nce", "iat": now, "exp": now + 600,
        "email": "ada@example.com", "email_verified": true,
    });
    rsa().sign(&another(&claims))
}

/// The body of the page, with values of this world.
fn body(world: &World) -> Value {
    let mut body: Value = serde_json::from_str(block(PAGE, "json")).unwrap();
    for (field, value) in [("idToken", token(world, "7")), ("authorizationCode", "c0de".to_owned()), ("acmeIdUserId", "7".to_owned())] {
        body[field] = value.into();
    }
    body["nonce"] = "n0nce".into();
    body
}

#[tokio::test]
async fn the_page_adds_a_provider_without_rust() {
    let idp = IdentityProvider::start().await;
    let world = world(&idp).await;
    let document = world.request(Method::GET, "/openapi.json").send().await.ok(200);
    let operation = &document["paths"]["/storefront/v1/customers/login-with-acme-id"]["post"];
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    let described: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    let mut sent = body(&world);
    assert_eq!(described, sent.as_object().unwrap().keys().collect::<Vec<_>>());
    assert_eq!(schema["required"], json!(["idToken"]));

    idp.answer("POST", "/token", ResponseTemplate::new(200).set_body_json(json!({ "id_token": token(&world, "7") }))).await;
    let ada = login(&world, "acme-id", sent.clone()).await.ok(200)["customer"].clone();
    assert_eq!((&ada["name"], &ada["email"], &ada["email_verified"]), (&json!("Ada"), &json!("ada@example.com"), &json!(true)));
    let asked = idp.asked("/token").await;
    assert!(String::from_utf8_lossy(&asked[0].body).contains("client_secret=s3cret"));
    sent["idToken"] = token(&world, "7").into();
    assert_eq!(customer(login(&world, "acme-id", sent.clone()).await), ada["id"]);
    for (field, wrong) in [("acmeIdUserId", "8"), ("nonce", "another"), ("authorizationCode", "")] {
        let mut refused = body(&world);
        refused[field] = if wrong.is_empty() { Value::Null } else { wrong.into() };
        login(&world, "acme-id", refused).await.refused(401, "identity_not_verified");
    }

    let entries = world.api(Method::GET, "/storefront/int/v1/sign-ins?method=acme_id").send().await.ok(200)["sign_ins"].clone();
    assert_eq!(entries.as_array().unwrap().len(), 5);
    let mut conn = world.pool.acquire().await.unwrap();
    let id = ada["id"].as_str().unwrap().parse().unwrap();
    let exported = export_customer(&mut conn, Some(&world.application_key), id).await.unwrap().unwrap().document;
    let link = &exported["provider_links"][0];
    assert_eq!((&link["provider"], &link["subject"]), (&json!("acme_id"), &json!("7")));
}

#[test]
fn the_page_counts_its_files() {
    let rust = ["```rust", "```rs", "```sql"].iter().map(|fence| PAGE.matches(fence).count()).sum::<usize>();
    assert!(PAGE.contains(&format!("**{rust} files of Rust**")));
    assert_eq!(PAGE.matches("```toml").count(), 1);
}
