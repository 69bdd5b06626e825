//! The customer sets the second factor up, sees and removes it.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::ada;
use crate::support::authenticator_app::{app_code, enrol, finish, handle, offer};
use crate::support::customers::{EMAIL, PASSWORD, PHONE, login, token};
use crate::support::{Answer, World};

async fn post(world: &World, token: &str, path: &str, body: Value) -> Answer {
    world.storefront(&format!("customers/{path}")).token(token).json(&body).send().await
}

async fn state(world: &World, token: &str) -> Value {
    world.storefront_get("customers/totp").token(token).send().await.ok(200)
}

#[tokio::test]
async fn a_customer_sets_up_an_app_with_its_first_code_and_is_told() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    sqlx::query("update customers set phone = $1, phone_verified_at = now()").bind(PHONE).execute(&world.pool).await.unwrap();
    post(&world, &ada, "totp/request", json!({})).await.refused(404, "second_factor_not_offered");
    assert_eq!(state(&world, &ada).await, json!({ "second_factor": null, "offered": false }));
    offer(&world, "optional").await;

    let first = post(&world, &ada, "totp/request", json!({})).await.ok(200);
    let offered = post(&world, &ada, "totp/request", json!({})).await.ok(200);
    let (secret, uri) = (offered["secret"].as_str().unwrap(), offered["uri"].as_str().unwrap());
    assert_eq!(uri, format!("otpauth://totp/Acme%20Shop:ada%40example.com?secret={secret}&issuer=Acme%20Shop"));
    // Only the secret that was offered last counts, and nothing is asked for until then.
    let stale = app_code(&world, first["secret"].as_str().unwrap());
    for code in [json!(stale), json!("12345")] {
        post(&world, &ada, "totp", json!({ "code": code })).await.refused(422, "code_invalid");
    }
    assert_eq!(state(&world, &ada).await, json!({ "second_factor": null, "offered": true }));
    let enabled = post(&world, &ada, "totp", json!({ "code": app_code(&world, secret) })).await.ok(200);
    let codes: std::collections::BTreeSet<_> = enabled["recovery_codes"].as_array().unwrap().iter().map(Value::to_string).collect();
    assert_eq!(codes.len(), 10);
    let shown = json!({ "method": "totp", "enabled_at": "2026-05-21T10:15:00.000+00:00", "recovery_codes_left": 10 });
    assert_eq!((&enabled["second_factor"], state(&world, &ada).await["second_factor"].clone()), (&shown, shown.clone()));
    let told: Vec<_> = world.messages().into_iter().filter(|message| message.code.is_none()).map(|message| message.to).collect();
    assert_eq!(told, [PHONE, EMAIL]);
    assert!(world.messages()[0].text.contains("now asks for a code"), "{}", world.messages()[0].text);

    post(&world, &ada, "totp/request", json!({})).await.refused(409, "second_factor_enabled");
    // Neither the secret nor the codes are stored as they are.
    let stored: Vec<u8> = sqlx::query_scalar("select sealed_secret from authenticators").fetch_one(&world.pool).await.unwrap();
    assert!(stored.len() > 20 && world.count("select count(*) from customer_recovery_codes where length(digest) = 32").await == 10);
}

#[tokio::test]
async fn a_secret_waits_an_hour_for_its_first_code() {
    let world = World::new().await;
    offer(&world, "optional").await;
    let ada = token(&world.register(EMAIL).await);
    let secret = post(&world, &ada, "totp/request", json!({})).await.ok(200)["secret"].as_str().unwrap().to_owned();
    world.pass(TimeDelta::hours(1));
    world.freshen().await;
    post(&world, &ada, "totp", json!({ "code": app_code(&world, &secret) })).await.refused(422, "code_invalid");
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from authenticators").await, 0);
}

