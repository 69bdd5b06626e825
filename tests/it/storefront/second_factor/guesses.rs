//! Six digits must not be guessed by whoever has the first factor.

use chrono::TimeDelta;
use futures::future::join_all;
use reqwest::Method;
use serde_json::json;

use super::ada;
use crate::support::World;
use crate::support::authenticator_app::{finish, finish_with, handle};
use crate::support::customers::{EMAIL, PASSWORD, login, me, token};

#[tokio::test]
async fn ten_wrong_codes_lock_the_factor_out_and_no_right_password_ends_it() {
    let world = World::new().await;
    let (ada, app) = ada(&world).await;
    world.pass(TimeDelta::minutes(2));
    let waiting = handle(login(&world, EMAIL, PASSWORD).await);
    for number in 0..10 {
        finish(&world, &waiting, &app.wrong_code(&world)).await.refused(422, "code_invalid");
        // The first factor does not begin anew what was counted at the second one.
        if number % 4 == 0 {
            handle(login(&world, EMAIL, PASSWORD).await);
        }
    }
    let waiting = handle(login(&world, EMAIL, PASSWORD).await);
    let refusal = finish(&world, &waiting, &app.code(&world)).await.refused(429, "identity_locked_out");
    assert_eq!(refusal["retry_after"], 900);
    // Nor can it be guessed elsewhere meanwhile. A recovery code is not guessed, so it gets in.
    world.freshen().await;
    let step_up = world.storefront("customers/confirm-step-up").token(&ada).json(&json!({ "totp": app.code(&world) }));
    step_up.send().await.refused(429, "identity_locked_out");
    let body = json!({ "second_factor": waiting, "recovery_code": app.recovery_codes[3].to_lowercase().replace('-', " ") });
    let answer = finish_with(&world, body).await.ok(200);
    me(&world, &token(&answer)).await;
    // That ended the lock-out.
    let waiting = handle(login(&world, EMAIL, PASSWORD).await);
    finish(&world, &waiting, &app.next_code(&world)).await.ok(200);
}

#[tokio::test]
async fn lock_outs_grow_and_support_ends_them() {
    let world = World::new().await;
    let (_, app) = ada(&world).await;
    world.pass(TimeDelta::minutes(2));
    let wrong_ones = async || {
        let waiting = handle(login(&world, EMAIL, PASSWORD).await);
        for _ in 0..10 {
            finish(&world, &waiting, &app.wrong_code(&world)).await.refused(422, "code_invalid");
        }
        finish(&world, &waiting, &app.code(&world)).await.refused(429, "identity_locked_out")["retry_after"].clone()
    };
    assert_eq!(wrong_ones().await, 900);
    world.pass(TimeDelta::minutes(15));
    assert_eq!(wrong_ones().await, 3_600);
    let path = format!("/storefront/int/v1/customers?email={EMAIL}");
    let found = world.api(Method::GET, &path).send().await.ok(200);
    let path = format!("/storefront/int/v1/customers/{}", found["customers"][0]["id"].as_str().unwrap());
    let locked = world.api(Method::GET, &path).send().await.ok(200);
    assert_eq!((&locked["customer"]["locked_out_by"], &locked["customer"]["lockouts"]), (&json!("second_factor"), &json!(2)));
    let unlocked = world.api(Method::POST, &format!("{path}/unlock")).json(&json!({})).send().await.ok(200);
    assert_eq!(unlocked["customer"]["locked_out_until"], json!(null));
    let waiting = handle(login(&world, EMAIL, PASSWORD).await);
    finish(&world, &waiting, &app.code(&world)).await.ok(200);
}

#[tokio::test]
async fn of_many_wrong_codes_at_once_ten_are_compared() {
    let world = World::new().await;
    let (_, app) = ada(&world).await;
    world.pass(TimeDelta::minutes(2));
    let (waiting, code) = (handle(login(&world, EMAIL, PASSWORD).await), app.wrong_code(&world));
    let answers = join_all((0..12).map(|_| finish(&world, &waiting, &code))).await;
    let compared = answers.iter().filter(|answer| answer.status == 422).count();
    assert_eq!((compared, answers.iter().filter(|answer| answer.status == 429).count()), (10, 2));
}

#[tokio::test]
async fn recovery_codes_are_not_tried_for_ever_from_one_address() {
    let world = World::with(&[("storefront.failures_per_address", "5")]).await;
    let (_, app) = ada(&world).await;
    world.pass(TimeDelta::minutes(2));
    let waiting = handle(login(&world, EMAIL, PASSWORD).await);
    let no_code = "AAAA-AAAA-AAAA-AAAA-AAAA-AAAA";
    let guess = json!({ "second_factor": waiting, "recovery_code": no_code });
    for _ in 0..5 {
        world.storefront("customers/login-with-totp").from("9.9.9.9").json(&guess).send().await.refused(422, "code_invalid");
        // Nobody comes upon a handle, so one that has ended is no guess.
        let ended = json!({ "second_factor": "x", "code": "123456" });
        world.storefront("customers/login-with-totp").from("9.9.9.9").json(&ended).send().await.refused(422, "second_factor_expired");
    }
    world.storefront("customers/login-with-totp").from("9.9.9.9").json(&guess).send().await.refused(429, "guesses_exceeded");
    // One that is right is not refused for others in its network.
    let right = json!({ "second_factor": waiting, "recovery_code": app.recovery_codes[0] });
    world.storefront("customers/login-with-totp").from("9.9.9.9").json(&right).send().await.ok(200);
}

#[tokio::test]
async fn what_was_used_is_told_of_and_is_no_guess_and_is_read_as_people_paste_it() {
    let world = World::new().await;
    let (ada, app) = ada(&world).await;
    world.pass(TimeDelta::minutes(10));
    let confirm = |proof: serde_json::Value| world.storefront("customers/confirm-step-up").token(&ada).json(&proof).send();
    let code = app.code(&world);
    confirm(json!({ "totp": format!("{}\u{a0}{}\n", &code[..3], &code[3..]) })).await.ok(200);
    for _ in 0..12 {
        confirm(json!({ "totp": code })).await.refused(422, "code_used");
    }
    assert_eq!(world.count("select (wrong + in_a_row + lockouts)::bigint from authenticators where locked_out_until is null").await, 0);

    let recovery_code = format!("{}\r\n", app.recovery_codes[0].replace('-', "\u{2011}"));
    confirm(json!({ "recovery_code": recovery_code })).await.ok(200);
    for _ in 0..12 {
        confirm(json!({ "recovery_code": recovery_code })).await.refused(422, "code_used");
    }
    assert_eq!(world.count("select count(*) from rate_limits where bucket like 'failures:%'").await, 0);
    // Whoever sends the first code of the app twice has set it up.
    let first = json!({ "code": app.next_code(&world) });
    world.storefront("customers/totp").token(&ada).json(&first).send().await.refused(409, "second_factor_enabled");
}
