//! Card helpers: interface 1, card-ephemeral-key and card-setup-intent; decisions, section 6 (Card).

use std::time::Duration;

use chrono::TimeDelta;
use futures::future::join_all;
use portico::callers::Scope;
use portico::kernel::ids::CompanyId;
use serde_json::{Value, json};
use sqlx::postgres::PgQueryResult;
use wiremock::ResponseTemplate;

use crate::support::card_provider::{CardProvider, header, refusal};
use crate::support::customers::{EMAIL, token};
use crate::support::{Answer, World};

const KEY: &str = "customers/card-ephemeral-key";
const INTENT: &str = "customers/card-setup-intent";

/// Signs Ada in; returns her token.
async fn ada(world: &World) -> String {
    token(&world.register_with(EMAIL, json!({ "phone": "+12015550123" })).await)
}

async fn ask(world: &World, path: &str, ada: &str) -> Answer {
    world.storefront(path).token(ada).send().await
}

/// Asserts that the response reports a failing provider without its message.
#[track_caller]
fn failed(answer: Answer) {
    let body = answer.refused(502, "card_provider_failed").to_string();
    assert!(!body.contains("SECRET WORDS") && !body.contains("Ada"), "{body}");
}

#[tokio::test]
async fn an_app_gets_an_ephemeral_key_of_the_version_it_was_built_for() {
    let provider = CardProvider::start().await;
    let world = provider.world(&[]).await;
    let ada = ada(&world).await;
    let versions = [
        (json!({ "apiVersion": "2020-08-27" }), "2020-08-27"),
        (json!({ "apiVersion": "2024-09-30.acacia" }), "2024-09-30.acacia"),
        (json!({ "apiVersion": null }), "2024-06-20"),
        (json!({ "apiVersion": "" }), "2024-06-20"),
        (json!({ "unknown": true }), "2024-06-20"),
    ];
    for (body, version) in versions {
        let answer = world.storefront(KEY).token(&ada).json(&body).send().await.ok(200);
        assert_eq!(answer, json!({ "ephemeralKey": format!("ek_cus_0_{version}"), "customerId": "cus_0" }));
    }
    for version in [json!("latest"), json!("2020-08-27\r\nx-evil: 1"), json!(20200827)] {
        let body = json!({ "apiVersion": version });
        let refusal = world.storefront(KEY).token(&ada).json(&body).send().await.refused(422, "body_invalid");
        assert!(refusal["fields"]["apiVersion"].is_array(), "{refusal}");
    }
}

#[tokio::test]
async fn an_app_gets_a_setup_intent() {
    let provider = CardProvider::start().await;
    let world = provider.world(&[]).await;
    let ada = ada(&world).await;
    let answer = ask(&world, INTENT, &ada).await.ok(200);
    assert_eq!(answer, json!({ "setupIntentId": "seti_1", "setupIntent": "seti_1_secret_cus_0", "customerId": "cus_0" }));
    let requests = provider.requests("/v1/setup_intents").await;
    assert_eq!(requests[0].body, b"customer=cus_0&payment_method_types%5B%5D=card&usage=off_session");
}

#[tokio::test]
async fn who_tests_cards_gets_few_setup_intents() {
    let provider = CardProvider::start().await;
    let world = provider.world(&[("storefront.card_setups_per_customer", "3"), ("storefront.card_setups_per_address", "5")]).await;
    let ada = ada(&world).await;
    let answers = join_all((0..8).map(|_| ask(&world, INTENT, &ada))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 3);
    assert_eq!(ask(&world, INTENT, &ada).await.refused(429, "rate_limited")["retry_after"], 3_600);
    // The key that only shows the customer's cards is none.
    ask(&world, KEY, &ada).await.ok(200);
    world.pass(TimeDelta::hours(1));
    ask(&world, INTENT, &ada).await.ok(200);

    // Many accounts from one address.
    let mut asked = Vec::new();
    for number in 0..6 {
        let customer = token(&world.register(&format!("customer{number}@example.com")).await);
        asked.push(world.storefront(INTENT).token(&customer).from("203.0.113.9").send().await.status);
    }
    assert_eq!(asked, [200, 200, 200, 200, 200, 429]);
    assert_eq!(provider.requests("/v1/setup_intents").await.len(), 9);
}

