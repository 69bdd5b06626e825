//! Challenges: when one is asked for, what a solved one is worth, and what it is not (decisions, section 5).

use std::time::Duration;

use chrono::TimeDelta;
use futures::future::join_all;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::challenge_service::{ChallengeService, SITE_KEY};
use crate::support::customers::{EMAIL, PASSWORD, PHONE, ask_to_register, token};
use crate::support::held_answers::HeldAnswers;
use crate::support::{Answer, World};

/// What the app does after `challenge_required`: it repeats the request with the token.
async fn with_token(world: &World, number: &str, token: &str) -> Answer {
    let body = json!({ "mode": "sms", "identity": number });
    world.storefront("customers/request-creation-code").header("portico-challenge", token).json(&body).send().await
}

async fn set_store(world: &World, changes: Value) {
    let path = format!("/storefront/int/v1/stores/{}", world.store);
    world.api(Method::PUT, &path).json(&changes).send().await.ok(200);
}

/// Lets the guard suspect the range of [`PHONE`]: five codes were texted there, and none was used. Returns the numbers that were texted.
async fn pump(world: &World) {
    set_store(world, json!({ "challenge": "off" })).await;
    for number in 1..=5 {
        ask_to_register(world, &format!("+1201555010{number}")).await.ok(200);
    }
    set_store(world, json!({ "challenge": "risk" })).await;
    world.pass(TimeDelta::minutes(3));
}

async fn latest_text(world: &World) -> Value {
    let list = world.api(Method::GET, "/storefront/int/v1/texts?sort=-created_at&limit=1").send().await.ok(200);
    list["texts"][0].clone()
}

/// The outcome of a password of somebody who has no account, from an address.
async fn try_password(world: &World, address: &str, number: usize, token: Option<&str>) -> Answer {
    let body = json!({ "identity": format!("nobody{number}@example.com"), "password": PASSWORD });
    let request = world.storefront("customers/login").from(address).json(&body);
    match token {
        Some(token) => request.header("portico-challenge", token).send().await,
        None => request.send().await,
    }
}

#[tokio::test]
async fn where_the_guard_would_pause_texts_a_stranger_who_solves_a_challenge_gets_one() {
    let service = ChallengeService::start().await;
    let world = service.world(&[]).await;
    pump(&world).await;
    let asked = ask_to_register(&world, PHONE).await.refused(403, "challenge_required");
    assert_eq!((&asked["kind"], &asked["site_key"]), (&json!("turnstile"), &json!(SITE_KEY)));
    let logged = latest_text(&world).await;
    assert_eq!((&logged["refusal"], &logged["rule"]), (&json!("challenge_required"), &json!("pumping")));
    assert_eq!(world.count("select count(*) from text_pauses where ended_at is null").await, 1, "the pause has begun all the same");

    for bad in ["made up", "elsewhere", &"x".repeat(4_097)] {
        let refused = with_token(&world, PHONE, bad).await.refused(403, "challenge_required");
        assert_eq!(refused["site_key"], SITE_KEY, "{refused}");
    }
    assert_eq!(service.asked().await, 1, "what no service gives out is not shown to one");
    world.pass(TimeDelta::seconds(1));
    with_token(&world, PHONE, "solved-1").await.ok(200);
    assert_eq!((world.messages()[0].to.as_str(), &latest_text(&world).await["status"]), (PHONE, &json!("sent")));
    with_token(&world, "+12015550124", "solved-1").await.refused(403, "challenge_required");
    world.open_account(PHONE, &world.last_code()).await.ok(201);

    // A customer whose number is proven is not asked, and neither is anybody where nothing is suspected.
    world.pass(TimeDelta::minutes(2));
    world.sign_in_code(PHONE).await;
    ask_to_register(&world, "+4915112345678").await.ok(200);
}

