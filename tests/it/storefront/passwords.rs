//! Signing in by identity and password: decisions, section 3 (`login`).

use std::pin::pin;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use futures::future::join_all;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::customers::{EMAIL, PASSWORD, PHONE, login, token};
use crate::support::waiting::until;
use crate::support::{Answer, World};

#[tokio::test]
async fn an_email_address_or_a_number_with_the_password_signs_in() {
    let world = World::new().await;
    let registered = world.register_with(EMAIL, json!({ "phone": PHONE, "password": PASSWORD })).await;
    for identity in [EMAIL, "ADA@Example.com", PHONE, "1 (201) 555-0123"] {
        let answer = login(&world, identity, PASSWORD).await.ok(200);
        assert_eq!(answer["customer"]["id"], registered["customer"]["id"], "{identity}");
        world.storefront_get("customers/me").token(&token(&answer)).send().await.ok(200);
    }
}

#[tokio::test]
async fn every_failure_is_the_same_answer() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    world.register("bob@example.com").await;
    let mut answers = Vec::new();
    for (identity, password) in [
        (EMAIL, "wrong password"),
        ("nobody@example.com", PASSWORD),
        ("bob@example.com", PASSWORD),
        ("not an identity", PASSWORD),
        (EMAIL, ""),
    ] {
        let mut refusal = login(&world, identity, password).await.refused(401, "credentials_invalid");
        refusal["request_id"] = json!(null);
        answers.push(refusal);
    }
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]));
}

#[tokio::test]
async fn a_password_longer_than_any_may_be_is_wrong_and_is_not_hashed_with_what_it_is_compared_with() {
    let world = World::new().await;
    world.register(EMAIL).await;
    // phpass reads the password in each of its rounds: with this one for a quarter of an hour, if it did.
    sqlx::query("update customers set password_hash = '$P$EIQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0'").execute(&world.pool).await.unwrap();
    login(&world, EMAIL, &"a".repeat(250_000)).await.refused(401, "credentials_invalid");
}

#[tokio::test]
async fn a_number_listed_by_two_accounts_cannot_sign_in() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "phone": PHONE, "password": PASSWORD })).await;
    world.register_with("eve@example.com", json!({ "phone": PHONE, "password": PASSWORD })).await;
    login(&world, PHONE, PASSWORD).await.refused(401, "credentials_invalid");
    login(&world, EMAIL, PASSWORD).await.ok(200);
}

#[tokio::test]
async fn ten_wrong_passwords_within_fifteen_minutes_block_until_the_window_passes() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    for _ in 0..10 {
        login(&world, EMAIL, "wrong password").await.refused(401, "credentials_invalid");
        world.pass(TimeDelta::minutes(1));
    }
    let refusal = login(&world, "Ada@example.com", PASSWORD).await.refused(429, "password_attempts_exceeded");
    assert_eq!(refusal["retry_after"], 300);
    world.pass(TimeDelta::minutes(5));
    login(&world, EMAIL, PASSWORD).await.ok(200);
    // A correct password resets the count.
    for _ in 0..10 {
        login(&world, EMAIL, "wrong password").await.refused(401, "credentials_invalid");
    }
}

#[tokio::test]
async fn forty_parallel_wrong_passwords_are_ten_comparisons() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let answers = join_all((0..40).map(|_| login(&world, EMAIL, "wrong password"))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 401).count(), 10);
    assert_eq!(answers.iter().filter(|answer| answer.status == 429).count(), 30);
}

#[tokio::test]
async fn parallel_right_passwords_are_not_refused_as_wrong_ones() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    // Of one client: eight are compared at a time, and the others wait for them, but on a slow machine not for longer than three seconds.
    let (body, sent) = (json!({ "identity": EMAIL, "password": PASSWORD }), Instant::now());
    let answers = join_all((0..16).map(|_| world.storefront("customers/login").from("203.0.113.9").json(&body).send())).await;
    let is_slow = sent.elapsed() >= Duration::from_secs(3);
    assert!(answers.iter().filter(|answer| answer.status == 200).count() >= if is_slow { 8 } else { 16 });
    for answer in answers.into_iter().filter(|answer| answer.status != 200) {
        answer.refused(503, "overloaded");
    }
    // Of thirty clients: ten are compared at a time, and the others are told to come back at once.
    let answers = join_all((0..30).map(|_| login(&world, EMAIL, PASSWORD))).await;
    assert!(answers.iter().filter(|answer| answer.status == 200).count() >= 10);
    for answer in answers.into_iter().filter(|answer| answer.status != 200) {
        assert_eq!(answer.refused(429, "password_attempts_exceeded")["retry_after"], 1);
    }
    login(&world, EMAIL, PASSWORD).await.ok(200);
}

