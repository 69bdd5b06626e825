//! Customer tokens and store keys: interface 1, Authentication; decisions, section 2.

use std::time::Instant;

use chrono::TimeDelta;
use futures::future::{join, join_all};
use portico::callers::Caller;
use portico::storefront;
use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::World;
use crate::support::customers::{EMAIL, token};
use crate::support::waiting::{in_time, until};

/// Every storefront route that needs a signed-in customer. `openapi.rs` checks that none is missing.
pub const SIGNED_IN: &[(Method, &str)] = &[
    (Method::GET, "customers/me"),
    (Method::GET, "customers/{id}"),
    (Method::PUT, "customers/{id}"),
    (Method::POST, "customers/request-phone-verification"),
    (Method::POST, "customers/verify-phone-number"),
    (Method::POST, "customers/request-email-verification"),
    (Method::POST, "customers/verify-email"),
    (Method::POST, "customers/account-closure"),
    (Method::POST, "customers/confirm-account-closure"),
    (Method::POST, "customers/register-device"),
    (Method::POST, "customers/unregister-device"),
    (Method::POST, "customers/card-ephemeral-key"),
    (Method::POST, "customers/card-setup-intent"),
    (Method::GET, "customers/orders"),
    (Method::POST, "customers/socket-token"),
    (Method::POST, "customers/access-token"),
    (Method::GET, "customers/sessions"),
    (Method::PUT, "customers/sessions/{id}"),
    (Method::DELETE, "customers/sessions/{id}"),
    (Method::POST, "customers/request-step-up"),
    (Method::POST, "customers/confirm-step-up"),
    (Method::POST, "customers/change-password"),
    (Method::GET, "customers/totp"),
    (Method::POST, "customers/totp/request"),
    (Method::POST, "customers/totp"),
    (Method::POST, "customers/totp/recovery-codes"),
    (Method::POST, "customers/totp/remove"),
    (Method::POST, "customers/passkeys/request"),
    (Method::POST, "customers/passkeys"),
    (Method::GET, "customers/passkeys"),
    (Method::PUT, "customers/passkeys/{id}"),
    (Method::DELETE, "customers/passkeys/{id}"),
    (Method::POST, "customers/passkeys/{id}/resume"),
    (Method::GET, "customers/providers"),
    (Method::DELETE, "customers/providers/{name}"),
    (Method::POST, "customers/link-idp-a"),
    (Method::POST, "customers/link-idp-b"),
    (Method::POST, "customers/link-idp-c"),
    (Method::POST, "customers/link-{provider}"),
    (Method::POST, "customers/logout"),
    (Method::POST, "customers/logout-all"),
];
/// What anybody may read, without a store key.
pub const PUBLIC: &[(Method, &str)] = &[(Method::GET, "companies/{company}/jwks.json")];
/// Every other storefront route.
pub const OPEN: &[(Method, &str)] = &[
    (Method::POST, "customers"),
    (Method::POST, "customers/request-creation-code"),
    (Method::POST, "customers/login"),
    (Method::POST, "customers/login-with-sms"),
    (Method::POST, "customers/login-with-idp-a"),
    (Method::POST, "customers/login-with-idp-b"),
    (Method::POST, "customers/login-with-idp-c"),
    (Method::POST, "customers/login-with-{provider}"),
    (Method::POST, "customers/login-with-passkey/request"),
    (Method::POST, "customers/login-with-passkey"),
    (Method::POST, "customers/verify-code"),
    (Method::POST, "customers/reset-password"),
    (Method::POST, "customers/take-back"),
    (Method::POST, "customers/login-with-totp"),
];

#[tokio::test]
async fn every_route_refuses_without_its_store_key() {
    let world = World::new().await;
    let unknown = format!("store_{}", "0".repeat(32));
    let upper = world.store_key.to_uppercase();
    for (method, path) in SIGNED_IN.iter().chain(OPEN) {
        let request = || world.request(method.clone(), &format!("/storefront/v1/{path}"));
        request().send().await.refused(401, "store_key_invalid");
        request().header("authorization", &format!("Basic {}", world.store_key)).send().await.refused(401, "store_key_invalid");
        for key in ["", "store_", &unknown, &upper, &world.api_key, &format!("{}0", world.store_key)] {
            request().key(key).send().await.refused(401, "store_key_invalid");
        }
    }
    sqlx::query("update store_keys set revoked_at = created_at").execute(&world.pool).await.unwrap();
    // Store keys are cached for one second.
    world.pass(TimeDelta::seconds(1));
    world.storefront_get("customers/me").send().await.refused(401, "store_key_invalid");
}