#[tokio::test]
async fn a_token_that_does_not_count_is_logged_like_none() {
    let service = ChallengeService::start().await;
    let world = service.world(&[]).await;
    pump(&world).await;
    let refused = async || world.count("select count(*) from texts where refusal = 'challenge_required'").await;
    with_token(&world, PHONE, "made-up").await.refused(403, "challenge_required");
    let logged = latest_text(&world).await;
    assert_eq!((&logged["number"], &logged["rule"], &logged["status"]), (&json!(PHONE), &json!("pumping"), &json!("refused")));
    assert_eq!(world.count("select count(*) from texts where status = 'refused' and to_stranger and asked_from is not null").await, 1);
    // One that counts lets the text through, so nothing was refused. Used again, it does not count.
    with_token(&world, PHONE, "solved-1").await.ok(200);
    assert_eq!(refused().await, 1);
    with_token(&world, "+12015550124", "solved-1").await.refused(403, "challenge_required");
    assert_eq!(refused().await, 2);

    let nowhere = ("storefront.challenge.verify_url", "http://127.0.0.1:9/siteverify");
    let kind = [("storefront.challenge.kind", "attestation"), ("storefront.challenge.secret", "secret")];
    let strict = world.reconfigured("", &[&kind[..], &[nowhere, ("storefront.challenge.when_unavailable", "refuse")]].concat());
    with_token(&strict, "+12015550125", "solved-2").await.refused(503, "provider_unavailable");
    assert_eq!(refused().await, 3, "nor does one that nobody can verify");
}

#[tokio::test]
async fn it_is_asked_for_close_to_a_limit_and_lifts_no_limit_that_bounds_a_loss() {
    let service = ChallengeService::start().await;
    let world = service.world(&[]).await;
    let ask = async |number: usize, token: &str| {
        let body = json!({ "mode": "sms", "identity": format!("+1201{}0123", 200 + number) });
        let request = world.storefront("customers/request-creation-code").from("8.8.4.4").json(&body);
        world.pass(TimeDelta::minutes(1));
        request.header("portico-challenge", token).send().await
    };
    for number in 0..7 {
        ask(number, "unasked").await.ok(200);
    }
    assert_eq!(service.asked().await, 0, "nobody looks at a token that is not needed");
    for number in 7..10 {
        ask(number, "made-up").await.refused(403, "challenge_required");
        ask(number, &format!("solved-{number}")).await.ok(200);
    }
    ask(10, "solved-10").await.refused(429, "rate_limited");

    pump(&world).await;
    set_store(&world, json!({ "texts_per_day": 0 })).await;
    with_token(&world, PHONE, "solved-11").await.refused(423, "texts_paused");
    set_store(&world, json!({ "texts_per_day": 1_000 })).await;
    with_token(&world, PHONE, "solved-11").await.ok(200);
    world.pass(TimeDelta::seconds(70));
    set_store(&world, json!({ "texts_per_number_and_day": 1 })).await;
    with_token(&world, PHONE, "solved-12").await.refused(423, "texts_paused");
}

#[tokio::test]
async fn who_buys_solutions_gets_no_more_texts_than_may_be_unused() {
    let service = ChallengeService::start().await;
    let world = service.world(&[]).await;
    pump(&world).await;
    set_store(&world, json!({ "unused_codes_per_store": 3 })).await;
    for number in 0..3 {
        with_token(&world, &format!("+1201555020{number}"), &format!("solved-{number}")).await.ok(200);
    }
    with_token(&world, "+12015550203", "solved-3").await.refused(423, "texts_paused");
    assert_eq!(service.asked().await, 3);
    // Each code that is used is one more for others, and its own place is free again.
    let last = world.messages()[0].to.clone();
    world.open_account(&last, &world.last_code()).await.ok(201);
    for number in 4..6 {
        with_token(&world, &format!("+1201555020{number}"), &format!("solved-{number}")).await.ok(200);
    }
    with_token(&world, "+12015550206", "solved-6").await.refused(423, "texts_paused");
}