#[tokio::test]
async fn a_right_password_among_parallel_wrong_ones_is_compared_or_told_to_wait() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let answers = join_all((0..30).map(|n| login(&world, EMAIL, if n % 10 == 9 { PASSWORD } else { "wrong password" }))).await;
    assert!(answers.iter().all(|answer| [200, 401, 429].contains(&answer.status)));
    // Each right one clears the count, so more than ten may be compared, but never more than ten between two of them.
    let (right, compared) = (answers.iter().filter(|answer| answer.status == 200), answers.iter().filter(|answer| answer.status == 401));
    assert!(compared.count() <= 10 * (right.count() + 1));
}

#[tokio::test]
async fn a_password_counts_as_wrong_even_if_the_client_disconnects() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let body = json!({ "identity": EMAIL, "password": "wrong password" }).to_string();
    let request = format!(
        "POST /storefront/v1/customers/login HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        world.store_key,
        body.len()
    );
    let mut hasty = TcpStream::connect(world.address).await.unwrap();
    hasty.write_all(request.as_bytes()).await.unwrap();
    until("the guess is in flight", async || world.count("select count(*) from wrong_passwords").await == 1).await;
    drop(hasty);
    let wrong = "select coalesce(sum(cardinality(wrong_at)), 0)::bigint from wrong_passwords where in_flight = '{}'";
    until("the guess is counted", async || world.count(wrong).await == 1).await;
}

/// Gives all customers the usual password, hashed with m=8192, t=1, like an imported hash.
async fn bring_along_an_older_hash(world: &World) {
    let older = {
        use argon2::password_hash::PasswordHasher;
        let params = argon2::Params::new(8_192, 1, 1, None).unwrap();
        let argon2 = argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params);
        argon2.hash_password(PASSWORD.as_bytes()).unwrap().to_string()
    };
    sqlx::query("update customers set password_hash = $1").bind(&older).execute(&world.pool).await.unwrap();
}

#[tokio::test]
async fn an_older_hash_is_replaced_at_sign_in() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    bring_along_an_older_hash(&world).await;
    login(&world, EMAIL, PASSWORD).await.ok(200);
    let newer: String = sqlx::query_scalar("select password_hash from customers").fetch_one(&world.pool).await.unwrap();
    assert!(newer.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{newer}");
    login(&world, EMAIL, PASSWORD).await.ok(200);
}

#[tokio::test]
async fn parallel_sign_ins_that_replace_an_older_hash_all_succeed() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    bring_along_an_older_hash(&world).await;
    for answer in join_all((0..8).map(|_| login(&world, EMAIL, PASSWORD))).await {
        answer.ok(200);
    }
}

/// Signs in while an open transaction has made `change` to the customer after the password was compared.
async fn sign_in_during(world: &World, change: &'static str) -> Answer {
    let mut changing = world.hold().await;
    sqlx::query(change).execute(&mut *changing).await.unwrap();
    let mut signing_in = pin!(login(world, EMAIL, PASSWORD));
    tokio::select! {
        answer = &mut signing_in => panic!("it did not wait: {answer:?}"),
        () = world.somebody_waits() => {}
    }
    changing.commit().await.unwrap();
    signing_in.await
}

#[tokio::test]
async fn a_sign_in_fails_if_the_password_or_the_account_changes_meanwhile() {
    for change in ["update customers set password_hash = 'another'", "update customers set closed_at = now()"] {
        let world = World::new().await;
        world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
        for _ in 0..3 {
            login(&world, EMAIL, "wrong password").await.refused(401, "credentials_invalid");
        }
        sign_in_during(&world, change).await.refused(401, "credentials_invalid");
        assert_eq!(world.count("select count(*) from customer_tokens").await, 1, "{change}: the registration's");
        let refused = "select count(*) from sign_ins where method = 'password' and outcome = 'credentials_invalid'";
        assert_eq!(world.count(refused).await, 4, "{change}");
        assert_eq!(world.count("select count(*) from sign_ins where method = 'password'").await, 4, "{change}");
        let counted = "select cardinality(wrong_at)::bigint from wrong_passwords";
        assert_eq!(world.count(counted).await, 4, "{change}: nothing is forgiven");
    }
}

#[tokio::test]
async fn an_unrelated_change_during_a_sign_in_does_not_refuse_it() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    sign_in_during(&world, "update customers set name = 'Ada Lovelace'").await.ok(200);
}
