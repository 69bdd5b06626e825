//! Texts: the SMS guard (decisions, section 5), the fallback to mail, and the limit of the routes that send.

use chrono::TimeDelta;
use serde_json::json;

use crate::support::World;
use crate::support::customers::{EMAIL, PHONE, ask_to_register as ask, token};

#[tokio::test]
async fn numbers_that_cannot_receive_a_text_are_refused() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    let sign_in = |number: &str| world.storefront("customers/login-with-sms").json(&json!({ "phone": number })).send();
    let verification =
        |number: &str| world.storefront("customers/request-phone-verification").token(&ada).json(&json!({ "phone": number })).send();
    for text in [
        "hello",
        "+999123456789",
        "++12015550123",
        "0012015550123",
        "+1 800 FLOWERS",
        "+12015550123 ext. 5",
        "+12015550123;ext=5",
        "+12015550123,5",
        "+12015550123#5",
        "tel:+12015550123",
    ] {
        ask(&world, text).await.refused(422, "number_invalid");
        verification(text).await.refused(422, "number_invalid");
        sign_in(text).await.refused(422, "number_invalid");
    }
    // fixed, toll-free, premium, satellite, international toll-free and premium, a pager, voicemail, an access number of a company, a
    // fixed line with a leading zero
    for number in [
        "+442079460018",
        "+18002345678",
        "+19002345678",
        "+881612345678",
        "+80012345678",
        "+979123456789",
        "+447640123456",
        "+41860123456789",
        "+445512345678",
        "+390612345678",
    ] {
        ask(&world, number).await.refused(422, "number_unreachable");
        verification(number).await.refused(422, "number_unreachable");
        sign_in(number).await.refused(422, "customer_not_found");
    }
    assert_eq!(world.messages().len(), 1, "only the message of the registration");
    ask(&world, "+225 07 01 23 45 67").await.ok(200);
    assert_eq!(world.messages()[0].to, "+2250701234567");
    // An internet line may receive texts.
    ask(&world, "+33 9 12 34 56 78").await.ok(200);
    assert_eq!(world.messages()[0].to, "+33912345678");
}

#[tokio::test]
async fn a_number_cools_down_for_thirty_seconds() {
    let world = World::new().await;
    world.register(PHONE).await;
    let sign_in = || world.storefront("customers/login-with-sms").json(&json!({ "phone": PHONE }));
    // Another purpose, so that the limit of one message per minute does not apply first.
    let refusal = sign_in().send().await.refused(429, "number_cooldown");
    assert_eq!(refusal["retry_after"], 30);
    world.pass(TimeDelta::seconds(29));
    sign_in().send().await.refused(429, "number_cooldown");
    world.pass(TimeDelta::seconds(1));
    sign_in().send().await.ok(200);
}

#[tokio::test]
async fn a_number_gets_six_texts_an_hour() {
    let world = World::new().await;
    for _ in 0..6 {
        ask(&world, PHONE).await.ok(200);
        world.pass(TimeDelta::minutes(2));
    }
    let refusal = ask(&world, "1 201 555 0123").await.refused(429, "number_cooldown");
    assert_eq!(refusal["retry_after"], 48 * 60);
    world.pass(TimeDelta::minutes(48));
    ask(&world, PHONE).await.ok(200);
}

#[tokio::test]
async fn a_number_gets_twelve_texts_a_day() {
    let world = World::new().await;
    for _ in 0..12 {
        ask(&world, PHONE).await.ok(200);
        world.pass(TimeDelta::minutes(65));
    }
    let refusal = ask(&world, PHONE).await.refused(429, "number_cooldown");
    assert_eq!(refusal["retry_after"], 11 * 60 * 60);
    world.pass(TimeDelta::hours(11) - TimeDelta::seconds(1));
    ask(&world, PHONE).await.refused(429, "number_cooldown");
    world.pass(TimeDelta::seconds(1));
    ask(&world, PHONE).await.ok(200);
}

#[tokio::test]
async fn a_refused_text_becomes_a_mail_to_the_proven_address() {
    let world = World::new().await;
    world.register(PHONE).await;
    world.pass(TimeDelta::minutes(2));
    sqlx::query("update customers set email = $1, email_verified_at = now()").bind(EMAIL).execute(&world.pool).await.unwrap();
    sqlx::query("update stores set texts_paused_at = now(), texts_paused_reason = 'by hand'").execute(&world.pool).await.unwrap();
    let sent = world.storefront("customers/login-with-sms").json(&json!({ "phone": PHONE })).send().await.ok(200);
    assert_eq!(sent, json!({ "status": "ok", "method": "email" }));
    assert_eq!(world.messages()[0].to, EMAIL);

    // A second request within the minute gets the same response and sends nothing.
    let again = world.storefront("customers/login-with-sms").json(&json!({ "phone": PHONE })).send().await.ok(200);
    assert_eq!(again["method"], "email");
    assert_eq!(world.messages().len(), 2);

    // The code is checked with the number it was requested for, or with the address it was sent to.
    world.verify(EMAIL, world.last_code()).await.ok(200);
}