#[tokio::test]
async fn a_network_that_guesses_wrong_is_asked_at_half_of_its_guesses_and_refused_at_all_of_them() {
    let service = ChallengeService::start().await;
    let world = service.world(&[("storefront.failures_per_address", "8")]).await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let address = "8.8.4.4";
    for number in 0..4 {
        try_password(&world, address, number, None).await.refused(401, "credentials_invalid");
    }
    try_password(&world, address, 4, None).await.refused(403, "challenge_required");
    try_password(&world, "8.8.4.5", 4, None).await.refused(401, "credentials_invalid");
    // Every route that sends a code or takes a guess asks.
    for (path, body) in [
        ("customers/login-with-sms", json!({ "identity": EMAIL })),
        ("customers/request-creation-code", json!({ "identity": "bob@example.com" })),
        ("customers/verify-code", json!({ "identity": EMAIL, "code": "123456" })),
        ("customers/reset-password", json!({ "identity": EMAIL, "code": "123456", "password": PASSWORD })),
        ("customers", json!({ "name": "Bob", "identity": "bob@example.com", "code": "123456" })),
    ] {
        world.storefront(path).from(address).json(&body).send().await.refused(403, "challenge_required");
    }
    // Another instance asks as soon as it has counted one itself.
    let other = world.another_instance();
    try_password(&other, address, 5, None).await.refused(401, "credentials_invalid");
    try_password(&other, address, 6, None).await.refused(403, "challenge_required");
    for number in 6..9 {
        try_password(&world, address, number, Some(&format!("solved-{number}"))).await.refused(401, "credentials_invalid");
    }
    try_password(&world, address, 9, Some("solved-9")).await.refused(429, "guesses_exceeded");
    world.pass(TimeDelta::minutes(16));
    try_password(&world, address, 10, None).await.refused(401, "credentials_invalid");
}

#[tokio::test]
async fn a_store_that_always_asks_asks_with_every_request_and_one_that_never_does_with_none() {
    let service = ChallengeService::start().await;
    let world = service.world(&[]).await;
    let ada = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    set_store(&world, json!({ "challenge": "always" })).await;
    let login = json!({ "identity": EMAIL, "password": PASSWORD });
    world.storefront("customers/login").json(&login).send().await.refused(403, "challenge_required");
    world.storefront("customers/login").header("portico-challenge", "solved-1").json(&login).send().await.ok(200);
    let verification = || world.storefront("customers/request-phone-verification").token(&ada).json(&json!({ "phone": PHONE }));
    verification().send().await.refused(403, "challenge_required");
    verification().header("portico-challenge", "solved-2").send().await.ok(200);
    let text = latest_text(&world).await;
    assert_eq!((&text["status"], world.count("select count(*) from texts where by_challenge").await), (&json!("sent"), 0));

    set_store(&world, json!({ "challenge": "off" })).await;
    world.storefront("customers/login").json(&login).send().await.ok(200);
    world.pass(TimeDelta::minutes(11));
    for number in 1..=5 {
        ask_to_register(&world, &format!("+1201555010{number}")).await.ok(200);
    }
    world.pass(TimeDelta::minutes(3));
    with_token(&world, "+12015550199", "solved-3").await.refused(423, "texts_paused");
    let path = format!("/storefront/int/v1/stores/{}", world.store);
    world.api(Method::PUT, &path).json(&json!({ "challenge": "sometimes" })).send().await.refused(422, "body_invalid");
}

#[tokio::test]
async fn a_token_is_good_for_one_request_even_if_its_service_forgets() {
    let service = ChallengeService::start().await;
    let world = service.world(&[]).await;
    pump(&world).await;
    service.forget_what_it_has_seen().await;
    let other = world.another_instance();
    let asking = (0..6).map(|number| {
        let world = if number % 2 == 0 { &world } else { &other };
        async move { with_token(world, &format!("+1201555020{number}"), "solved").await }
    });
    let answers = join_all(asking).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    assert!(answers.into_iter().all(|answer| answer.status == 200 || answer.body["code"] == "challenge_required"));
}

