//! What companies' texts are sent by, in place of the providers of the deployment.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use futures::future::join_all;
use portico::callers::Scope;
use portico::kernel::crypto::standard_signature;
use portico::operators::Role;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::timeout;
use wiremock::MockServer;

use crate::support::customers::{PHONE, ask_to_register};
use crate::support::receiver::{Received, Receiver, Reply};
use crate::support::sms::{twilio, vonage};
use crate::support::{Answer, World};

const PATH: &str = "/storefront/int/v1/message-providers";
/// The key of the hooks of these stories.
const KEY: &[u8] = b"0123456789abcdef01234567";

impl World {
    async fn make_message_provider(&self, body: Value) -> Answer {
        self.api(Method::POST, PATH).json(&body).send().await
    }

    async fn change_message_provider(&self, made: &Value, body: Value) -> Answer {
        let path = format!("{PATH}/{}", made["message_provider"]["id"].as_str().unwrap());
        self.api(Method::PUT, &path).json(&body).send().await
    }

    async fn test_message_provider(&self, made: &Value, to: &str) -> Answer {
        let path = format!("{PATH}/{}/test", made["message_provider"]["id"].as_str().unwrap());
        self.api(Method::POST, &path).json(&json!({ "to": to })).send().await
    }

    /// An endpoint of the company on loopback.
    async fn hook(&self, name: &str) -> Receiver {
        self.resolver.insert(name, &["127.0.0.1".parse().unwrap()]);
        Receiver::start(name, Some(name)).await
    }
}

fn hook_secret() -> String {
    format!("whsec_{}", STANDARD.encode(KEY))
}

fn by_hook(hook: &Receiver) -> Value {
    json!({ "channel": "sms", "kind": "webhook", "settings": { "url": hook.url() }, "secret": hook_secret() })
}

fn with(mut body: Value, more: &Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// The `data` of a message, whose signature is right.
#[track_caller]
fn data(world: &World, received: &Received) -> Value {
    let signature = standard_signature(KEY, received.header("webhook-id"), world.clock.now(), &received.body);
    assert_eq!(received.header("webhook-signature"), signature);
    assert_eq!(received.header("webhook-timestamp"), world.clock.now().timestamp().to_string());
    let body: Value = serde_json::from_slice(&received.body).unwrap();
    assert_eq!(body["type"], "message.send");
    body["data"].clone()
}

async fn asked(provider: &MockServer) -> usize {
    provider.received_requests().await.unwrap().len()
}

fn settings<'a>(of: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    of.iter().map(|(key, value)| (*key, value.as_str())).collect()
}

#[tokio::test]
async fn the_endpoint_of_a_company_gets_its_texts_and_nobody_elses() {
    let (deployment, of_deployment) = twilio::provider(twilio::accepted()).await;
    let world = World::with(&settings(&of_deployment)).await;
    let (other, _) = world.another_company(&Scope::ALL).await;
    let (_, their_key) = world.store_of(other).await;
    let hook = world.hook("sms.test").await;
    let made = world.make_message_provider(by_hook(&hook)).await.ok(201);

    let asking = world
        .storefront("customers/request-creation-code")
        .header("accept-language", "de")
        .json(&json!({ "identity": PHONE, "mode": "sms" }));
    asking.send().await.ok(200);
    let sent = data(&world, &hook.only());
    assert_eq!((&sent["channel"], &sent["to"], &sent["purpose"]), (&json!("sms"), &json!(PHONE), &json!("create_account")));
    assert_eq!((&sent["store"], &sent["language"]), (&json!(world.store), &json!("de")));
    assert_eq!(sent["code"], json!(world.last_code()));
    assert!(sent["text"].as_str().unwrap().contains(&world.last_code()), "{sent}");
    assert_eq!(asked(&deployment).await, 0);
    let theirs =
        world.storefront("customers/request-creation-code").key(&their_key).json(&json!({ "identity": "+12015550124", "mode": "sms" }));
    theirs.send().await.ok(200);
    assert_eq!((hook.count(), asked(&deployment).await), (1, 1));

    // Another instance hears of a change within a second, this one at once.
    let instance = world.another_instance();
    ask_to_register(&instance, "+12015560125").await.ok(200);
    world.change_message_provider(&made, json!({ "status": "inactive" })).await.ok(200);
    ask_to_register(&world, "+12015570126").await.ok(200);
    assert_eq!((hook.count(), asked(&deployment).await), (2, 2));
    world.pass(TimeDelta::seconds(1));
    ask_to_register(&instance, "+12015580127").await.ok(200);
    assert_eq!((hook.count(), asked(&deployment).await), (2, 3));
}