/// The limits that make the guard refuse a text to a number that was texted twenty seconds ago, and the resulting error.
const REFUSALS: [(&str, u16, &str); 6] = [
    ("texts_paused_at = now(), texts_paused_reason = 'by hand'", 423, "texts_paused"),
    ("text_countries = '{GB}'", 422, "number_unreachable"),
    ("seconds_between_texts = 30", 429, "number_cooldown"),
    ("texts_per_number_and_day = 0", 429, "number_cooldown"),
    ("numbers_per_range = 0, seconds_between_texts = 0", 429, "range_cooldown"),
    ("texts_per_day = 0, seconds_between_texts = 0", 429, "text_budget_used"),
];

#[tokio::test]
async fn every_refusal_of_the_guard_becomes_a_mail_where_there_is_a_proven_address() {
    for (limits, status, code) in REFUSALS {
        let world = World::new().await;
        let ada = token(&world.register(PHONE).await);
        sqlx::query("update customers set email = $1, email_verified_at = now()").bind(EMAIL).execute(&world.pool).await.unwrap();
        world.pass(TimeDelta::seconds(if code == "range_cooldown" { 601 } else { 20 }));
        world.freshen().await;
        sqlx::query(sqlx::AssertSqlSafe(format!("update stores set {limits}"))).execute(&world.pool).await.unwrap();
        for (path, body) in [("login-with-sms", json!({ "phone": PHONE })), ("account-closure", json!({}))] {
            let sent = world.storefront(&format!("customers/{path}")).token(&ada).json(&body).send().await.ok(200);
            assert_eq!((&sent["method"], world.messages()[0].to.as_str()), (&json!("email"), EMAIL), "{path}: {limits}");
        }
        // No address is known for the owner of a new number, so the response is the refusal.
        let number = if code == "number_cooldown" && limits.contains("30") { PHONE } else { "+12015550177" };
        let body = json!({ "phone": number });
        world.storefront("customers/request-phone-verification").token(&ada).json(&body).send().await.refused(status, code);
        if number != PHONE {
            ask(&world, number).await.refused(status, code);
        }
        sqlx::query("update customers set email = null, email_verified_at = null").execute(&world.pool).await.unwrap();
        world.pass(TimeDelta::seconds(61));
        sqlx::query("update stores set seconds_between_texts = 3600 where seconds_between_texts = 30").execute(&world.pool).await.unwrap();
        let body = json!({ "phone": PHONE });
        world.storefront("customers/login-with-sms").json(&body).send().await.refused(status, code);
    }
}

#[tokio::test]
async fn a_pause_is_423_where_there_is_no_mail() {
    let world = World::new().await;
    sqlx::query("update stores set texts_paused_at = now(), texts_paused_reason = 'by hand'").execute(&world.pool).await.unwrap();
    ask(&world, PHONE).await.refused(423, "texts_paused");
    assert_eq!(world.count("select count(*) from texts where status = 'refused' and refusal = 'texts_paused'").await, 1);
}

#[tokio::test]
async fn a_pause_takes_precedence_over_an_invalid_number() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    world.register_with("bob@example.com", json!({ "phone": PHONE })).await;
    sqlx::query("update customers set email_verified_at = null where email like 'bob%'").execute(&world.pool).await.unwrap();
    let creation = |number: &str| {
        let body = json!({ "mode": "sms", "identity": number });
        world.storefront("customers/request-creation-code").json(&body).send()
    };
    let verification =
        |number: &str| world.storefront("customers/request-phone-verification").token(&ada).json(&json!({ "phone": number })).send();
    let sign_in = |number: &str| world.storefront("customers/login-with-sms").json(&json!({ "phone": number })).send();

    creation("hello").await.refused(422, "number_invalid");
    verification("hello").await.refused(422, "number_invalid");
    sign_in("hello").await.refused(422, "number_invalid");
    creation("+442079460018").await.refused(422, "number_unreachable");
    verification("+442079460018").await.refused(422, "number_unreachable");
    sign_in(PHONE).await.refused(422, "number_unproven");
    sqlx::query("update stores set texts_paused_at = now(), texts_paused_reason = 'by hand'").execute(&world.pool).await.unwrap();
    for number in ["hello", "+442079460018"] {
        creation(number).await.refused(423, "texts_paused");
        verification(number).await.refused(423, "texts_paused");
    }
    sign_in("hello").await.refused(423, "texts_paused");
    sign_in(PHONE).await.refused(423, "texts_paused");
}