#[tokio::test]
async fn a_service_that_does_not_answer_holds_nobody_and_lifts_nothing() {
    let service = ChallengeService::start().await;
    let world = service.world(&[("storefront.challenge.timeout", "3s")]).await;
    pump(&world).await;
    service.take(Duration::from_secs(60)).await;
    with_token(&world, PHONE, "solved-0").await.refused(423, "texts_paused");
    service.fail().await;
    for number in 1..9 {
        with_token(&world, PHONE, &format!("solved-{number}")).await.refused(423, "texts_paused");
    }
    assert_eq!(service.asked().await, 4, "after five failures it is skipped");
    world.pass(TimeDelta::seconds(31));
    service.forget_what_it_has_seen().await;
    with_token(&world, PHONE, "solved-9").await.ok(200);

    let strict = world.reconfigured(
        "",
        &[
            ("storefront.challenge.kind", "attestation"),
            ("storefront.challenge.verify_url", "http://127.0.0.1:9/siteverify"),
            ("storefront.challenge.secret", "secret"),
            ("storefront.challenge.when_unavailable", "refuse"),
        ],
    );
    let asked = ask_to_register(&strict, "+12015550177").await.refused(403, "challenge_required");
    assert_eq!((&asked["kind"], &asked["site_key"]), (&json!("attestation"), &Value::Null));
    with_token(&strict, "+12015550177", "solved").await.refused(503, "provider_unavailable");
}

#[tokio::test]
async fn odd_tokens_of_one_shop_have_the_service_skipped_for_nobody() {
    let service = ChallengeService::start().await;
    let world = service.world(&[]).await;
    pump(&world).await;
    let odd = async || {
        for number in 0..8 {
            with_token(&world, PHONE, &format!("odd-{number}")).await.refused(423, "texts_paused");
        }
        assert_eq!(service.asked().await, 8, "it is asked about each");
    };
    for status in [400, 403] {
        service.refuse(status).await;
        odd().await;
    }
    service.cannot_say().await;
    odd().await;
    service.forget_what_it_has_seen().await;
    with_token(&world, PHONE, "solved-1").await.ok(200);

    // Time-outs and its own failures are what counts.
    service.refuse(500).await;
    for number in 0..8 {
        with_token(&world, "+12015550124", &format!("odd-{number}")).await.refused(423, "texts_paused");
    }
    assert_eq!(service.asked().await, 5);
}

#[tokio::test]
async fn a_flood_of_tokens_at_one_store_leaves_places_to_the_stores_of_others() {
    let answered = CancellationToken::new();
    let service = HeldAnswers::start(&answered, 200, &json!({ "success": true, "error-codes": [] })).await;
    let url = service.url();
    let settings = [
        ("storefront.challenge.kind", "turnstile"),
        ("storefront.challenge.verify_url", url.as_str()),
        ("storefront.challenge.site_key", SITE_KEY),
        ("storefront.challenge.secret", "secret"),
        ("storefront.challenge.timeout", "60s"),
    ];
    let world = World::with(&settings).await;
    let (other, api_key) = world.another_company(&Scope::ALL).await;
    let (store, key) = world.store_of(other).await;
    set_store(&world, json!({ "challenge": "always" })).await;
    let path = format!("/storefront/int/v1/stores/{store}");
    world.request(Method::PUT, &path).key(&api_key).json(&json!({ "challenge": "always" })).send().await.ok(200);

    let ask = |key: &str, number: usize| {
        let login = json!({ "identity": format!("customer-{number}@acme.example"), "password": PASSWORD });
        let request = world.storefront("customers/login").key(key).from(&format!("8.8.4.{number}"));
        request.header("portico-challenge", &format!("solved-{number}")).json(&login).send()
    };
    let flood = join_all((0..16).map(|number| ask(&world.store_key, number)));
    let meanwhile = async {
        service.is_asked(16).await;
        for number in 16..20 {
            ask(&world.store_key, number).await.refused(503, "overloaded");
        }
        let letting_go = async {
            service.is_asked(17).await;
            answered.cancel();
        };
        tokio::join!(ask(&key, 20), letting_go).0
    };
    let (flood, of_other) = tokio::join!(flood, meanwhile);
    of_other.refused(401, "credentials_invalid");
    assert!(flood.iter().all(|answer| answer.body["code"] == "credentials_invalid"), "{flood:?}");
}
