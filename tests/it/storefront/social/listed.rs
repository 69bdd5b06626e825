//! Providers of the list in the settings: what an entry decides, and what stays when it is removed.

use portico::config::Config;
use portico::kernel::clock::Clock;
use portico::kernel::lifecycle::Lifecycle;
use portico::providers::identity::IdentityProviders;
use portico::storefront::export_customer;
use reqwest::Method;
use serde_json::{Value, json};

use super::{customer, login};
use crate::support::World;
use crate::support::customers::{EMAIL, token};
use crate::support::identity_provider::{APP, IdentityProvider, another, rsa, with};

/// An entry of the list with further keys.
fn entry(idp: &IdentityProvider, keys: &str) -> String {
    let keys_of_the_provider = idp.url("/keys");
    format!("[[providers.oidc]]\nname = \"acme\"\nissuers = [\"acme\"]\njwks_url = \"{keys_of_the_provider}\"\n{keys}\n")
}

fn claims(world: &World, subject: &str) -> Value {
    let now = world.clock.now().timestamp();
    another(&json!({ "iss": "acme", "aud": APP, "sub": subject, "iat": now, "exp": now + 600 }))
}

#[tokio::test]
async fn an_entry_decides_what_apps_send() {
    let idp = IdentityProvider::start().await;
    let keys = format!("client_ids = [\"{APP}\"]\ntoken_field = \"jwt\"");
    let world = World::with_file(&entry(&idp, &keys), &[]).await;
    let document = world.request(Method::GET, "/openapi.json").send().await.ok(200);
    let operation = &document["paths"]["/storefront/v1/customers/login-with-acme"]["post"];
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(schema["required"], json!(["jwt", "clientId"]));

    let jwt = || rsa().sign(&claims(&world, "7"));
    login(&world, "acme", json!({ "jwt": jwt(), "clientId": APP })).await.ok(200);
    for (body, field, sentence) in [
        (json!({ "idToken": jwt(), "clientId": APP }), "jwt", "jwt is required."),
        (json!({ "jwt": jwt() }), "clientId", "clientId is required."),
        (json!({ "jwt": null, "clientId": APP }), "jwt", "jwt is required."),
        (json!({ "jwt": "", "clientId": APP }), "jwt", "jwt is required."),
        (json!({ "jwt": jwt(), "clientId": "" }), "clientId", "clientId is required."),
        (json!({ "jwt": 5, "clientId": APP }), "jwt", "jwt must be text."),
        (json!({ "jwt": jwt(), "clientId": APP, "nonce": 5 }), "nonce", "nonce must be text."),
    ] {
        let refusal = login(&world, "acme", body).await.refused(422, "body_invalid");
        assert_eq!(refusal["fields"][field][0], sentence);
    }
    // The form has no such fields, so they are ignored.
    let more = json!({ "jwt": jwt(), "clientId": APP, "acmeUserId": "8", "name": 5, "authorizationCode": [] });
    login(&world, "acme", more).await.ok(200);
    // SHA-256 of "nonce"
    let digest = "78377b525757b494427f89014f97d79928f3938d14eb51e20fb5dec9834eb304";
    let hashed = rsa().sign(&with(&claims(&world, "7"), json!({ "nonce": digest })));
    login(&world, "acme", json!({ "jwt": hashed, "clientId": APP, "nonce": "nonce" })).await.ok(200);
}

#[tokio::test]
async fn the_listed_claims_vouch_for_an_address() {
    let idp = IdentityProvider::start().await;
    for (vouching, is_found) in [("[\"checked\", \"owned\"]", true), ("[]", false), ("[\"email_verified\"]", false)] {
        let keys = format!("audiences = [\"{APP}\"]\nemail_vouched_by = {vouching}");
        let world = World::with_file(&entry(&idp, &keys), &[]).await;
        let ada = world.register(EMAIL).await["customer"]["id"].clone();
        let claims = with(&claims(&world, "7"), json!({ "email": EMAIL, "owned": true, "checked": false }));
        let signed_in = customer(login(&world, "acme", json!({ "idToken": rsa().sign(&claims) })).await);
        assert_eq!(signed_in == ada, is_found, "{vouching}");
    }
}

