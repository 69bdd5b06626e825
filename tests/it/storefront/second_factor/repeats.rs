//! A request that comes twice, after a double tap or a lost answer: it is told so, and is no guess.

use chrono::TimeDelta;
use futures::future::join_all;
use serde_json::{Value, json};

use super::ada;
use crate::support::authenticator_app::{app_code, handle, offer};
use crate::support::customers::{EMAIL, PASSWORD, login, token};
use crate::support::{Answer, World};

const PHONE_OF_ADA: &str = "203.0.113.9";

/// A world in which four wrong proofs of one address are too many.
async fn world() -> World {
    World::with(&[("storefront.failures_per_address", "3")]).await
}

async fn post(world: &World, token: &str, path: &str, body: &Value) -> Answer {
    world.storefront(&format!("customers/{path}")).from(PHONE_OF_ADA).token(token).json(body).send().await
}

/// The right password is heard from where all these requests have come.
async fn log_in(world: &World) -> Answer {
    let body = json!({ "identity": EMAIL, "password": PASSWORD });
    world.storefront("customers/login").from(PHONE_OF_ADA).json(&body).send().await
}

#[tokio::test]
async fn a_sign_in_that_is_finished_twice_is_told_that_its_code_was_used() {
    let world = world().await;
    let (_, app) = ada(&world).await;
    let recovery_code = json!(app.recovery_codes[0]);
    for proof in ["code", "recovery_code"] {
        world.pass(TimeDelta::minutes(2));
        let waiting = handle(login(&world, EMAIL, PASSWORD).await);
        let code = if proof == "code" { json!(app.code(&world)) } else { recovery_code.clone() };
        let body = json!({ "second_factor": waiting, proof: code });
        let finish = || world.storefront("customers/login-with-totp").from(PHONE_OF_ADA).json(&body).send();
        let (opened, refused): (Vec<_>, Vec<_>) =
            join_all((0..3).map(|_| finish())).await.into_iter().partition(|answer| answer.status == 200);
        assert_eq!((opened.len(), refused.len()), (1, 2), "{refused:?}");
        for answer in refused {
            answer.refused(422, "code_used");
        }
        for _ in 0..5 {
            finish().await.refused(422, "code_used");
        }
        handle(log_in(&world).await);
        world.pass(TimeDelta::minutes(5));
        finish().await.refused(422, "second_factor_expired");
    }
    assert_eq!(world.count("select count(*) from customer_tokens where revoked_at is null").await, 3);
    assert_eq!(world.count("select (wrong + in_a_row + lockouts)::bigint from authenticators where locked_out_until is null").await, 0);
}

#[tokio::test]
async fn a_finished_sign_in_is_remembered_for_five_minutes_without_what_was_typed_and_where() {
    let world = world().await;
    let (_, app) = ada(&world).await;
    world.pass(TimeDelta::minutes(2));
    let body = json!({ "second_factor": handle(login(&world, EMAIL, PASSWORD).await), "code": app.code(&world) });
    world.storefront("customers/login-with-totp").json(&body).send().await.ok(200);
    let kept = "select count(*) from pending_sign_ins where identity is null and password_hash is null and network = ''";
    assert_eq!(world.count(kept).await, 1);
    world.pass(TimeDelta::minutes(5));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from pending_sign_ins").await, 0);
}

#[tokio::test]
async fn a_factor_that_is_removed_twice_is_removed() {
    for proof in ["code", "recovery_code"] {
        let world = world().await;
        let (ada, app) = ada(&world).await;
        world.pass(TimeDelta::minutes(2));
        let code = if proof == "code" { app.code(&world) } else { app.recovery_codes[0].clone() };
        let body = json!({ proof: code });
        for answer in join_all([(); 2].map(|()| post(&world, &ada, "totp/remove", &body))).await {
            assert!(answer.status == 200 || answer.body["code"] == "code_used", "{answer:?}");
        }
        let told = world.messages().len();
        for _ in 0..5 {
            assert_eq!(post(&world, &ada, "totp/remove", &body).await.ok(200), json!({ "status": "ok" }));
        }
        post(&world, &ada, "totp/remove", &json!({})).await.refused(422, "body_invalid");
        post(&world, &ada, "totp/remove", &json!({ "code": {} })).await.refused(422, "code_invalid");
        assert_eq!(world.messages().len(), told, "there is nothing to tell");
        log_in(&world).await.ok(200);
    }
}

#[tokio::test]
async fn an_app_that_is_set_up_twice_is_told_that_its_first_code_was_used() {
    let world = world().await;
    offer(&world, "optional").await;
    let ada = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    let offered = post(&world, &ada, "totp/request", &json!({})).await.ok(200);
    let secret = offered["secret"].as_str().unwrap();
    let first = json!({ "code": app_code(&world, secret) });
    let answers = join_all([(); 3].map(|()| post(&world, &ada, "totp", &first))).await;
    let (enabled, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 200);
    assert_eq!((enabled.len(), refused.len()), (1, 2), "{refused:?}");
    for answer in refused {
        answer.refused(422, "code_used");
    }
    post(&world, &ada, "totp", &first).await.refused(422, "code_used");
    // Whoever sends another one wants to set up another app. It is not told whether the code is right.
    world.pass(TimeDelta::seconds(30));
    for code in [app_code(&world, secret), "123456".to_owned()] {
        post(&world, &ada, "totp", &json!({ "code": code })).await.refused(409, "second_factor_enabled");
    }
    handle(log_in(&world).await);
}
