//! The fields of a store that say for whom it takes passkeys.

use reqwest::Method;
use serde_json::json;

use super::{DOMAIN, ada};
use crate::support::World;
use crate::support::customers::{EMAIL, token};

#[tokio::test]
async fn a_store_takes_no_passkeys_until_it_names_its_domain() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    let refused = |path: &'static str| world.storefront(path).token(&ada).send();
    for path in ["customers/login-with-passkey/request", "customers/passkeys/request"] {
        refused(path).await.refused(404, "passkeys_not_configured");
    }
    world.change_store(json!({ "passkey_domain": DOMAIN })).await.ok(200);
    let passkey = world.passkey(&ada).await;
    // Passkeys are made for one domain: another one has none of them, and gets none of them.
    world.change_store(json!({ "passkey_domain": "other.example" })).await.ok(200);
    world.prove(&passkey).await.refused(401, "passkey_not_verified");
    world.change_store(json!({ "passkey_domain": null })).await.ok(200);
    let body = json!({ "credential": passkey.answer(&json!({ "publicKey": { "challenge": "AAAA" } })) });
    world.storefront("customers/login-with-passkey").json(&body).send().await.refused(404, "passkeys_not_configured");
    world.change_store(json!({ "passkey_domain": DOMAIN })).await.ok(200);
    world.prove(&passkey).await.ok(200);
}

#[tokio::test]
async fn only_the_pages_and_apps_that_a_store_names_use_its_passkeys() {
    let world = World::with_passkeys(&[]).await;
    let (_, mut passkey) = ada(&world).await;
    let app = format!("android:apk-key-hash:{}", &"aB3-_".repeat(9)[..43]);
    world.change_store(json!({ "passkey_origins": ["https://www.shop.example", app] })).await.ok(200);
    for (origin, is_right) in [("https://www.shop.example", true), (app.as_str(), true), ("https://shop.example", false)] {
        passkey.origin = origin.to_owned();
        assert_eq!(world.prove(&passkey).await.status, if is_right { 200 } else { 401 }, "{origin}");
    }
}

#[tokio::test]
async fn a_domain_or_an_origin_that_is_none_is_refused_by_name() {
    let world = World::new().await;
    for (field, value) in [
        ("passkey_domain", json!("https://shop.example")),
        ("passkey_domain", json!("example")),
        ("passkey_domain", json!("127.0.0.1")),
        ("passkey_origins", json!("https://shop.example")),
        ("passkey_origins", json!(vec!["https://shop.example"; 21])),
    ] {
        let refused = world.change_store(json!({ field: value })).await.refused(422, "body_invalid");
        assert!(refused["fields"][field].is_array(), "{refused}");
    }
    for origin in ["http://shop.example", "https://shop.example/", "https://shop.example/shop", "android:apk-key-hash:x", "*", "null"] {
        let refused = world.change_store(json!({ "passkey_origins": [origin] })).await.refused(422, "body_invalid");
        assert!(refused["fields"]["passkey_origins[0]"].is_array(), "{refused}");
    }
    let set = world.change_store(json!({ "passkey_domain": "Bücher.Example", "passkey_origins": ["https://shop.example:8443"] })).await;
    assert_eq!(set.ok(200)["store"]["passkey_domain"], "xn--bcher-kva.example");
    let path = format!("/storefront/int/v1/stores/{}", world.store);
    assert_eq!(world.api(Method::GET, &path).send().await.ok(200)["store"]["passkey_origins"], json!(["https://shop.example:8443"]));
}
