//! JWTs for services that cannot ask: RFC 9068, RFC 7517, docs/storefront.md.

use chrono::TimeDelta;
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use portico::kernel::crypto::ApplicationKey;
use reqwest::Method;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::customers::{EMAIL, token};

const ISSUER: (&str, &str) = ("storefront.access_tokens.issuer", "https://hub.example");

async fn issue(world: &World, customer: &str) -> Value {
    world.storefront("customers/access-token").token(customer).send().await.ok(200)
}

/// What a service does that was told the issuer and the store, and knows nothing else.
struct Service {
    keys: JwkSet,
    issuer: String,
    store: String,
}

impl Service {
    async fn of(world: &World, company: impl ToString, store: impl ToString) -> Self {
        let issuer = format!("https://hub.example/storefront/v1/companies/{}", company.to_string());
        let path = format!("{}/jwks.json", issuer.strip_prefix("https://hub.example").unwrap());
        let answer = world.request(Method::GET, &path).send().await;
        assert_eq!(answer.headers["cache-control"], "public, max-age=300");
        Self { keys: serde_json::from_value(answer.ok(200)).unwrap(), issuer, store: store.to_string() }
    }

    fn claims(&self, token: &str) -> Option<Value> {
        let header = decode_header(token).ok().filter(|header| header.typ.as_deref() == Some("at+jwt"))?;
        let key = self.keys.find(&header.kid?)?;
        let mut validation = Validation::new(Algorithm::ES256);
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&[&self.store]);
        // The stories' clock stands still.
        validation.validate_exp = false;
        decode(token, &DecodingKey::from_jwk(key).unwrap(), &validation).ok().map(|token| token.claims)
    }
}

#[tokio::test]
async fn a_service_verifies_who_the_customer_is_without_asking() {
    let world = World::with(&[ISSUER]).await;
    let ada = world.register(EMAIL).await;
    let began = world.clock.now().timestamp();
    world.pass(TimeDelta::minutes(3));
    let answer = issue(&world, &token(&ada)).await;
    assert_eq!((&answer["token_type"], &answer["expires_in"]), (&json!("Bearer"), &json!(300)));

    let service = Service::of(&world, world.company, world.store).await;
    let mut claims = service.claims(answer["access_token"].as_str().unwrap()).unwrap();
    let sessions = world.storefront_get("customers/sessions").token(&token(&ada)).send().await.ok(200);
    assert_eq!(claims["jti"].take().as_str().unwrap().len(), 32);
    let expected = json!({
        "iss": service.issuer,
        "sub": ada["customer"]["id"],
        "aud": world.store,
        "client_id": world.store,
        "sid": sessions["sessions"][0]["id"],
        "auth_time": began,
        "iat": began + 180,
        "exp": began + 480,
        "jti": null,
    });
    assert_eq!(claims, expected);
    let [key] = &service.keys.keys[..] else { panic!("one key") };
    let shown = serde_json::to_value(key).unwrap();
    assert_eq!((&shown["kty"], &shown["alg"], &shown["use"], shown.get("d")), (&json!("EC"), &json!("ES256"), &json!("sig"), None));
}

#[tokio::test]
async fn a_token_does_not_outlive_its_session() {
    let world = World::with(&[ISSUER, ("storefront.session_lifetime", "1h")]).await;
    let ada = token(&world.register(EMAIL).await);
    world.pass(TimeDelta::minutes(58));
    let answer = issue(&world, &ada).await;
    assert_eq!(answer["expires_in"], 120);
    let claims = Service::of(&world, world.company, world.store).await.claims(answer["access_token"].as_str().unwrap()).unwrap();
    assert_eq!(claims["exp"], world.clock.now().timestamp() + 120);
}

#[tokio::test]
async fn a_token_of_one_company_or_store_is_none_of_another() {
    let world = World::with(&[ISSUER]).await;
    let ada = token(&world.register(EMAIL).await);
    let issued = issue(&world, &ada).await;
    let (other, _) = world.another_company(&[]).await;
    let token = issued["access_token"].as_str().unwrap();
    assert!(Service::of(&world, world.company, world.store).await.claims(token).is_some());
    assert!(Service::of(&world, other, world.store).await.claims(token).is_none());
    assert!(Service::of(&world, world.company, "store_01h455vb4pex5vsknk084sn02q").await.claims(token).is_none());
    // It opens nothing here.
    world.storefront_get("customers/me").token(token).send().await.refused(401, "customer_token_invalid");
    world.request(Method::GET, "/storefront/v1/companies/company_x/jwks.json").send().await.refused(404, "record_not_found");
}

#[tokio::test]
async fn a_token_is_verified_while_the_application_key_is_replaced() {
    let world = World::with(&[ISSUER]).await;
    let ada = token(&world.register(EMAIL).await);
    let before = issue(&world, &ada).await;
    let next = ApplicationKey::generate();
    let world = world.rekeyed(next.expose_secret(), &[&world.application_key_setting]);
    let after = issue(&world, &ada).await;
    let service = Service::of(&world, world.company, world.store).await;
    assert_eq!(service.keys.keys.len(), 2);
    for issued in [before, after] {
        assert!(service.claims(issued["access_token"].as_str().unwrap()).is_some());
    }
}

#[tokio::test]
async fn only_a_signed_in_customer_gets_one_and_only_where_there_is_an_issuer() {
    let world = World::with(&[ISSUER]).await;
    let ada = token(&world.register(EMAIL).await);
    world.storefront("customers/access-token").send().await.refused(401, "customer_token_invalid");
    world.storefront("customers/logout").token(&ada).send().await.ok(200);
    world.storefront("customers/access-token").token(&ada).send().await.refused(401, "customer_token_invalid");

    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    world.storefront("customers/access-token").token(&ada).send().await.refused(404, "access_tokens_not_configured");
    let keys = format!("/storefront/v1/companies/{}/jwks.json", world.company);
    world.request(Method::GET, &keys).send().await.refused(404, "access_tokens_not_configured");
}