#[tokio::test]
async fn what_changes_the_factor_takes_a_fresh_session_and_the_factor() {
    let world = World::new().await;
    let (ada, app) = ada(&world).await;
    world.pass(TimeDelta::minutes(10));
    for path in ["totp/request", "totp", "totp/recovery-codes", "totp/remove"] {
        let body = json!({ "code": app.code(&world) });
        let refusal = post(&world, &ada, path, body).await.refused(403, "fresh_sign_in_required");
        assert_eq!((&refusal["ways"], &refusal["contacts"]), (&json!(["totp", "recovery_code", "sign_in"]), &json!({})), "{path}");
    }
    // The first factor alone, which the thief of the token may have too, makes no session fresh.
    post(&world, &ada, "request-step-up", json!({})).await.refused(403, "fresh_sign_in_required");
    post(&world, &ada, "confirm-step-up", json!({ "password": PASSWORD })).await.refused(403, "fresh_sign_in_required");
    post(&world, &ada, "confirm-step-up", json!({ "code": "123456" })).await.refused(403, "fresh_sign_in_required");
    post(&world, &ada, "confirm-step-up", json!({ "totp": app.wrong_code(&world) })).await.refused(422, "code_invalid");
    let both = json!({ "totp": app.code(&world), "password": PASSWORD });
    post(&world, &ada, "confirm-step-up", both).await.refused(422, "body_invalid");
    let code = app.code(&world);
    post(&world, &ada, "confirm-step-up", json!({ "totp": code })).await.ok(200);

    // A code is good for one thing.
    post(&world, &ada, "totp/remove", json!({ "code": code })).await.refused(422, "code_used");
    post(&world, &ada, "totp/remove", json!({})).await.refused(422, "body_invalid");
    let renewed = post(&world, &ada, "totp/recovery-codes", json!({ "code": app.next_code(&world) })).await.ok(200);
    post(&world, &ada, "totp/remove", json!({ "recovery_code": app.recovery_codes[0] })).await.refused(422, "code_invalid");
    post(&world, &ada, "totp/remove", json!({ "recovery_code": renewed["recovery_codes"][0] })).await.ok(200);
    assert!(world.messages()[0].text.contains("no longer asks for a code"), "{}", world.messages()[0].text);
    login(&world, EMAIL, PASSWORD).await.ok(200);
    assert_eq!(world.count("select (select count(*) from authenticators) + (select count(*) from customer_recovery_codes)").await, 0);
    enrol(&world, &ada).await;
}

#[tokio::test]
async fn a_store_that_offers_none_any_more_still_asks_for_those_that_there_are() {
    let world = World::new().await;
    let (ada, app) = ada(&world).await;
    offer(&world, "off").await;
    world.pass(TimeDelta::seconds(30));
    let waiting = handle(login(&world, EMAIL, PASSWORD).await);
    finish(&world, &waiting, &app.code(&world)).await.ok(200);
    post(&world, &ada, "totp/remove", json!({ "code": app.next_code(&world) })).await.ok(200);
    login(&world, EMAIL, PASSWORD).await.ok(200);
    post(&world, &ada, "totp/request", json!({})).await.refused(404, "second_factor_not_offered");
}

#[tokio::test]
async fn closing_the_account_takes_both_factors_and_deletes_all_of_it() {
    let world = World::new().await;
    let (ada, app) = ada(&world).await;
    world.pass(TimeDelta::minutes(2));
    handle(login(&world, EMAIL, PASSWORD).await);
    world.pass(TimeDelta::minutes(10));
    let stale = post(&world, &ada, "account-closure", json!({})).await;
    assert_eq!(stale.refused(403, "fresh_sign_in_required")["ways"], json!(["totp", "recovery_code", "sign_in"]));
    let by_password = json!({ "old_password": PASSWORD, "password": "battery staple correct" });
    post(&world, &ada, "change-password", by_password).await.refused(403, "fresh_sign_in_required");
    post(&world, &ada, "confirm-step-up", json!({ "totp": app.code(&world) })).await.ok(200);
    post(&world, &ada, "account-closure", json!({})).await.ok(200);
    post(&world, &ada, "confirm-account-closure", json!({ "code": world.last_code() })).await.ok(200);
    let left = "select (select count(*) from authenticators) + (select count(*) from customer_recovery_codes)
                + (select count(*) from pending_sign_ins)";
    assert_eq!(world.count(left).await, 0);
}
