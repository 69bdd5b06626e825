//! Lock-outs: they grow, hold for every identity of an account, and keep strangers out rather than the customer (decisions, section 4).

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::support::customers::{EMAIL, PASSWORD, PHONE, home, login, registered, reset_password, token};
use crate::support::{Answer, World};

/// Signs in with a password from an address.
async fn login_from(world: &World, address: &str, identity: &str, password: &str) -> Answer {
    let body = json!({ "identity": identity, "password": password });
    world.storefront("customers/login").from(address).json(&body).send().await
}

/// Ten wrong passwords of strangers.
async fn lock_passwords(world: &World, identity: &str) {
    for _ in 0..10 {
        login(world, identity, "wrong password").await.refused(401, "credentials_invalid");
    }
}

/// Ten wrong codes of strangers.
async fn lock_codes(world: &World, identity: &str) {
    for _ in 0..9 {
        world.guess(identity, "123456").await.refused(422, "code_invalid");
    }
    world.guess(identity, "123456").await.refused(429, "identity_locked_out");
}

/// A customer with a proven address, a proven number and a password.
async fn ada(world: &World) -> Value {
    let ada = world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let session = token(&ada);
    world.storefront("customers/request-phone-verification").token(&session).json(&json!({ "phone": PHONE })).send().await.ok(200);
    let code = json!({ "code": world.last_code() });
    let saved = world.storefront("customers/verify-phone-number").token(&session).json(&code).send().await.ok(200);
    world.pass(TimeDelta::minutes(2));
    saved["customer"].clone()
}

#[tokio::test]
async fn lockouts_by_wrong_passwords_grow_until_a_sign_in() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    for minutes in [15, 60, 6 * 60, 24 * 60, 24 * 60] {
        lock_passwords(&world, EMAIL).await;
        let refusal = login(&world, EMAIL, PASSWORD).await.refused(429, "password_attempts_exceeded");
        assert_eq!(refusal["retry_after"], minutes * 60);
        world.pass(TimeDelta::minutes(minutes) - TimeDelta::microseconds(1));
        login(&world, EMAIL, PASSWORD).await.refused(429, "password_attempts_exceeded");
        world.pass(TimeDelta::microseconds(1));
        // Nothing of it is forgotten meanwhile.
        world.state.storefront.sweep().await.unwrap();
    }
    login(&world, EMAIL, PASSWORD).await.ok(200);
    lock_passwords(&world, EMAIL).await;
    assert_eq!(login(&world, EMAIL, PASSWORD).await.refused(429, "password_attempts_exceeded")["retry_after"], 900);
}

#[tokio::test]
async fn lockouts_by_wrong_codes_grow_until_a_sign_in() {
    let world = registered().await;
    for minutes in [15, 60, 6 * 60, 24 * 60, 24 * 60] {
        lock_codes(&world, PHONE).await;
        assert_eq!(world.guess(PHONE, "123456").await.refused(429, "identity_locked_out")["retry_after"], minutes * 60);
        world.pass(TimeDelta::minutes(minutes));
        world.state.storefront.sweep().await.unwrap();
    }
    let code = world.sign_in_code(PHONE).await;
    world.guess(PHONE, code).await.ok(200);
    lock_codes(&world, PHONE).await;
    assert_eq!(world.guess(PHONE, "123456").await.refused(429, "identity_locked_out")["retry_after"], 900);
}

