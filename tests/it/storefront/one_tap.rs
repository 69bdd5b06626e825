//! One-tap codes: what texts end with for browsers and apps (docs/storefront.md, One-tap codes).

use chrono::TimeDelta;
use portico::providers::sms::segment::{self, Alphabet};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::customers::PHONE;

const HASH: &str = "FA+9qCX9VSu";
const DOMAIN: &str = "shop.example";

impl World {
    async fn set_store(&self, body: Value) -> crate::support::Answer {
        self.api(Method::PUT, &format!("/storefront/int/v1/stores/{}", self.store)).json(&body).send().await
    }

    /// Asks for a text and reads it.
    async fn text(&self, language: &str) -> String {
        self.pass(TimeDelta::minutes(11));
        let body = json!({ "mode": "sms", "identity": PHONE });
        let asked = self.storefront("customers/request-creation-code").header("accept-language", language).json(&body);
        asked.send().await.ok(200);
        self.messages()[0].text.clone()
    }
}

#[tokio::test]
async fn texts_end_with_what_the_store_sets() {
    let world = World::new().await;
    assert!(!world.text("en").await.contains('\n'));
    for (set, ending) in [
        (json!({ "web_otp_domain": DOMAIN }), "\n\n@shop.example #CODE"),
        (json!({ "android_app_hash": HASH }), "\n\nFA+9qCX9VSu\n@shop.example #CODE"),
        (json!({ "web_otp_domain": null }), "\n\nFA+9qCX9VSu"),
    ] {
        world.set_store(set).await.ok(200);
        let text = world.text("en").await;
        let expected = ending.replace("CODE", &world.last_code());
        assert!(text.ends_with(&expected), "{text:?} does not end with {expected:?}");
        assert_eq!(text.matches(&world.last_code()).count(), 1 + ending.matches("CODE").count());
    }
}

#[tokio::test]
async fn texts_stay_within_two_segments_and_those_for_an_app_within_140_bytes() {
    let world = World::new().await;
    let units = |text: &str| segment::length(text);
    for language in ["en", "de"] {
        world.set_store(json!({ "name": "Acme Shop", "web_otp_domain": DOMAIN, "android_app_hash": null })).await.ok(200);
        let (length, alphabet) = units(&world.text(language).await);
        assert!(length <= 160 && alphabet == Alphabet::Gsm, "{language}: one segment, {length}");
        world.set_store(json!({ "web_otp_domain": null, "android_app_hash": HASH, "name": "Größte Apotheke ".repeat(5) })).await.ok(200);
        let text = world.text(language).await;
        assert!(text.len() <= 140 && text.contains("Größte Apot"), "{language}: {} bytes: {text}", text.len());
        world.set_store(json!({ "web_otp_domain": format!("{}.shop.example", "a".repeat(27)), "android_app_hash": HASH })).await.ok(200);
        let (length, alphabet) = units(&world.text(language).await);
        assert!(length <= 2 * 153 && alphabet == Alphabet::Gsm, "{language}: two segments, {length}");
    }
}

#[tokio::test]
async fn what_no_browser_and_no_app_would_understand_is_refused() {
    let world = World::new().await;
    for (member, wrong) in [
        ("web_otp_domain", json!("")),
        ("web_otp_domain", json!("https://shop.example")),
        ("web_otp_domain", json!("shop.example:443")),
        ("web_otp_domain", json!("shop.example/")),
        ("web_otp_domain", json!("shop .example")),
        ("web_otp_domain", json!("shop")),
        ("web_otp_domain", json!("127.0.0.1")),
        ("web_otp_domain", json!("shop.example\nx")),
        ("web_otp_domain", json!(format!("{}.example", "a".repeat(40)))),
        ("android_app_hash", json!("")),
        ("android_app_hash", json!("FA+9qCX9VS")),
        ("android_app_hash", json!("FA+9qCX9VSu=")),
        ("android_app_hash", json!("FA 9qCX9VSu")),
    ] {
        let refused = world.set_store(json!({ member: wrong })).await.refused(422, "body_invalid");
        assert!(refused["fields"][member].is_array(), "{wrong}: {refused}");
    }
    let set = world.set_store(json!({ "web_otp_domain": " Bücher.Example " })).await.ok(200);
    assert_eq!(set["store"]["web_otp_domain"], "xn--bcher-kva.example");
}
