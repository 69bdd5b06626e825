//! Providers that are dead or cannot be used, and how one is tried.

use std::cell::Cell;

use chrono::TimeDelta;
use futures::future::join_all;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::json;

use super::{PATH, asked, by_hook, data, hook_secret, settings, with};
use crate::support::World;
use crate::support::customers::{PHONE, ask_to_register};
use crate::support::receiver::Reply;
use crate::support::sms::twilio;

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
    let has_ended = Cell::new(false);
    let waiting = async {
        ask_to_register(&world, PHONE).await.ok(200);
        has_ended.set(true);
    };
    let others = async {
        silent.waits_for(1).await;
        let body = json!({ "identity": "+12015560124", "mode": "sms" });
        world.storefront("customers/request-creation-code").key(&their_key).json(&body).send().await.ok(200);
        assert!(!has_ended.get(), "the text of the other company does not wait for that endpoint");
    };
    tokio::join!(waiting, others);
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