#[tokio::test]
async fn after_a_hundred_wrong_passwords_in_a_row_a_code_helps_or_an_operator() {
    let world = World::new().await;
    let ada = ada(&world).await;
    let path = format!("/storefront/int/v1/customers/{}", ada["id"].as_str().unwrap());
    for _ in 0..10 {
        lock_passwords(&world, EMAIL).await;
        world.pass(TimeDelta::hours(24));
    }
    assert_eq!(login(&world, EMAIL, PASSWORD).await.refused(429, "password_attempts_exceeded")["retry_after"], 86_400);
    let shown = world.api(reqwest::Method::GET, &path).send().await.ok(200)["customer"].clone();
    assert_eq!((&shown["locked_out_by"], &shown["lockouts"], &shown["locked_for_good"]), (&json!("passwords"), &json!(10), &json!(true)));
    world.pass(TimeDelta::hours(48));
    login(&world, PHONE, PASSWORD).await.refused(429, "password_attempts_exceeded");

    let code = world.sign_in_code(EMAIL).await;
    world.guess(EMAIL, code).await.ok(200);
    login(&world, EMAIL, PASSWORD).await.ok(200);
    let shown = world.api(reqwest::Method::GET, &path).send().await.ok(200)["customer"].clone();
    assert_eq!((&shown["locked_out_by"], &shown["locked_for_good"]), (&Value::Null, &Value::Null));

    for _ in 0..10 {
        lock_passwords(&world, EMAIL).await;
        world.pass(TimeDelta::hours(24));
    }
    world.api(reqwest::Method::POST, &format!("{path}/unlock")).json(&json!({})).send().await.ok(200);
    login(&world, EMAIL, PASSWORD).await.ok(200);
}

#[tokio::test]
async fn after_a_hundred_wrong_codes_in_a_row_a_right_one_is_refused_and_the_password_helps() {
    let world = World::new().await;
    ada(&world).await;
    for _ in 0..10 {
        lock_codes(&world, PHONE).await;
        world.pass(TimeDelta::hours(24));
    }
    let code = world.sign_in_code(PHONE).await;
    assert_eq!(world.guess(PHONE, code.clone()).await.refused(429, "identity_locked_out")["retry_after"], 86_400);
    login(&world, EMAIL, PASSWORD).await.ok(200);
    world.guess(PHONE, code).await.ok(200);
}

#[tokio::test]
async fn a_lockout_holds_under_every_identity_that_leads_to_the_account() {
    let world = World::new().await;
    ada(&world).await;
    for identity in [EMAIL, PHONE, "ADA@Example.com", "1 (201) 555-0123", EMAIL, PHONE, EMAIL, PHONE, EMAIL, PHONE] {
        login(&world, identity, "wrong password").await.refused(401, "credentials_invalid");
    }
    for identity in [EMAIL, PHONE] {
        login(&world, identity, PASSWORD).await.refused(429, "password_attempts_exceeded");
    }
    for identity in [EMAIL, PHONE, "Ada@example.com", "12015550123", EMAIL, PHONE, EMAIL, PHONE, EMAIL] {
        world.guess(identity, "123456").await.refused(422, "code_invalid");
    }
    for identity in [PHONE, EMAIL] {
        world.guess(identity, "123456").await.refused(429, "identity_locked_out");
    }
    assert_eq!(world.count("select count(*) from wrong_codes").await, 1);
    assert_eq!(world.count("select count(*) from wrong_passwords").await, 1);
}

#[tokio::test]
async fn strangers_do_not_lock_out_a_customer_on_a_device_they_have_used_before() {
    let world = World::new().await;
    ada(&world).await;
    let device = home(EMAIL);
    lock_passwords(&world, EMAIL).await;
    lock_codes(&world, EMAIL).await;
    login(&world, EMAIL, PASSWORD).await.refused(429, "password_attempts_exceeded");
    login_from(&world, &device, EMAIL, PASSWORD).await.ok(200);

    lock_passwords(&world, EMAIL).await;
    lock_codes(&world, EMAIL).await;
    // The first fifteen minutes of a lock-out by codes are the interface's, on every device.
    let code = world.sign_in_code(EMAIL).await;
    assert_eq!(world.verify(EMAIL, code).await.refused(429, "identity_locked_out")["retry_after"], 900);
    world.pass(TimeDelta::minutes(15));
    lock_codes(&world, EMAIL).await;
    world.pass(TimeDelta::minutes(15));
    let code = world.sign_in_code(EMAIL).await;
    assert_eq!(world.guess(EMAIL, code.clone()).await.refused(429, "identity_locked_out")["retry_after"], 45 * 60);
    world.verify(EMAIL, code).await.ok(200);
}