#[tokio::test]
async fn a_customer_is_created_at_the_provider_once() {
    let provider = CardProvider::start().await;
    let world = provider.world(&[]).await;
    let login = world.register_with(EMAIL, json!({ "phone": "+12015550123" })).await;
    for path in [KEY, INTENT, KEY] {
        assert_eq!(ask(&world, path, &token(&login)).await.ok(200)["customerId"], "cus_0");
    }
    assert_eq!(provider.requests("/v1/customers").await.len(), 1);
    // The number is not verified, so the provider must not send texts to it.
    let created = provider.customers().pop().unwrap();
    assert_eq!((created["name"].as_str(), created["email"].as_str(), created.get("phone")), ("Ada", EMAIL, None));
    assert_eq!(created["metadata[customer]"], login["customer"]["id"].as_str().unwrap());
    let bob = token(&world.register("bob@example.com").await);
    assert_ne!(ask(&world, KEY, &bob).await.ok(200)["customerId"], "cus_0");
}

#[tokio::test]
async fn a_contact_that_the_provider_does_not_take_keeps_nobody_from_having_a_card() {
    let provider = CardProvider::start().await;
    let world = provider.world(&[]).await;
    let ada = ada(&world).await;
    sqlx::query("update customers set phone_verified_at = now()").execute(&world.pool).await.unwrap();
    let invalid = |param: &str| refusal(400, "invalid_request_error", json!({ "code": "email_invalid", "param": param }));
    provider.answer_next([invalid("email")]);
    ask(&world, INTENT, &ada).await.ok(200);
    let created = provider.customers().pop().unwrap();
    assert_eq!((created.get("email"), created["phone"].as_str(), created["name"].as_str()), (None, "+12015550123", "Ada"));
    let requests = provider.requests("/v1/customers").await;
    let keys: Vec<_> = requests.iter().map(|request| header(request, "idempotency-key")).collect();
    assert!(keys.len() == 2 && keys[0] != keys[1], "the provider may have kept its answer under the first key: {keys:?}");
    // The record is there now, and both may be refused.
    ask(&world, KEY, &ada).await.ok(200);
    provider.forget_customers();
    provider.answer_next([
        refusal(404, "invalid_request_error", json!({ "code": "resource_missing", "param": "customer" })),
        invalid("email"),
        refusal(400, "invalid_request_error", json!({ "param": "phone" })),
    ]);
    ask(&world, KEY, &ada).await.ok(200);
    let created = provider.customers().pop().unwrap();
    assert_eq!((created.get("email"), created.get("phone")), (None, None));
    // A contact that was not sent is nothing that could be left out.
    provider.forget_customers();
    provider.answer_next([
        refusal(404, "invalid_request_error", json!({ "code": "resource_missing", "param": "customer" })),
        invalid("email"),
        invalid("email"),
    ]);
    failed(ask(&world, KEY, &ada).await);
}

#[tokio::test]
async fn a_name_that_is_not_known_is_left_out() {
    let provider = CardProvider::start().await;
    let world = provider.world(&[]).await;
    let ada = ada(&world).await;
    sqlx::query("update customers set name = ''").execute(&world.pool).await.unwrap();
    ask(&world, KEY, &ada).await.ok(200);
    let created = provider.customers().pop().unwrap();
    assert_eq!((created.get("name"), created["email"].as_str()), (None, EMAIL));
}

#[tokio::test]
async fn parallel_calls_make_one_customer() {
    let provider = CardProvider::start().await;
    let world = provider.world(&[]).await;
    let ada = ada(&world).await;
    let answers = join_all((0..8).map(|n| ask(&world, [KEY, INTENT][n % 2], &ada))).await;
    assert!(answers.into_iter().all(|answer| answer.ok(200)["customerId"] == "cus_0"));
    assert_eq!(provider.customers().len(), 1);
}

#[tokio::test]
async fn a_request_to_a_busy_or_failing_provider_is_retried() {
    let provider = CardProvider::start().await;
    let world = provider.world(&[]).await;
    let ada = ada(&world).await;
    for status in [429, 500, 503] {
        provider.answer_next([refusal(status, "api_error", json!({}))]);
        ask(&world, KEY, &ada).await.ok(200);
    }
    assert_eq!(provider.customers().len(), 1);
    // A retry has the same body and idempotency key as the first request; each call has a key of its own.
    let requests = provider.requests("/v1/ephemeral_keys").await;
    let keys: Vec<_> = requests.iter().map(|request| header(request, "idempotency-key")).collect();
    assert_eq!(keys.len(), 5);
    assert!(keys[0] != keys[1] && keys[1] == keys[2] && keys[2] != keys[3] && keys[3] == keys[4], "{keys:?}");
}