#[tokio::test]
async fn a_burst_across_the_boundary_of_a_minute_is_limited() {
    let world = World::new().await;
    let burst = async |first: u32| {
        let requests = (first..first + 10).map(|number| {
            let body = json!({ "identity": format!("customer{number}@example.com") });
            world.storefront("customers/request-creation-code").json(&body).from("203.0.113.9").send()
        });
        futures::future::join_all(requests).await.iter().filter(|answer| answer.status == 200).count()
    };
    world.pass(TimeDelta::seconds(59));
    assert_eq!(burst(0).await, 5);
    world.pass(TimeDelta::seconds(2));
    assert_eq!(burst(10).await, 0, "the window of the limit slides");
    world.pass(TimeDelta::seconds(57));
    assert_eq!(burst(20).await, 0);
    world.pass(TimeDelta::seconds(1));
    assert_eq!(burst(30).await, 5);
}

#[tokio::test]
async fn an_unknown_number_has_no_account() {
    let world = World::new().await;
    let body = json!({ "phone": PHONE });
    world.storefront("customers/login-with-sms").json(&body).send().await.refused(422, "customer_not_found");
}

#[tokio::test]
async fn five_requests_a_minute_for_one_store_key_and_address() {
    let world = World::new().await;
    let ask = |number: u32, from: &str| {
        let body = json!({ "identity": format!("customer{number}@example.com") });
        world.storefront("customers/request-creation-code").json(&body).from(from)
    };
    for number in 0..5 {
        let answer = ask(number, "203.0.113.9").send().await;
        assert_eq!(answer.header("ratelimit-limit"), Some("5"));
        assert_eq!(answer.header("ratelimit-remaining"), Some((4 - number).to_string().as_str()));
        answer.ok(200);
        world.pass(TimeDelta::seconds(2));
    }
    let answer = ask(5, "203.0.113.9").send().await;
    assert_eq!(answer.header("ratelimit-reset"), Some("50"));
    assert_eq!(answer.refused(429, "rate_limited")["retry_after"], 50);
    // The four sending routes share the limit.
    let body = json!({ "phone": PHONE });
    let login = world.storefront("customers/login-with-sms").json(&body).from("203.0.113.9").send().await;
    login.refused(429, "rate_limited");
    // Another address is another client; another address of the same /64 is not.
    ask(6, "203.0.113.10").send().await.ok(200);
    for number in 7..12 {
        ask(number, &format!("2001:db8::{number}")).send().await.ok(200);
    }
    ask(12, "2001:db8::ffff").send().await.refused(429, "rate_limited");
    // The window slides, so nothing is gained at its edge.
    world.pass(TimeDelta::seconds(50));
    ask(13, "203.0.113.9").send().await.ok(200);
    ask(14, "203.0.113.9").send().await.refused(429, "rate_limited");
}

#[tokio::test]
async fn eighty_requests_a_minute_for_one_store_key_and_48() {
    let world = World::new().await;
    let ask = |number: u32, from: String| {
        let body = json!({ "identity": format!("customer{number}@example.com") });
        world.storefront("customers/request-creation-code").json(&body).from(&from).send()
    };
    for number in 0..80 {
        ask(number, format!("2001:db8:7:{number:x}::1")).await.ok(200);
    }
    let answer = ask(80, "2001:db8:7:ffff::1".to_owned()).await;
    assert_eq!((answer.header("ratelimit-limit"), answer.header("ratelimit-remaining")), (Some("80"), Some("0")));
    answer.refused(429, "rate_limited");
    ask(80, "2001:db8:8::1".to_owned()).await.ok(200);
    // What was refused is not counted for its /64.
    world.pass(TimeDelta::seconds(61));
    for number in 81..86 {
        ask(number, "2001:db8:7:ffff::1".to_owned()).await.ok(200);
    }
}

#[tokio::test]
async fn parallel_requests_do_not_pass_the_limit_together() {
    let world = World::new().await;
    let requests = (0..30).map(|number| {
        let body = json!({ "identity": format!("customer{number}@example.com") });
        world.storefront("customers/request-creation-code").json(&body).from("203.0.113.9").send()
    });
    let answers = futures::future::join_all(requests).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 5);
    assert_eq!(world.messages().len(), 5);
}

#[tokio::test]
async fn a_client_cannot_choose_its_address() {
    let world = World::with(&[("http.trusted_proxies", "")]).await;
    for number in 0..6 {
        let body = json!({ "identity": format!("customer{number}@example.com") });
        let request = world.storefront("customers/request-creation-code").json(&body).from(&format!("203.0.113.{number}"));
        let liars = [
            "forwarded",
            "x-real-ip",
            "x-client-ip",
            "true-client-ip",
            "cf-connecting-ip",
            "x-cluster-client-ip",
            "x-original-forwarded-for",
        ];
        let request = liars.into_iter().fold(request, |request, name| request.header(name, &format!("203.0.113.{number}")));
        let answer = request.send().await;
        assert_eq!(answer.status, if number < 5 { 200 } else { 429 });
    }
}