#[tokio::test]
async fn a_known_device_has_five_wrong_guesses_during_a_lockout() {
    let world = World::new().await;
    ada(&world).await;
    let device = home(EMAIL);
    lock_passwords(&world, EMAIL).await;
    for _ in 0..5 {
        login_from(&world, &device, EMAIL, "wrong password").await.refused(401, "credentials_invalid");
    }
    login_from(&world, &device, EMAIL, PASSWORD).await.refused(429, "password_attempts_exceeded");
    // Another address or another program is another device.
    login_from(&world, "9.9.9.9", EMAIL, PASSWORD).await.refused(429, "password_attempts_exceeded");
    let body = json!({ "identity": EMAIL, "password": PASSWORD });
    let other_program = world.storefront("customers/login").from(&device).header("user-agent", "another").json(&body);
    other_program.send().await.refused(429, "password_attempts_exceeded");
}

#[tokio::test]
async fn who_locks_themselves_out_is_locked_out_on_their_own_device_too() {
    let world = World::new().await;
    ada(&world).await;
    let device = home(EMAIL);
    for _ in 0..10 {
        login_from(&world, &device, EMAIL, "wrong password").await.refused(401, "credentials_invalid");
    }
    assert_eq!(login_from(&world, &device, EMAIL, PASSWORD).await.refused(429, "password_attempts_exceeded")["retry_after"], 900);
}

#[tokio::test]
async fn a_new_password_forgets_the_devices_that_somebody_else_may_have_used() {
    let world = World::new().await;
    ada(&world).await;
    login_from(&world, "203.0.113.66", EMAIL, PASSWORD).await.ok(200);
    let code = world.sign_in_code(EMAIL).await;
    reset_password(&world, EMAIL, code, "another horse battery").await.ok(200);
    lock_passwords(&world, EMAIL).await;
    login_from(&world, "203.0.113.66", EMAIL, "another horse battery").await.refused(429, "password_attempts_exceeded");
    login_from(&world, &home(EMAIL), EMAIL, "another horse battery").await.ok(200);
}

#[tokio::test]
async fn one_address_locks_a_customer_out_twice_a_day_at_most() {
    let world = World::new().await;
    ada(&world).await;
    let villain = "203.0.113.66";
    let guess = async || login_from(&world, villain, EMAIL, "wrong password").await;
    for minutes in [15, 60] {
        for _ in 0..10 {
            guess().await.refused(401, "credentials_invalid");
        }
        world.pass(TimeDelta::minutes(minutes));
    }
    for _ in 0..30 {
        guess().await.refused(429, "guesses_exceeded");
    }
    login(&world, EMAIL, PASSWORD).await.ok(200);
    world.pass(TimeDelta::hours(23));
    guess().await.refused(401, "credentials_invalid");
}

#[tokio::test]
async fn a_48_locks_a_customer_out_no_oftener_than_one_address() {
    let world = World::new().await;
    ada(&world).await;
    let mut network = 0;
    let mut guess = async || {
        network += 1;
        login_from(&world, &format!("2001:db8:7:{network:x}::1"), EMAIL, "wrong password").await
    };
    for minutes in [15, 60] {
        for _ in 0..10 {
            guess().await.refused(401, "credentials_invalid");
        }
        world.pass(TimeDelta::minutes(minutes));
    }
    for _ in 0..30 {
        guess().await.refused(429, "guesses_exceeded");
    }
    login(&world, EMAIL, PASSWORD).await.ok(200);
}

#[tokio::test]
async fn a_customer_is_known_by_twenty_devices_for_ninety_days() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    for number in 1..=25 {
        world.pass(TimeDelta::minutes(1));
        login_from(&world, &format!("203.0.113.{number}"), EMAIL, PASSWORD).await.ok(200);
    }
    assert_eq!(world.count("select count(*) from known_clients").await, 20);
    lock_passwords(&world, EMAIL).await;
    login_from(&world, "203.0.113.5", EMAIL, PASSWORD).await.refused(429, "password_attempts_exceeded");
    login_from(&world, "203.0.113.6", EMAIL, PASSWORD).await.ok(200);
    world.pass(TimeDelta::days(91));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from known_clients").await, 0);
}
