//! What a company may not name, and where its secret does not go.

use portico::callers::Scope;
use portico::operators::Role;
use reqwest::Method;
use serde_json::json;

use super::{PATH, SEND_AGAIN, by_hook, hook_secret, with};
use crate::support::World;
use crate::support::customers::{PHONE, ask_to_register};

#[tokio::test]
async fn an_address_inside_is_never_asked_and_a_text_does_not_choose_it() {
    let world = World::new().await;
    world.resolver.insert("inside.test", &["10.0.0.7".parse().unwrap()]);
    world.resolver.insert("sms.test", &["127.0.0.1".parse().unwrap()]);
    for url in ["https://10.0.0.7/", "https://inside.test/", "https://[::1]/", "https://unknown.test/"] {
        for body in [
            json!({ "channel": "sms", "kind": "webhook", "settings": { "url": url }, "secret": hook_secret() }),
            json!({ "channel": "sms", "kind": "http", "settings": { "url": url, "body": r#"{"a":"{to}","b":"{text}"}"# } }),
        ] {
            let refused = world.make_message_provider(body).await.refused(422, "body_invalid");
            assert_eq!(refused["fields"]["settings.url"][0], "Only public addresses are asked, and none was found for this one.", "{url}");
        }
    }
    // A name that leads inside later is not followed.
    let hook = world.hook("moving.test").await;
    world.make_message_provider(by_hook(&hook)).await.ok(201);
    world.resolver.insert("moving.test", &["10.0.0.7".parse().unwrap()]);
    ask_to_register(&world, PHONE).await.refused(502, "message_not_sent");
    assert_eq!(hook.count(), 0);
}

#[tokio::test]
async fn a_mistake_is_refused_by_member_and_the_secret_is_not_sent_elsewhere() {
    let world = World::new().await;
    let hook = world.hook("sms.test").await;
    let template = r#"{"to":"{to}","text":"{text}"}"#;
    let url = hook.url();
    for (more, member) in [
        (json!({ "kind": "twilio", "settings": { "from": "+15005550006" } }), "settings.account_sid"),
        (json!({ "kind": "twilio", "settings": { "account_sid": "../x", "from": "+15005550006" } }), "settings.account_sid"),
        (json!({ "kind": "vonage", "settings": { "api_key": "a", "from": "Acme", "base_url": "https://own.test" } }), "settings.base_url"),
        (json!({ "kind": "webhook", "settings": { "url": "http://sms.test/" } }), "settings.url"),
        (json!({ "secret": "too-short" }), "secret"),
        (json!({ "secret": null }), "secret"),
        (json!({ "kind": "http", "settings": { "url": "https://{to_digits}.test/", "body": template } }), "settings.url"),
        (json!({ "kind": "http", "settings": { "url": url, "body": r#"{"to":"{to}"}"# } }), "settings.body"),
        (json!({ "kind": "http", "settings": { "url": url, "body": template, "headers": "Host: inside" } }), "settings.headers"),
        (json!({ "channel": "carrier_pigeon" }), "channel"),
    ] {
        let refused = world.make_message_provider(with(by_hook(&hook), &more)).await.refused(422, "body_invalid");
        assert!(refused["fields"].get(member).is_some(), "{more} {refused}");
    }
    let body = template;
    for (settings, member, sentence) in [
        (json!({ "url": "https://sms.test:x/", "body": body }), "settings.url", "This is not a URL: invalid port number."),
        (json!({ "url": "sms.test", "body": body }), "settings.url", "This is not a URL: relative URL without a base."),
        (json!({ "url": "http://sms.test/", "body": body }), "settings.url", "This is not an https:// URL."),
        (json!({ "url": url, "body": "{whom}" }), "settings.body", "This is not a template: {whom} is not a valid placeholder here."),
        (
            json!({ "url": url, "body": body, "headers": "X: {key}" }),
            "settings.headers",
            "This is not a template: {key} is not a valid placeholder here.",
        ),
    ] {
        let http = json!({ "kind": "http", "settings": settings });
        let refused = world.make_message_provider(with(by_hook(&hook), &http)).await.refused(422, "body_invalid");
        assert_eq!(refused["fields"], json!({ member: [sentence] }), "{settings}");
    }
    let made = world.make_message_provider(by_hook(&hook)).await.ok(201);
    let second = world.make_message_provider(by_hook(&hook)).await.refused(422, "body_invalid");
    assert_eq!(second["fields"]["status"][0], "The company has an active provider for this channel already.");
    let same_origin = json!({ "settings": { "url": format!("{}/of/texts", hook.url()) } });
    world.change_message_provider(&made, same_origin).await.ok(200);
    world.resolver.insert("elsewhere.test", &["127.0.0.1".parse().unwrap()]);
    let account = json!({ "account_sid": "AC7", "from": "+15005550006" });
    let refused = world.change_message_provider(&made, json!({ "kind": "twilio", "settings": account })).await.refused(422, "body_invalid");
    assert_eq!(refused["fields"]["secret"][0], SEND_AGAIN);
    let moved = json!({ "settings": { "url": "https://elsewhere.test:8443/" } });
    let refused = world.change_message_provider(&made, moved.clone()).await.refused(422, "body_invalid");
    assert_eq!(refused["fields"]["secret"][0], SEND_AGAIN);
    world.change_message_provider(&made, with(moved, &json!({ "secret": hook_secret() }))).await.ok(200);
    let write = world.key_of(world.company, &[Scope::Read, Scope::Write]).await;
    world.request(Method::POST, PATH).key(&write).json(&by_hook(&hook)).send().await.refused(403, "scope_missing");
    for _ in 1..10 {
        world.make_message_provider(with(by_hook(&hook), &json!({ "status": "inactive" }))).await.ok(201);
    }
    world.make_message_provider(with(by_hook(&hook), &json!({ "status": "inactive" }))).await.refused(422, "body_invalid");

    let trail = world.api(Method::GET, "/developers/int/v1/changes?kind=message_provider").send().await.ok(200);
    assert!(trail.to_string().contains("settings") && !trail.to_string().contains("whsec_"), "{trail}");
    let mut tab = world.signed_in(Role::Developer).await;
    let path = format!("/console/records/storefront/message-providers/{}", made["message_provider"]["id"].as_str().unwrap());
    let page = tab.open(&path).await;
    assert!(page.status == 200 && !page.html.contains("whsec_"), "{}", page.html);
}