#[tokio::test]
async fn unknown_store_keys_are_limited_per_client_and_known_ones_are_not_affected() {
    let world = World::with(&[("storefront.requests_per_minute", "20")]).await;
    let ask = |key: &str, address: &str| world.request(Method::GET, "/storefront/v1/customers/me").key(key).from(address).send();
    // Valid keys whose cache entry has expired are looked up again, and do not count.
    let mut keys = Vec::new();
    for _ in 0..3 {
        keys.push(world.another_store().await.1);
    }
    for _ in 0..10 {
        world.pass(TimeDelta::seconds(2));
        for key in &keys {
            ask(key, "203.0.113.9").await.refused(401, "customer_token_invalid");
        }
    }
    let began = Instant::now();
    let guesses: Vec<_> = (0..200).map(|n| format!("store_{n:032x}")).collect();
    let answers = join_all(guesses.iter().map(|key| ask(key, "203.0.113.9"))).await;
    let unknown = answers.iter().filter(|answer| answer.body["code"] == "store_key_invalid").count();
    // One request is regained every three seconds.
    assert!((20..=21 + began.elapsed().as_secs() / 3).contains(&(unknown as u64)), "{unknown}");
    for answer in answers {
        assert_eq!(answer.header("ratelimit-limit"), Some("20"));
        if answer.body["code"] != "store_key_invalid" {
            answer.refused(429, "rate_limited");
        }
    }
    // Cached keys and clients in other networks are not affected.
    ask(&keys[0], "203.0.113.9").await.refused(401, "customer_token_invalid");
    ask(&guesses[0], "203.0.113.10").await.refused(401, "store_key_invalid");
}

#[tokio::test]
async fn every_signed_in_route_refuses_without_a_token() {
    let world = World::new().await;
    for (method, path) in SIGNED_IN {
        let request = world.request(method.clone(), &format!("/storefront/v1/{path}")).key(&world.store_key);
        request.send().await.refused(401, "customer_token_invalid");
    }
}

