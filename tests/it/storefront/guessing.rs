//! Unusual ways of guessing codes: what counts as a guess, and what a guess is worth (decisions, section 4).

use std::iter;

use chrono::TimeDelta;
use ipnet::IpNet;
use portico::kernel::password_hashing::Asker;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use uuid::Uuid;

use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, PHONE, registered, wrong};
use crate::support::waiting::until;

const OTHER: &str = "+12015550199";
const GUESSES: &str = "select guesses::bigint from verification_codes where purpose = 'sign_in'";

#[tokio::test]
async fn a_right_code_entered_during_a_lock_out_works_afterwards() {
    let world = registered().await;
    for _ in 0..10 {
        world.verify(PHONE, "123456").await;
    }
    world.pass(TimeDelta::minutes(10));
    let code = world.sign_in_code(PHONE).await;
    let refusal = world.verify(PHONE, code.clone()).await.refused(429, "identity_locked_out");
    assert_eq!(refusal["retry_after"], 300);
    world.pass(TimeDelta::minutes(5) - TimeDelta::microseconds(1));
    assert_eq!(world.verify(PHONE, code.clone()).await.refused(429, "identity_locked_out")["retry_after"], 1);
    world.pass(TimeDelta::microseconds(1));
    world.verify(PHONE, code).await.ok(200);
}

#[tokio::test]
async fn guesses_during_a_lock_out_do_not_extend_it() {
    let world = registered().await;
    for _ in 0..10 {
        world.verify(PHONE, "123456").await;
    }
    for _ in 0..14 {
        world.pass(TimeDelta::minutes(1));
        world.verify(PHONE, "123456").await.refused(429, "identity_locked_out");
    }
    world.pass(TimeDelta::minutes(1));
    let code = world.sign_in_code(PHONE).await;
    world.verify(PHONE, code).await.ok(200);
}

#[tokio::test]
async fn a_guess_counts_even_if_the_client_disconnects() {
    let world = registered().await;
    let code = world.sign_in_code(PHONE).await;
    // The store is cached by now, so the request first waits for the guess.
    world.storefront_get("customers/me").send().await.refused(401, "customer_token_invalid");
    let body = json!({ "identity": PHONE, "code": wrong(&code) }).to_string();
    let request = format!(
        "POST /storefront/v1/customers/verify-code HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n{body}",
        world.store_key,
        body.len()
    );
    for guess in 1..=3 {
        let mut hasty = TcpStream::connect(world.address).await.unwrap();
        hasty.write_all(request.as_bytes()).await.unwrap();
        drop(hasty);
        until("the guess is counted", async || world.count(GUESSES).await >= guess).await;
    }
    let refusal = world.verify(PHONE, wrong(&code)).await.refused(422, "code_invalid");
    assert_eq!(refusal["attempts_left"], 1);
}

#[tokio::test]
async fn two_codes_in_one_body_are_no_guess_at_all() {
    let world = registered().await;
    let code = world.sign_in_code(PHONE).await;
    let verify = |body: String| world.storefront("customers/verify-code").header("content-type", "application/json").body(body).send();
    for body in [
        format!(r#"{{"identity":"{PHONE}","code":"{}","code":"{code}"}}"#, wrong(&code)),
        format!(r#"{{"identity":"{PHONE}","code":"{code}","code":"{code}"}}"#),
        format!(r#"{{"identity":"{OTHER}","identity":"{PHONE}","code":"{code}"}}"#),
    ] {
        verify(body).await.refused(422, "body_invalid");
    }
    assert_eq!(world.count(GUESSES).await, 0);
    world.verify(PHONE, code).await.ok(200);
}

#[tokio::test]
async fn the_digest_of_a_code_is_useless_with_another_key_or_for_another_code() {
    let world = registered().await;
    world.register(OTHER).await;
    world.pass(TimeDelta::minutes(2));
    let code = world.sign_in_code(PHONE).await;
    // An attacker with the database but without the application key could try all possible codes.
    let stranger = World::on(&world.database, &[]).await;
    let body = json!({ "identity": PHONE, "code": code });
    stranger.clock.advance(world.clock.now() - stranger.clock.now());
    stranger.storefront("customers/verify-code").key(&world.store_key).json(&body).send().await.refused(422, "code_invalid");
    // An attacker who can write to the database, but knows only their own code, could copy its digest to another identity.
    let others = world.sign_in_code(OTHER).await;
    sqlx::query(
        "update verification_codes set digest = (select digest from verification_codes where identity = $1 and purpose = 'sign_in')
         where identity = $2 and purpose = 'sign_in'",
    )
    .bind(PHONE)
    .bind(OTHER)
    .execute(&world.pool)
    .await
    .unwrap();
    for guess in [&code, &others] {
        world.verify(OTHER, guess.clone()).await.refused(422, "code_invalid");
    }
    world.verify(PHONE, code).await.ok(200);
}

#[tokio::test]
async fn a_full_password_queue_counts_no_guess_and_uses_no_code() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    world.pass(TimeDelta::minutes(2));
    let (creation_code, reset_code) = (world.creation_code(PHONE).await, world.sign_in_code(EMAIL).await);
    let post = |path: &str, body: Value| world.storefront(path).json(&body).send();
    let login = |password: &str| post("customers/login", json!({ "identity": EMAIL, "password": password }));
    let register = || post("customers", json!({ "name": "Grace", "identity": PHONE, "code": creation_code, "password": PASSWORD }));
    let reset = || post("customers/reset-password", json!({ "identity": EMAIL, "code": reset_code, "password": "another horse" }));
    let asker = |number: u8| Asker { group: Uuid::from_u128(number.into()), network: IpNet::new([9, 9, 9, number].into(), 32).unwrap() };
    let queue: Vec<_> = (0..).map_while(|number| world.hashing.reserve(asker(number)).ok()).collect();
    // As many wrong passwords as the limit, and more uses of the codes than they have attempts.
    for _ in 0..10 {
        login("wrong password").await.refused(503, "overloaded");
        register().await.refused(503, "overloaded");
        reset().await.refused(503, "overloaded");
    }
    world.request(Method::GET, "/healthz").send().await.ok(200);
    drop(queue);
    for _ in 0..9 {
        login("wrong password").await.refused(401, "credentials_invalid");
    }
    login(PASSWORD).await.ok(200);
    register().await.ok(201);
    reset().await.ok(200);
}

#[tokio::test]
async fn a_flood_of_passwords_from_one_address_is_refused_first() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let flooder = Asker { group: world.store.uuid(), network: IpNet::new([203, 0, 113, 66].into(), 32).unwrap() };
    let flood: Vec<_> = iter::from_fn(|| world.hashing.reserve(flooder).ok()).collect();
    assert_eq!(flood.len(), 16, "a quarter of the queue");
    let body = json!({ "identity": EMAIL, "password": PASSWORD });
    let refusal = world.storefront("customers/login").from("203.0.113.66").json(&body).send().await.refused(503, "overloaded");
    assert_eq!(refusal["retry_after"], 1);
    world.storefront("customers/login").from("203.0.113.67").json(&body).send().await.ok(200);
}