#[tokio::test]
async fn a_failing_provider_is_502_and_its_text_does_not_leak() {
    let provider = CardProvider::start().await;
    let world = provider.world(&[]).await;
    let ada = ada(&world).await;
    let twice = |answer: ResponseTemplate| vec![answer.clone(), answer];
    for answers in [
        vec![refusal(402, "card_error", json!({ "code": "card_declined" }))],
        vec![refusal(400, "invalid_request_error", json!({ "param": "name" }))],
        vec![refusal(401, "invalid_request_error", json!({}))],
        vec![refusal(403, "invalid_request_error", json!({}))],
        twice(refusal(429, "api_error", json!({ "code": "rate_limit" }))),
        twice(refusal(500, "api_error", json!({}))),
        twice(ResponseTemplate::new(502).set_body_string("<html>SECRET WORDS</html>")),
        vec![ResponseTemplate::new(302).insert_header("location", "http://127.0.0.1:9/SECRET WORDS")],
    ] {
        provider.answer_next(answers);
        failed(ask(&world, KEY, &ada).await);
    }
    assert_eq!(provider.customers().len(), 0);
    // The failed attempts are recorded as having created no customer, so the next call creates one.
    ask(&world, KEY, &ada).await.ok(200);
    provider.answer_next(twice(refusal(500, "api_error", json!({}))));
    failed(ask(&world, INTENT, &ada).await);
}

