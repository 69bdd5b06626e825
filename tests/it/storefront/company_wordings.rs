//! What a company's texts and mails say, over the words of the deployment.

use chrono::TimeDelta;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::customers::{EMAIL, PHONE, ask_to_register};
use crate::support::{Answer, World};

const PATH: &str = "/storefront/int/v1/message-wordings";

impl World {
    async fn word(&self, body: Value) -> Answer {
        self.api(Method::POST, PATH).json(&body).send().await
    }

    /// The text of a creation code in this language.
    async fn texted(&self, key: &str, number: &str, language: &str) -> String {
        let asking = self.storefront("customers/request-creation-code").key(key).header("accept-language", language);
        asking.json(&json!({ "mode": "sms", "identity": number })).send().await.ok(200);
        self.messages()[0].text.clone()
    }
}

#[tokio::test]
async fn a_companys_words_are_those_of_its_stores_alone_and_the_rest_stays() {
    let world = World::new().await;
    let (other, _) = world.another_company(&Scope::ALL).await;
    let (_, their_key) = world.store_of(other).await;
    let key = world.store_key.clone();
    let usual = world.texted(&key, PHONE, "en").await;
    let entries = json!({ "create_account": { "text": "{code}: welcome to {store}!", "subject": " " } });
    let made = world.word(json!({ "language": "EN", "messages": entries })).await.ok(201);
    assert_eq!(made["message_wording"]["language"], "en");
    assert_eq!(world.texted(&key, "+12015560124", "en").await, format!("{}: welcome to Acme Shop!", world.last_code()));
    assert!(!world.texted(&their_key, "+12015570125", "en").await.contains("welcome to"));
    assert!(!world.texted(&key, "+12015580126", "de").await.contains("welcome to"), "German is as before");
    ask_to_register(&world, EMAIL).await.ok(200);
    assert!(world.messages()[0].subject.as_ref().is_some_and(|subject| !subject.trim().is_empty()), "a blank entry is the usual one");

    // Another instance hears of a change within a second, this one at once.
    let instance = world.another_instance();
    instance.texted(&key, "+12015590127", "en").await;
    let path = format!("{PATH}/{}", made["message_wording"]["id"].as_str().unwrap());
    world.api(Method::DELETE, &path).send().await.ok(200);
    assert_eq!(world.texted(&key, "+12016010128", "en").await.len(), usual.len(), "without it, it is the usual one again");
    world.pass(TimeDelta::seconds(1));
    assert!(!instance.texted(&key, "+12016020129", "en").await.contains("welcome to"));
}

#[tokio::test]
async fn words_that_lose_the_code_or_cost_two_segments_are_refused_by_entry() {
    let world = World::new().await;
    for (language, entries, member, sentence) in [
        ("en", json!({ "sign_in": { "text": "Welcome to {store}" } }), "messages.sign_in.text", "It does not contain {code}."),
        ("en", json!({ "sign_in": { "mail": "Welcome" } }), "messages.sign_in.mail", "It does not contain {code}."),
        ("en", json!({ "sign_in": { "text": "{code} {shop}" } }), "messages.sign_in.text", "{shop} is not a valid placeholder here."),
        ("en", json!({ "sign_in": { "subject": "a\r\nBcc: x" } }), "messages.sign_in.subject", "It has more than one line."),
        (
            "en",
            json!({ "phone_changed": { "text": "{store}: a new number" } }),
            "messages.phone_changed.text",
            "It does not contain {code}.",
        ),
        ("de", json!({ "email_changed": { "mail": "Bye" } }), "messages.email_changed.mail", "It does not contain {code}."),
        ("fr", json!({ "sign_in": { "text": "{code}" } }), "messages.create_account.text", "It is missing."),
        ("d", json!({}), "language", "This is not the tag of a language, such as de or pt-br."),
    ] {
        let refused = world.word(json!({ "language": language, "messages": entries })).await.refused(422, "body_invalid");
        assert_eq!(refused["fields"][member][0], sentence, "{entries} {refused}");
    }
    for (entries, member) in [
        (json!({ "sign_in": { "text": format!("{{code}} {{store}} {}", "x".repeat(130)) } }), "messages.sign_in.text"),
        (json!({ "sign_in": { "text": format!("{{code}} {}", "ж".repeat(70)) } }), "messages.sign_in.text"),
        (json!({ "sign_inn": {} }), "messages.sign_inn"),
        (json!({ "sign_in": { "mail": "x".repeat(70_000) } }), "messages"),
    ] {
        let refused = world.word(json!({ "language": "en", "messages": entries })).await.refused(422, "body_invalid");
        assert!(refused["fields"].get(member).is_some(), "{refused}");
    }
    let made = world.word(json!({ "language": "de", "messages": {} })).await.ok(201);
    let path = format!("{PATH}/{}", made["message_wording"]["id"].as_str().unwrap());
    world.api(Method::PUT, &path).json(&json!({ "language": "en" })).send().await.refused(422, "body_invalid");
    world.word(json!({ "language": "de", "messages": {} })).await.refused(422, "body_invalid");
    let write = world.key_of(world.company, &[Scope::Read, Scope::Write]).await;
    world.request(Method::PUT, &path).key(&write).json(&json!({ "messages": {} })).send().await.refused(403, "scope_missing");
}

#[tokio::test]
async fn the_wordings_of_a_company_are_not_longer_together_than_it_may_have() {
    let world = World::new().await;
    let long = |length: usize| json!({ "sign_in": { "mail": format!("{{code}}{}", "x".repeat(length)) } });
    world.word(json!({ "language": "en", "messages": long(60_000) })).await.ok(201);
    let made = world.word(json!({ "language": "de", "messages": long(60_000) })).await.ok(201);
    let refused = world.word(json!({ "language": "fr", "messages": long(12_000) })).await.refused(422, "body_invalid");
    assert_eq!(refused["fields"]["messages"][0], "The wordings of a company may have 131072 bytes at most together.");
    let path = format!("{PATH}/{}", made["message_wording"]["id"].as_str().unwrap());
    world.api(Method::PUT, &path).json(&json!({ "messages": long(65_000) })).send().await.ok(200);
}