#[tokio::test]
async fn a_link_outlives_the_entry_of_its_provider() {
    let idp = IdentityProvider::start().await;
    let listed = entry(&idp, &format!("audiences = [\"{APP}\"]"));
    let world = World::with_file(&listed, &[]).await;
    let body = |world: &World| json!({ "idToken": rsa().sign(&claims(world, "7")) });
    let ada = customer(login(&world, "acme", body(&world)).await);

    // The entry is removed: the link opens nothing, and is still the customer's.
    let without = world.reconfigured("", &[]);
    login(&without, "acme", body(&world)).await.refused(404, "provider_not_configured");
    let mut conn = world.pool.acquire().await.unwrap();
    let exported = export_customer(&mut conn, Some(&world.application_key), ada.as_str().unwrap().parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(exported.document["provider_links"][0]["provider"], "acme");
    let entries = without.api(Method::GET, "/storefront/int/v1/sign-ins?method=acme").send().await.ok(200);
    assert_eq!(entries["sign_ins"][0]["method"], "acme");
    // Listed without keys it is not offered either.
    let unoffered = world.reconfigured("[[providers.oidc]]\nname = \"acme\"\naudiences = []", &[]);
    login(&unoffered, "acme", body(&world)).await.refused(404, "provider_not_configured");

    // The entry is back.
    let back = world.reconfigured(&listed, &[]);
    let again = login(&back, "acme", body(&world)).await.ok(200);
    assert_eq!(again["customer"]["id"], ada);
    // A second name does not change who is linked.
    let renamed = world.reconfigured(&listed, &[("providers.acme.name", "acme-2")]);
    for name in ["acme", "acme-2"] {
        assert_eq!(customer(login(&renamed, name, body(&world)).await), ada);
    }
    // Closing an account deletes its links, whether their provider is listed or not.
    sqlx::query("update customers set email = 'ada@example.com', email_verified_at = now()").execute(&world.pool).await.unwrap();
    without.storefront("customers/account-closure").token(&token(&again)).send().await.ok(200);
    let code = json!({ "code": without.last_code() });
    without.storefront("customers/confirm-account-closure").token(&token(&again)).json(&code).send().await.ok(200);
    assert_eq!(world.count("select count(*) from provider_links").await, 0);
}

#[tokio::test]
async fn an_entry_with_a_mistake_is_refused_by_name() {
    let idp = IdentityProvider::start().await;
    let of_tokens = format!("audiences = [\"{APP}\"]\n");
    let refused = |text: &str| {
        let config = Config::with_file(text, &[]).unwrap();
        IdentityProviders::new(&config.providers, &Clock::System, &Lifecycle::default()).unwrap_err().to_string()
    };
    let exchange = "client_id = \"shop\"\nclient_secret = \"s3cret\"\n";
    for (keys, message) in [
        (String::new(), "providers.acme.audiences is not set, and neither is client_ids: choose one"),
        (format!("{of_tokens}client_ids = [\"shop\"]"), "providers.acme.client_ids cannot stand beside audiences: choose one"),
        ("audiences = []".to_owned(), "providers.acme.audiences is not set, but other settings of the provider are"),
        ("audiences = [\"\"]".to_owned(), "providers.acme.audiences has an empty item"),
        (format!("{of_tokens}email_vouched_by = [\" \"]"), "providers.acme.email_vouched_by has an empty item"),
        (format!("{of_tokens}{exchange}"), "providers.acme.token_url is not set, but other settings of the provider are"),
        (format!("{of_tokens}revoke_url = \"https://acme.example\""), "providers.acme.revoke_url is set, but no codes are exchanged"),
        (
            format!("{of_tokens}{exchange}token_url = \"https://acme.example\""),
            "providers.acme.fields must have \"authorization_code\", because codes are exchanged",
        ),
        (
            format!("{of_tokens}{exchange}token_url = \"http://acme.example\"\nfields = [\"authorization_code\"]"),
            "providers.acme.token_url is not an https:// URL",
        ),
    ] {
        assert_eq!(refused(&entry(&idp, &keys)), message, "{keys}");
    }
    let named = |name: &str| entry(&idp, &of_tokens).replace("\"acme\"\nissuers", &format!("\"{name}\"\nissuers"));
    for name in ["sms", "code", "password", "password-reset", "registration", "claimed-idp-c"] {
        let message = format!("cannot be \"{name}\", which is the name of another sign-in method");
        assert!(refused(&named(name)).ends_with(&message), "{name}");
    }
}
