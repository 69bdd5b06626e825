//! Texts go out by the provider of the company alone.

use chrono::TimeDelta;
use portico::callers::Scope;
use serde_json::{Value, json};

use super::{asked, by_hook, by_twilio, data, settings};
use crate::support::World;
use crate::support::customers::{PHONE, ask_to_register};
use crate::support::receiver::Reply;
use crate::support::sms::{twilio, vonage};

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
    let made = world.make_message_provider(by_twilio()).await.ok(201);
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
async fn what_a_company_sends_itself_keeps_a_number_from_nobody_else() {
    let world = World::with(&[("storefront.daily_texts_per_number", "1")]).await;
    let hook = world.hook("sms.test").await;
    world.make_message_provider(by_hook(&hook)).await.ok(201);
    let (other, _) = world.another_company(&Scope::ALL).await;
    let [(_, first), (_, second)] = [world.store_of(other).await, world.store_of(other).await];
    ask_to_register(&world, PHONE).await.ok(200);
    assert_eq!(hook.count(), 1);
    let body = json!({ "identity": PHONE, "mode": "sms" });
    world.storefront("customers/request-creation-code").key(&first).json(&body).send().await.ok(200);
    let refused = world.storefront("customers/request-creation-code").key(&second).json(&body).send().await;
    refused.refused(429, "number_cooldown");
}