#[tokio::test]
async fn garbage_is_502() {
    let provider = CardProvider::start().await;
    let world = provider.world(&[]).await;
    let ada = ada(&world).await;
    let garbage = || {
        let bodies = ["", "SECRET WORDS", "[]", "null", "{}", r#"{"id":""}"#, r#"{"id":5}"#, r#"{"id":"cus_\u0000"}"#, r#"{"id":"cus_1""#];
        bodies.map(|body| ResponseTemplate::new(200).set_body_raw(body, "application/json"))
    };
    for answer in garbage() {
        provider.answer_next([answer]);
        failed(ask(&world, KEY, &ada).await);
    }
    ask(&world, KEY, &ada).await.ok(200);
    for answer in garbage() {
        provider.answer_next([answer]);
        failed(ask(&world, INTENT, &ada).await);
    }
}

#[tokio::test]
async fn an_answer_without_an_end_is_502() {
    let provider = CardProvider::start().await;
    let world = provider.world(&[]).await;
    let ada = ada(&world).await;
    let long = json!({ "id": "cus_1", "description": "x".repeat(300_000), "error": { "code": "x".repeat(300_000) } });
    for status in [200, 402] {
        provider.answer_next([ResponseTemplate::new(status).set_body_json(&long)]);
        failed(ask(&world, KEY, &ada).await);
    }
    ask(&world, KEY, &ada).await.ok(200);
}

#[tokio::test]
async fn a_slow_or_unreachable_provider_is_502() {
    let provider = CardProvider::start().await;
    let world = provider.world(&[("providers.card.timeout", "2s")]).await;
    let ada = ada(&world).await;
    provider.answer_next([ResponseTemplate::new(200).set_delay(Duration::from_secs(20))]);
    failed(ask(&world, KEY, &ada).await);
    assert_eq!(provider.requests("/v1/customers").await.len(), 1, "a request that timed out is not retried");
    ask(&world, KEY, &ada).await.ok(200);
    drop(provider);

    let world = World::with(&[("providers.card.base_url", "http://127.0.0.1:9")]).await;
    world.card_gateway(world.company).await;
    let ada = token(&world.register(EMAIL).await);
    failed(ask(&world, KEY, &ada).await);
}

/// Copies the only gateway into another row, of this company.
async fn copy_gateway(world: &World, company: CompanyId) -> Result<PgQueryResult, sqlx::Error> {
    let copy = "insert into gateways (id, company_id, version, created_at, updated_at, name, driver, status, secret_key)
                select gen_random_uuid(), $1, 1, now(), now(), name, driver, status, secret_key from gateways";
    sqlx::query(copy).bind(company.uuid()).execute(&world.pool).await
}

/// Puts a copy of the only gateway in its place, of this company.
async fn replace_gateway(world: &World, company: CompanyId) {
    sqlx::query("update gateways set deleted_at = now()").execute(&world.pool).await.unwrap();
    copy_gateway(world, company).await.unwrap();
}

#[tokio::test]
async fn without_an_active_gateway_of_the_company_cards_are_404() {
    let provider = CardProvider::start().await;
    let world = provider.world(&[]).await;
    let ada = ada(&world).await;
    for (without, with) in [
        ("update gateways set status = 'inactive'", "update gateways set status = 'active'"),
        ("update gateways set deleted_at = now()", "update gateways set deleted_at = null"),
    ] {
        sqlx::query(without).execute(&world.pool).await.unwrap();
        ask(&world, KEY, &ada).await.refused(404, "card_not_configured");
        ask(&world, INTENT, &ada).await.refused(404, "card_not_configured");
        sqlx::query(with).execute(&world.pool).await.unwrap();
        ask(&world, KEY, &ada).await.ok(200);
    }
    let (other, _) = world.another_company(&[Scope::Read]).await;
    replace_gateway(&world, other).await;
    ask(&world, KEY, &ada).await.refused(404, "card_not_configured");
}

#[tokio::test]
async fn a_customer_missing_at_the_provider_is_created_again() {
    let provider = CardProvider::start().await;
    let world = provider.world(&[]).await;
    let ada = ada(&world).await;
    let first = ask(&world, KEY, &ada).await.ok(200);
    provider.forget_customers();
    let answers = join_all((0..4).map(|_| ask(&world, KEY, &ada))).await;
    let ids: Vec<Value> = answers.into_iter().map(|answer| answer.ok(200)["customerId"].clone()).collect();
    assert!(ids.iter().all(|id| *id == ids[0] && *id != first["customerId"]), "{ids:?}");
    assert_eq!(provider.customers().len(), 1);
}

#[tokio::test]
async fn a_creation_with_a_lost_response_does_not_block_a_new_name() {
    let provider = CardProvider::start().await;
    let world = provider.world(&[("providers.card.timeout", "3s")]).await;
    let ada = ada(&world).await;
    // The provider creates the customer, but its response exceeds the timeout.
    provider.take(Duration::from_secs(20));
    failed(ask(&world, KEY, &ada).await);
    assert_eq!(provider.customers().len(), 1);
    sqlx::query("update customers set name = 'Ada King'").execute(&world.pool).await.unwrap();
    // Looked-up rows are cached for one second.
    world.pass(TimeDelta::seconds(1));
    let slow = provider.requests("/v1/customers").await.len();
    failed(ask(&world, KEY, &ada).await);
    let requests = provider.requests("/v1/customers").await;
    let keys: Vec<_> = requests.iter().map(|request| header(request, "idempotency-key")).collect();
    assert_eq!(keys[slow - 1], keys[slow], "tried under the old key");
    assert_ne!(keys[slow], keys[slow + 1], "and then under a new one");
}

#[tokio::test]
async fn a_deployment_may_call_the_provider_by_another_name() {
    let provider = CardProvider::start().await;
    let world = provider.world(&[("providers.card.name", "acme-pay")]).await;
    let ada = ada(&world).await;
    for path in ["customers/acme-pay-ephemeral-key", "customers/acme-pay-setup-intent", KEY, INTENT] {
        ask(&world, path, &ada).await.ok(200);
    }
    world.storefront("customers/acme-pay-setup-intent").send().await.refused(401, "customer_token_invalid");
}

#[tokio::test]
async fn a_secret_key_is_sealed_at_rest_and_a_company_has_one_card_gateway() {
    let provider = CardProvider::start().await;
    let world = provider.world(&[]).await;
    assert_eq!(world.count("select count(*) from gateways where position('sk_test'::bytea in secret_key) > 0").await, 0);
    let refused = copy_gateway(&world, world.company).await.unwrap_err();
    assert_eq!(refused.as_database_error().unwrap().constraint(), Some("gateways_active_card"));
    // A key encrypted for one row does not decrypt in another.
    replace_gateway(&world, world.company).await;
    let ada = ada(&world).await;
    ask(&world, KEY, &ada).await.refused(500, "internal_error");
}
