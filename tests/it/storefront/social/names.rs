//! The providers that a deployment offers, and their names.

use portico::config::Config;
use portico::kernel::clock::Clock;
use portico::kernel::lifecycle::Lifecycle;
use portico::providers::identity::IdentityProviders;
use serde_json::json;
use wiremock::ResponseTemplate;

use super::{customer, login};
use crate::support::World;
use crate::support::identity_provider::{APP, IdentityProvider, claims_of_a, claims_of_b, rsa};

#[tokio::test]
async fn a_provider_that_is_not_configured_is_404() {
    let world = World::new().await;
    let body = json!({ "identityToken": "x", "idToken": "x", "clientId": "x", "idpCUserId": "7" });
    for provider in ["idp-a", "idp-b", "idp-c"] {
        login(&world, provider, body.clone()).await.refused(404, "provider_not_configured");
        login(&world, provider, json!({})).await.refused(404, "provider_not_configured");
    }
}

#[tokio::test]
async fn a_provider_answers_to_its_neutral_name_and_to_its_own() {
    let idp = IdentityProvider::start().await;
    let world =
        idp.world(&[("providers.idp_a.name", "acme-id"), ("providers.idp_b.name", "beta"), ("providers.idp_c.name", "gamma-2-go")]).await;
    let token = || rsa().sign(&claims_of_a(&world, "7"));
    let neutral = customer(login(&world, "idp-a", json!({ "identityToken": token(), "idpAUserId": "7" })).await);
    for route in ["idp-a", "acme-id"] {
        for member in ["idpAUserId", "acmeIdUserId"] {
            assert_eq!(customer(login(&world, route, json!({ "identityToken": token(), member: "7" })).await), neutral);
            login(&world, route, json!({ "identityToken": token(), member: "8" })).await.refused(401, "identity_not_verified");
        }
    }
    let token = rsa().sign(&claims_of_b(&world, "7"));
    login(&world, "beta", json!({ "idToken": token, "clientId": APP })).await.ok(200);
    let data = json!({ "data": { "app_id": "4711", "is_valid": true, "user_id": "7" } });
    idp.answer("GET", "/graph/v1.0/debug_token", ResponseTemplate::new(200).set_body_json(data)).await;
    login(&world, "gamma-2-go", json!({ "gamma2GoUserId": "7", "accessToken": "x" })).await.ok(200);
    // Any other name may be that of a provider of a company.
    login(&world, "acme", json!({})).await.refused(404, "provider_not_configured");
    // Authentication is unchanged: without a store key, the sign-in is refused.
    world.storefront("customers/login-with-acme-id").key("").json(&json!({})).send().await.refused(401, "store_key_invalid");
}

#[tokio::test]
async fn invalid_settings_are_refused_by_name() {
    let idp = IdentityProvider::start().await;
    let refused = |key: &str, value: &str| {
        let settings = idp.settings();
        let settings: Vec<_> = settings.iter().map(|(key, value)| (*key, value.as_str())).chain([(key, value)]).collect();
        let config = match Config::with(&settings) {
            Ok(config) => config,
            Err(error) => return error.to_string(),
        };
        IdentityProviders::new(&config.providers, &Clock::System, &Lifecycle::default()).unwrap_err().to_string()
    };
    for (key, value, message) in [
        ("providers.idp_a.issuers", "", "providers.idp_a.issuers is not set, but other settings of the provider are"),
        ("providers.idp_a.jwks_url", "", "providers.idp_a.jwks_url is not set"),
        ("providers.idp_a.jwks_url", "http://id.example/keys", "providers.idp_a.jwks_url is not an https:// URL"),
        ("providers.idp_a.client_id", "shop", "providers.idp_a.client_secret is not set"),
        ("providers.idp_b.client_ids", "", "providers.idp_b.client_ids is not set"),
        ("providers.idp_c.app_secret", "", "providers.idp_c.app_secret is not set"),
        ("providers.idp_c.graph_url", "http://graph.example", "providers.idp_c.graph_url is not an https:// URL"),
        ("providers.idp_c.issuers", "https://c.example", "providers.idp_c.jwks_url is not set, but other settings of the provider are"),
        (
            "providers.idp_c.jwks_url",
            "https://c.example/keys",
            "providers.idp_c.issuers is not set, but other settings of the provider are",
        ),
        ("providers.idp_c.verification", "maybe", "\"graph\" or \"none\""),
        ("providers.idp_a.name", "Acme", "lower-case"),
        ("providers.idp_a.name", "sms", "providers.idp_a.name cannot be \"sms\""),
        ("providers.idp_b.name", "idp-a", "is the name of another sign-in method"),
        ("providers.idp_b.secret", "x", "secret"),
    ] {
        let error = refused(key, value);
        assert!(error.contains(message), "{key} = {value}: {error}");
    }
}

#[tokio::test]
async fn a_duplicate_field_is_refused() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[("providers.idp_a.name", "acme-id")]).await;
    let (a, b) = (rsa().sign(&claims_of_a(&world, "7")), rsa().sign(&claims_of_b(&world, "7")));
    for (provider, body) in [
        ("idp-a", format!(r#"{{"identityToken":"{a}","idpAUserId":"8","idpAUserId":"7"}}"#)),
        ("idp-a", format!(r#"{{"identityToken":"x","identityToken":"{a}"}}"#)),
        ("idp-a", format!(r#"{{"identityToken":"{a}","idpAUserId":"8","acmeIdUserId":"7"}}"#)),
        ("acme-id", format!(r#"{{"identityToken":"{a}","acmeIdUserId":"7","idpAUserId":"7"}}"#)),
        ("idp-b", format!(r#"{{"idToken":"{b}","clientId":"x","clientId":"{APP}"}}"#)),
        ("idp-c", r#"{"idpCUserId":"7","idpCUserId":"7","accessToken":"x"}"#.to_owned()),
    ] {
        let request = world.storefront(&format!("customers/login-with-{provider}")).header("content-type", "application/json");
        request.body(body).send().await.refused(422, "body_invalid");
    }
    assert_eq!(world.count("select count(*) from customers").await, 0);
}