#[tokio::test]
async fn an_account_at_a_named_service_is_asked_at_the_address_of_the_deployment() {
    let (deployment, mut of_deployment) = vonage::provider(vonage::accepted()).await;
    let (own, of_own) = twilio::provider(twilio::accepted()).await;
    of_deployment.extend([("sms.providers", "vonage".to_owned())]);
    of_deployment.extend(of_own.into_iter().filter(|(key, _)| *key == "sms.twilio.base_url"));
    let world = World::with(&settings(&of_deployment)).await;
    let account = json!({ "account_sid": twilio::ACCOUNT, "from": "+15005550006" });
    let body = json!({ "channel": "sms", "kind": "twilio", "settings": account, "secret": twilio::TOKEN });
    let made = world.make_message_provider(body).await.ok(201);
    assert_eq!((&made["message_provider"]["has_secret"], made["message_provider"].get("secret")), (&json!(true), None));
    ask_to_register(&world, PHONE).await.ok(200);
    assert_eq!((asked(&own).await, asked(&deployment).await), (1, 0));
    // What it says of a number is believed, and nobody else is asked.
    twilio::change(&own, twilio::refused(400, 21610)).await;
    world.change_message_provider(&made, json!({ "falls_back": true })).await.ok(200);
    ask_to_register(&world, "+12015560124").await.refused(422, "number_unreachable");
    assert_eq!(asked(&deployment).await, 0);
}

#[tokio::test]
async fn a_service_of_the_companys_own_gets_the_request_that_it_describes() {
    let world = World::new().await;
    let service = world.hook("service.test").await;
    let request = json!({
        "url": service.url() + "/{to_digits}", "headers": "Authorization: Bearer {secret}",
        "body": r#"{"text":"{text}","sender":"{from}"}"#, "from": "Acme", "unreachable": { "statuses": [404] },
    });
    let body = json!({ "channel": "sms", "kind": "http", "settings": request, "secret": "own-s3cret" });
    world.make_message_provider(body).await.ok(201);
    service.will([Reply::status(202), Reply::status(404), Reply::status(500)]);
    ask_to_register(&world, PHONE).await.ok(200);
    let received = service.only();
    assert_eq!((received.head.as_str(), received.header("authorization")), ("POST /hooks/12015550123 HTTP/1.1", "Bearer own-s3cret"));
    assert_eq!(serde_json::from_slice::<Value>(&received.body).unwrap()["sender"], "Acme");
    ask_to_register(&world, "+12015560124").await.refused(422, "number_unreachable");
    ask_to_register(&world, "+12015570125").await.refused(502, "message_not_sent");
}

#[tokio::test]
async fn a_text_that_fails_is_not_sent_unless_the_company_falls_back() {
    let (deployment, of_deployment) = twilio::provider(twilio::accepted()).await;
    let world = World::with(&settings(&of_deployment)).await;
    let hook = world.hook("sms.test").await;
    let made = world.make_message_provider(by_hook(&hook)).await.ok(201);
    // Once more with the same id after 5xx, by which the endpoint tells the two apart.
    hook.will([Reply::status(503), Reply::status(200)]);
    ask_to_register(&world, PHONE).await.ok(200);
    let ids = hook.headers("webhook-id");
    assert_eq!((ids.len(), &ids[0]), (2, &ids[1]));

    hook.will([Reply::status(400)]);
    ask_to_register(&world, "+12015560124").await.refused(502, "message_not_sent");
    assert_eq!((hook.count(), asked(&deployment).await), (3, 0));
    assert_eq!(world.count("select count(*) from texts where status = 'sent'").await, 1, "the guard counts what was sent");

    world.change_message_provider(&made, json!({ "falls_back": true })).await.ok(200);
    hook.will([Reply::with(302, "location", "https://elsewhere.test/")]);
    ask_to_register(&world, "+12015570125").await.ok(200);
    assert_eq!((hook.count(), asked(&deployment).await), (4, 1), "a redirect is a failure");
}

#[tokio::test]
async fn the_dead_endpoint_of_a_company_is_skipped_for_it_alone_and_holds_up_nobody() {
    let (deployment, mut of_deployment) = twilio::provider(twilio::accepted()).await;
    of_deployment.push(("sms.breaker.opens_after", "1".to_owned()));
    let world = World::with(&settings(&of_deployment)).await;
    let (other, their_api_key) = world.another_company(&Scope::ALL).await;
    let (_, their_key) = world.store_of(other).await;
    let [silent, good] = [world.hook("silent.test").await, world.hook("good.test").await];
    world.make_message_provider(with(by_hook(&silent), &json!({ "falls_back": true }))).await.ok(201);
    world.request(Method::POST, PATH).key(&their_api_key).json(&by_hook(&good)).send().await.ok(201);

    silent.will([Reply::Silence, Reply::Silence]);
    let waiting = ask_to_register(&world, PHONE);
    let others = async {
        silent.waits_for(1).await;
        let body = json!({ "identity": "+12015560124", "mode": "sms" });
        let theirs = world.storefront("customers/request-creation-code").key(&their_key).json(&body).send();
        timeout(Duration::from_secs(2), theirs).await.expect("it does not wait").ok(200)
    };
    let (waited, _) = tokio::join!(waiting, others);
    waited.ok(200);
    assert_eq!((silent.count(), good.count(), asked(&deployment).await), (2, 1, 1));
    // The circuit breaker of the company is open, and no other one.
    ask_to_register(&world, "+12015570125").await.ok(200);
    let body = json!({ "identity": "+12015580126", "mode": "sms" });
    world.storefront("customers/request-creation-code").key(&their_key).json(&body).send().await.ok(200);
    assert_eq!((silent.count(), good.count(), asked(&deployment).await), (2, 2, 2));
}