#[tokio::test]
async fn responses_must_not_be_cached() {
    let world = World::new().await;
    let code = world.creation_code(EMAIL).await;
    let login = world.open_account(EMAIL, &code).await;
    assert_eq!(login.header("cache-control"), Some("no-store"));
    let me = |token: &str| world.storefront_get("customers/me").token(token).send();
    assert_eq!(me(&token(&login.body)).await.header("cache-control"), Some("no-store"));
    assert_eq!(me("garbage").await.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn open_routes_ignore_a_bad_token() {
    let world = World::new().await;
    let closed = token(&world.register("bob@example.com").await);
    sqlx::query("update customers set closed_at = now()").execute(&world.pool).await.unwrap();
    for token in ["garbage", "", &closed] {
        for (method, path) in OPEN {
            let ask = || world.request(method.clone(), &format!("/storefront/v1/{path}")).key(&world.store_key).json(&json!({}));
            let (without, with) = (ask().send().await, ask().token(token).send().await);
            assert!(without.body["code"].is_string(), "{path}: {without:?}");
            assert_eq!((with.status, &with.body["detail"]), (without.status, &without.body["detail"]), "{path}");
        }
    }
    let body = json!({ "identity": EMAIL });
    world.storefront("customers/request-creation-code").token(&closed).json(&body).send().await.ok(200);
}

#[tokio::test]
async fn malformed_variants_of_a_valid_token_are_refused() {
    let world = World::new().await;
    let good = token(&world.register(EMAIL).await);
    let other = token(&world.register("bob@example.com").await);
    let (number, secret) = good.split_once('|').unwrap();
    let (other_number, _) = other.split_once('|').unwrap();
    let mut flipped = secret.to_owned();
    flipped.replace_range(39.., if secret.ends_with('a') { "b" } else { "a" });
    for bad in [
        format!("{other_number}|{secret}"),
        format!("{number}|{flipped}"),
        format!("{number}|{}", &secret[..39]),
        format!("{number}|{secret}x"),
        format!("+{number}|{secret}"),
        format!("-{number}|{secret}"),
        format!("0{number}|{secret}"),
        format!("{number} |{secret}"),
        format!("{number}||{secret}"),
        format!("{number}|{secret}|"),
        format!("{number}{secret}"),
        format!("|{secret}"),
        format!("{number}|"),
        format!("Bearer {good}"),
        "|".to_owned(),
        format!("99999999999999999999|{secret}"),
        "x".repeat(10_000),
        format!("{number}|{secret}|{secret}"),
        format!("{number}|{number}|{secret}"),
        format!("00{number}|{secret}"),
        format!("{number}.0|{secret}"),
        format!("{number}|{}", "0".repeat(40)),
        format!("{number}%7C{secret}"),
    ] {
        world.storefront_get("customers/me").token(&bad).send().await.refused(401, "customer_token_invalid");
    }
    world.storefront_get("customers/me").token(&good).send().await.ok(200);
}

#[tokio::test]
async fn a_token_of_another_store_is_refused() {
    let world = World::new().await;
    let good = token(&world.register(EMAIL).await);
    let (_, other) = world.another_store().await;
    world.storefront_get("customers/me").key(&other).token(&good).send().await.refused(401, "customer_token_invalid");
}

#[tokio::test]
async fn logging_out_ends_this_sign_in_and_logging_out_everywhere_all_of_them() {
    let world = World::new().await;
    let first = world.register_with(EMAIL, json!({ "password": "correct horse" })).await;
    let login = || world.storefront("customers/login").json(&json!({ "identity": EMAIL, "password": "correct horse" })).send();
    let (second, third) = (login().await.ok(200), login().await.ok(200));
    let me = async |login| world.storefront_get("customers/me").token(&token(login)).send().await.status;

    let answer = world.storefront("customers/logout").token(&token(&first)).send().await.ok(200);
    assert_eq!(answer, json!({ "status": "ok" }));
    assert_eq!((me(&first).await, me(&second).await, me(&third).await), (401, 200, 200));
    world.storefront("customers/logout-all").token(&token(&second)).send().await.ok(200);
    assert_eq!((me(&second).await, me(&third).await), (401, 401));
}

#[tokio::test]
async fn a_token_lives_as_long_as_it_is_used() {
    let world = World::new().await;
    let good = token(&world.register(EMAIL).await);
    let me = || world.storefront_get("customers/me").token(&good).send();
    world.pass(TimeDelta::days(364));
    me().await.ok(200);
    let used = async |sql| until("the use is recorded", async || world.count(sql).await > 0).await;
    used("select count(*) from customer_tokens where last_used_at > created_at").await;
    world.pass(TimeDelta::days(364));
    me().await.ok(200);
    used("select count(*) from customer_tokens where last_used_at > created_at + interval '700 days'").await;
    world.pass(TimeDelta::days(365));
    me().await.refused(401, "customer_token_invalid");
}

#[tokio::test]
async fn a_closed_account_has_no_valid_token() {
    let world = World::new().await;
    let good = token(&world.register(EMAIL).await);
    sqlx::query("update customers set closed_at = now()").execute(&world.pool).await.unwrap();
    world.storefront_get("customers/me").token(&good).send().await.refused(401, "customer_token_invalid");
}

#[tokio::test]
async fn the_general_throttle_is_600_requests_a_minute_for_one_key_and_address() {
    let world = World::with(&[("storefront.requests_per_minute", "20")]).await;
    let me = |from: &str| world.storefront_get("customers/me").from(from).send();
    for _ in 0..20 {
        let answer = me("203.0.113.9").await;
        assert_eq!(answer.header("ratelimit-limit"), Some("20"));
        answer.refused(401, "customer_token_invalid");
    }
    // 20 per minute is one in three seconds: the next one comes too early, however slow this machine is on average.
    let answers = futures::future::join_all((0..20).map(|_| me("203.0.113.9"))).await;
    assert!(answers.iter().any(|answer| answer.status == 429 && answer.body["code"] == "rate_limited"));
    me("203.0.113.10").await.refused(401, "customer_token_invalid");
}

#[tokio::test]
async fn tokens_that_are_presented_together_are_answered_each_for_itself() {
    let world = World::with(&[("database.statement_timeout", "10m")]).await;
    let mut customers = Vec::new();
    for number in 0..4 {
        customers.push(world.register(&format!("customer{number}@example.com")).await);
    }
    let ended = token(&customers[3]);
    world.storefront("customers/logout").token(&ended).send().await.ok(200);
    // None is cached any more.
    world.pass(TimeDelta::seconds(1));
    let (number, secret) = ended.split_once('|').unwrap();
    let presented: Vec<_> = customers.iter().map(token).chain([format!("9{number}|{secret}"), token(&customers[0])]).collect();
    // Three times: four are looked up at once, and stand still. The others share the statements that follow.
    let asked = presented.iter().cycle().take(3 * presented.len()).map(|token| world.storefront_get("customers/me").token(token).send());
    let mut held = world.hold().await;
    sqlx::query("lock table customer_tokens").execute(&mut *held).await.unwrap();
    let meanwhile = async {
        until("four are looked up", async || world.waiting_for_a_lock().await == 4).await;
        held.rollback().await.unwrap();
    };
    let (answers, ()) = join(join_all(asked), meanwhile).await;
    let mut answers = answers.into_iter();
    for _ in 0..3 {
        for customer in &customers[..3] {
            assert_eq!(answers.next().unwrap().ok(200), customer["customer"]);
        }
        answers.next().unwrap().refused(401, "customer_token_invalid");
        answers.next().unwrap().refused(401, "customer_token_invalid");
        assert_eq!(answers.next().unwrap().ok(200), customers[0]["customer"]);
    }
}

#[tokio::test]
async fn a_sign_in_revoked_elsewhere_ends_within_a_second() {
    let world = World::new().await;
    let good = token(&world.register(EMAIL).await);
    let me = || world.storefront_get("customers/me").token(&good).send();
    me().await.ok(200);
    // By another instance, or by an operator's command.
    sqlx::query("update customer_tokens set revoked_at = now()").execute(&world.pool).await.unwrap();
    world.pass(TimeDelta::seconds(1));
    me().await.refused(401, "customer_token_invalid");
}

#[tokio::test]
async fn a_sign_in_revoked_while_it_is_in_use_ends_at_once() {
    let world = World::new().await;
    let good = token(&world.register(EMAIL).await);
    let me = || world.storefront_get("customers/me").token(&good).send();
    for _ in 0..5 {
        me().await.ok(200);
        let used = futures::future::join_all((0..10).map(|_| me()));
        let (_, ended) = futures::future::join(used, world.storefront("customers/logout").token(&good).send()).await;
        ended.ok(200);
        me().await.refused(401, "customer_token_invalid");
        sqlx::query("update customer_tokens set revoked_at = null").execute(&world.pool).await.unwrap();
        world.pass(TimeDelta::seconds(1));
    }
}

#[tokio::test]
async fn a_token_of_one_megabyte_closes_the_connection() {
    let world = World::new().await;
    let (answers, mut questions) = TcpStream::connect(world.address).await.unwrap().into_split();
    let head = format!("GET /storefront/v1/customers/me HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n", world.store_key);
    let token = format!("customer-token: {}\r\n\r\n", "1".repeat(1_000_000));
    let asking = async {
        questions.write_all(head.as_bytes()).await.unwrap();
        // The service may stop reading before the end.
        let _ = questions.write_all(token.as_bytes()).await;
    };
    let listening = async {
        let mut answer = Vec::new();
        // The rest of the response may be lost with the connection, but not its beginning.
        let _ = answers.take(12).read_to_end(&mut answer).await;
        answer
    };
    let ((), answer) = in_time("the service answers or closes the connection", join(asking, listening)).await;
    assert!(answer.is_empty() || answer == b"HTTP/1.1 431", "{}", String::from_utf8_lossy(&answer));
    world.request(Method::GET, "/healthz").send().await.ok(200);
}

#[tokio::test]
async fn a_session_is_ended_by_the_one_id_that_it_has_everywhere() {
    let world = World::new().await;
    let good = token(&world.register(EMAIL).await);
    let (number, _) = good.split_once('|').unwrap();
    let listed = world.storefront_get("customers/sessions").token(&good).send().await.ok(200)["sessions"][0]["id"].clone();
    let of_operators = world.api(Method::GET, "/storefront/int/v1/tokens").send().await.ok(200)["tokens"][0]["id"].clone();
    assert_eq!(listed, of_operators);
    let id = listed.as_str().unwrap();
    assert!(id.starts_with("session_"), "{id}");
    let end = |id: &str| {
        world.request(Method::DELETE, &format!("/storefront/v1/customers/sessions/{id}")).key(&world.store_key).token(&good).send()
    };
    for spelling in [number, "session_1", "-1", &format!("%20{id}")] {
        end(spelling).await.refused(404, "record_not_found");
    }
    end(id).await.ok(200);
}

#[tokio::test]
async fn one_store_key_is_revoked_without_the_others() {
    let world = World::new().await;
    let now = world.clock.now();
    let mut conn = world.pool.acquire().await.unwrap();
    let caller = Caller::command_line(world.company);
    let (id, other) = storefront::create_store_key(&mut conn, &caller, world.store, now).await.unwrap().unwrap();
    let good = token(&world.register(EMAIL).await);
    let me = |key: &str| world.storefront_get("customers/me").key(key).token(&good).send();
    me(other.reveal()).await.ok(200);
    assert!(storefront::revoke_store_key(&mut conn, &caller, id, now).await.unwrap());
    // Store keys are cached for one second.
    world.pass(TimeDelta::seconds(1));
    me(other.reveal()).await.refused(401, "store_key_invalid");
    me(&world.store_key).await.ok(200);
}
