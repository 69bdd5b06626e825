//! What is left when the app is lost: recovery codes, and the shop. Neither a new password nor a take-back removes the factor.

use chrono::TimeDelta;
use futures::future::join_all;
use reqwest::Method;
use serde_json::json;

use super::ada;
use crate::support::World;
use crate::support::authenticator_app::{enrol, finish, finish_with, handle};
use crate::support::customers::{EMAIL, PASSWORD, PHONE, login, token};

const EVES: &str = "eve@example.com";

#[tokio::test]
async fn a_recovery_code_signs_in_once_and_is_told() {
    let world = World::new().await;
    let (_, app) = ada(&world).await;
    world.pass(TimeDelta::minutes(2));
    let mut waiting = Vec::new();
    for _ in 0..4 {
        waiting.push(handle(login(&world, EMAIL, PASSWORD).await));
    }
    let with = |handle: &String| json!({ "second_factor": handle, "recovery_code": app.recovery_codes[0] });
    let answers = join_all(waiting.iter().map(|handle| finish_with(&world, with(handle)))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    let told = world.messages().into_iter().filter(|message| message.code.is_none() && message.text.contains("a recovery code"));
    assert_eq!(told.map(|message| message.to).collect::<Vec<_>>(), [EMAIL]);
    let answer = answers.into_iter().find(|answer| answer.status == 200).unwrap();
    let session = token(&answer.body);
    let shown = world.storefront_get("customers/totp").token(&session).send().await.ok(200);
    assert_eq!(shown["second_factor"]["recovery_codes_left"], 9);

    // In a session that is not fresh any more, one proves who it is, which is told as well.
    world.pass(TimeDelta::minutes(10));
    let before = world.messages().len();
    let step_up = world.storefront("customers/confirm-step-up").token(&session);
    step_up.json(&json!({ "recovery_code": app.recovery_codes[1] })).send().await.ok(200);
    assert_eq!(world.messages().len(), before + 1);
}

#[tokio::test]
async fn the_shop_removes_a_lost_factor_and_the_customer_is_told_on_every_channel() {
    let world = World::new().await;
    let (_, app) = ada(&world).await;
    sqlx::query("update customers set phone = $1, phone_verified_at = now()").bind(PHONE).execute(&world.pool).await.unwrap();
    world.pass(TimeDelta::minutes(2));
    let found = world.api(Method::GET, &format!("/storefront/int/v1/customers?email={EMAIL}")).send().await.ok(200);
    let id = found["customers"][0]["id"].as_str().unwrap();
    let path = format!("/storefront/int/v1/customers/{id}");
    let shown = world.api(Method::GET, &path).send().await.ok(200);
    assert_eq!(shown["customer"]["recovery_codes_left"], 10);
    assert!(shown["customer"]["second_factor_since"].is_string());
    let exported = world.api(Method::GET, &format!("{path}/export")).send().await.ok(200);
    assert_eq!(exported["second_factor"]["recovery_codes_left"], 10);
    assert!(!exported.to_string().contains(&app.secret) && !exported.to_string().contains("digest"));

    let (waiting, before) = (handle(login(&world, EMAIL, PASSWORD).await), world.messages().len());
    let remove = || world.api(Method::POST, &format!("{path}/remove-second-factor")).json(&json!({}));
    let removed = remove().send().await.ok(200);
    assert_eq!((&removed["customer"]["second_factor_since"], &removed["customer"]["recovery_codes_left"]), (&json!(null), &json!(null)));
    let told: Vec<_> = world.messages().into_iter().rev().skip(before).map(|message| message.to).collect();
    assert_eq!(told.iter().filter(|to| *to == EMAIL).count() + told.iter().filter(|to| *to == PHONE).count(), 2, "{told:?}");
    remove().send().await.ok(200);
    assert_eq!(world.messages().len(), before + 2, "the second time there is nothing to tell");
    let changes = world.get("changes?kind=customer").await;
    assert!(changes["changes"].as_array().unwrap().iter().any(|change| change["fields"] == json!(["second_factor"])), "{changes}");
    // What waited for the factor does not go on without it.
    finish(&world, &waiting, &app.code(&world)).await.refused(422, "second_factor_expired");
    login(&world, EMAIL, PASSWORD).await.ok(200);
}

#[tokio::test]
async fn a_take_back_leaves_the_factor_and_lists_it() {
    let world = World::new().await;
    let (ada, app) = ada(&world).await;
    world.storefront("customers/request-email-verification").token(&ada).json(&json!({ "email": EVES })).send().await.ok(200);
    handle(login(&world, EMAIL, PASSWORD).await);
    world.storefront("customers/verify-email").token(&ada).json(&json!({ "code": world.last_code() })).send().await.ok(200);
    assert_eq!(world.count("select count(*) from pending_sign_ins").await, 0, "what the former contact began is over");
    let notice = world.messages().into_iter().find(|message| message.to == EMAIL && message.text.contains("seven days")).unwrap();
    let code = notice.text.split_whitespace().find(|word| word.len() == 19 && word.matches('-').count() == 3).unwrap();
    let taken_back = world.storefront("customers/take-back").json(&json!({ "identity": EMAIL, "code": code })).send().await.ok(200);
    assert_eq!(taken_back["review"]["second_factor"]["method"], "totp");
    let code = world.sign_in_code(EMAIL).await;
    let waiting = handle(world.verify(EMAIL, code).await);
    finish(&world, &waiting, &app.next_code(&world)).await.ok(200);
}

#[tokio::test]
async fn a_banned_customer_is_told_so_and_waits_for_nothing() {
    let world = World::new().await;
    let (_, app) = ada(&world).await;
    world.pass(TimeDelta::minutes(2));
    let waiting = handle(login(&world, EMAIL, PASSWORD).await);
    let found = world.api(Method::GET, &format!("/storefront/int/v1/customers?email={EMAIL}")).send().await.ok(200);
    let path = format!("/storefront/int/v1/customers/{}", found["customers"][0]["id"].as_str().unwrap());
    world.api(Method::POST, &format!("{path}/ban")).json(&json!({ "reason": "chargebacks" })).send().await.ok(200);
    finish(&world, &waiting, &app.code(&world)).await.refused(422, "second_factor_expired");
    login(&world, EMAIL, PASSWORD).await.refused(403, "account_banned");
    world.api(Method::POST, &format!("{path}/unban")).json(&json!({})).send().await.ok(200);
    let waiting = handle(login(&world, EMAIL, PASSWORD).await);
    let answer = finish(&world, &waiting, &app.next_code(&world)).await.ok(200);
    let offered = world.storefront("customers/totp/remove").token(&token(&answer)).json(&json!({ "code": app.next_code(&world) }));
    offered.send().await.ok(200);
    enrol(&world, &token(&answer)).await;
}