#[tokio::test]
async fn a_provider_that_cannot_be_used_sends_nothing_and_nobody_takes_its_place() {
    let (deployment, of_deployment) = twilio::provider(twilio::accepted()).await;
    let world = World::with(&settings(&of_deployment)).await;
    let hook = world.hook("sms.test").await;
    let made = world.make_message_provider(by_hook(&hook)).await.ok(201);
    let stored: Vec<u8> = sqlx::query_scalar("select secret from message_providers").fetch_one(&world.pool).await.unwrap();
    assert!(!stored.windows(6).any(|part| part == b"whsec_"));
    sqlx::query("update message_providers set secret = $1, version = version + 1").bind(vec![7_u8; 60]).execute(&world.pool).await.unwrap();
    world.pass(TimeDelta::seconds(1));
    ask_to_register(&world, PHONE).await.refused(422, "texts_unavailable");
    assert_eq!((hook.count(), asked(&deployment).await), (0, 0));
    let tested = world.test_message_provider(&made, PHONE).await.ok(200);
    assert_eq!(tested, json!({ "ok": false, "detail": "It cannot be used: the secret cannot be decrypted." }));
    sqlx::query("update message_providers set falls_back = true, version = version + 1").execute(&world.pool).await.unwrap();
    world.pass(TimeDelta::seconds(1));
    ask_to_register(&world, PHONE).await.ok(200);
    assert_eq!((hook.count(), asked(&deployment).await), (0, 1));
    world.change_message_provider(&made, json!({ "secret": hook_secret() })).await.ok(200);
    ask_to_register(&world, "+12015560124").await.ok(200);
    assert_eq!((hook.count(), asked(&deployment).await), (1, 1));
}

#[tokio::test]
async fn a_provider_is_tested_before_it_sends_and_not_without_end() {
    let world = World::new().await;
    let hook = world.hook("sms.test").await;
    let made = world.make_message_provider(with(by_hook(&hook), &json!({ "status": "inactive" }))).await.ok(201);
    let tested = world.test_message_provider(&made, PHONE).await.ok(200);
    assert_eq!(tested, json!({ "ok": true, "detail": "It has taken the message." }));
    let sent = data(&world, &hook.only());
    assert_eq!((&sent["purpose"], &sent["store"], &sent["code"]), (&json!("test"), &json!(null), &json!(null)));
    hook.will([Reply::status(401)]);
    let tested = world.test_message_provider(&made, PHONE).await.ok(200);
    assert_eq!(tested, json!({ "ok": false, "detail": "It did not take the message: bad_credentials (status 401)." }));
    world.test_message_provider(&made, "nobody").await.refused(422, "body_invalid");
    let parallel = join_all((0..12).map(|_| world.test_message_provider(&made, PHONE))).await;
    assert_eq!(parallel.iter().filter(|answer| answer.status == 200).count(), 8, "ten an hour");
    assert_eq!(hook.count(), 10);
    let (_, theirs) = world.another_company(&Scope::ALL).await;
    let path = format!("{PATH}/{}/test", made["message_provider"]["id"].as_str().unwrap());
    world.request(Method::POST, &path).key(&theirs).json(&json!({ "to": PHONE })).send().await.refused(404, "record_not_found");
    let write = world.key_of(world.company, &[Scope::Read, Scope::Write]).await;
    world.request(Method::POST, &path).key(&write).json(&json!({ "to": PHONE })).send().await.refused(403, "scope_missing");
}

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
    let made = world.make_message_provider(by_hook(&hook)).await.ok(201);
    let second = world.make_message_provider(by_hook(&hook)).await.refused(422, "body_invalid");
    assert_eq!(second["fields"]["status"][0], "The company has an active provider for this channel already.");
    world.resolver.insert("elsewhere.test", &["127.0.0.1".parse().unwrap()]);
    let moved = json!({ "settings": { "url": "https://elsewhere.test:8443/" } });
    let refused = world.change_message_provider(&made, moved.clone()).await.refused(422, "body_invalid");
    assert_eq!(refused["fields"]["secret"][0], "Send the secret again, because it is for another address now.");
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
