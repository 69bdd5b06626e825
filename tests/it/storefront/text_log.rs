//! The log of texts: `storefront/int/v1/texts` explains to operators why a text was not sent (decisions, section 5).

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::support::World;
use crate::support::customers::{EMAIL, PHONE, ask_to_register};
use crate::support::sms::{http, twilio, vonage};

async fn list(world: &World, parameters: &str) -> Vec<Value> {
    let path = format!("/storefront/int/v1/texts?sort=-created_at&{parameters}");
    world.api(Method::GET, &path).send().await.ok(200)["texts"].as_array().unwrap().clone()
}

/// Changes the store's settings.
async fn set(world: &World, settings: Value) {
    let path = format!("/storefront/int/v1/stores/{}", world.store);
    world.api(Method::PUT, &path).json(&settings).send().await.ok(200);
}

/// Asserts the refusal, the rule and the reason of a text and returns its details.
#[track_caller]
fn explained(text: &Value, (refusal, rule, reason): (&str, &str, &str)) -> Value {
    assert_eq!((&text["refusal"], &text["rule"], &text["reason"]), (&json!(refusal), &json!(rule), &json!(reason)), "{text}");
    text["details"].clone()
}

#[tokio::test]
async fn a_refusal_has_the_limit_the_count_and_the_end() {
    let details = |limit: u32, seen: u32, until: &str| json!({ "limit": limit, "seen": seen, "until": until });
    for (settings, pause, status, expected, limit) in [
        (
            json!({}),
            TimeDelta::seconds(12),
            429,
            (
                "number_cooldown",
                "seconds_between_texts",
                "The last text to the number was sent 12 seconds earlier; the minimum interval is 30 seconds. The next text is allowed \
                 at 2026-05-21T10:15:30.000+00:00.",
            ),
            details(30, 12, "2026-05-21T10:15:30.000+00:00"),
        ),
        (
            json!({ "texts_per_number_and_hour": 1 }),
            TimeDelta::minutes(20),
            429,
            (
                "number_cooldown",
                "texts_per_number_and_hour",
                "Texts sent to the number within one hour: 1; the limit is 1. The next text is allowed at 2026-05-21T11:15:00.000+00:00.",
            ),
            details(1, 1, "2026-05-21T11:15:00.000+00:00"),
        ),
        (
            json!({ "texts_per_number_and_day": 1 }),
            TimeDelta::hours(3),
            429,
            (
                "number_cooldown",
                "texts_per_number_and_day",
                "Texts sent to the number within 24 hours: 1; the limit is 1. The next text is allowed at 2026-05-22T10:15:00.000+00:00.",
            ),
            details(1, 1, "2026-05-22T10:15:00.000+00:00"),
        ),
        (
            json!({ "texts_per_day": 1 }),
            TimeDelta::hours(3),
            429,
            (
                "text_budget_used",
                "texts_per_day",
                "Texts sent by the store within 24 hours: 1; the limit is 1. The next text is allowed at 2026-05-22T10:15:00.000+00:00.",
            ),
            details(1, 1, "2026-05-22T10:15:00.000+00:00"),
        ),
    ] {
        let world = World::new().await;
        set(&world, settings).await;
        world.register(PHONE).await;
        world.pass(pause);
        // A code for another purpose, so that the request is not refused by the limit of one code per minute.
        world.storefront("customers/login-with-sms").json(&json!({ "phone": PHONE })).send().await.refused(status, expected.0);
        let texts = list(&world, "status=refused").await;
        assert_eq!((texts.len(), &texts[0]["number"], &texts[0]["country"]), (1, &json!(PHONE), &json!("US")));
        assert_eq!(explained(&texts[0], expected), limit);
        assert_eq!(list(&world, &format!("rule={}", expected.1)).await, texts);
    }

    let world = World::new().await;
    set(&world, json!({ "numbers_per_range": 2 })).await;
    ask_to_register(&world, "+12015550101").await.ok(200);
    ask_to_register(&world, "+12015550102").await.ok(200);
    world.pass(TimeDelta::minutes(1));
    ask_to_register(&world, "+12015550103").await.refused(429, "range_cooldown");
    let expected = (
        "range_cooldown",
        "numbers_per_range",
        "Other numbers of the range texted within ten minutes: 2; the limit is 2. The next text is allowed at \
         2026-05-21T10:25:00.000+00:00.",
    );
    assert_eq!(explained(&list(&world, "status=refused").await[0], expected), details(2, 2, "2026-05-21T10:25:00.000+00:00"));
}

#[tokio::test]
async fn the_log_explains_why_a_number_was_refused() {
    let world = World::new().await;
    set(&world, json!({ "text_countries": ["GB", "DE"] })).await;
    ask_to_register(&world, "+442079460018").await.refused(422, "number_unreachable");
    let line = "The number is a fixed line, a premium-rate number or of another kind that cannot receive texts.";
    assert_eq!(explained(&list(&world, "rule=line_type").await[0], ("number_unreachable", "line_type", line)), Value::Null);
    ask_to_register(&world, PHONE).await.refused(422, "number_unreachable");
    let country = "The store does not send texts to the country of the number.";
    explained(&list(&world, "rule=text_countries").await[0], ("number_unreachable", "text_countries", country));
    assert_eq!(list(&world, "country=us").await.len(), 1);
    assert_eq!(list(&world, "refusal=none").await.len(), 0, "both were refused");

    // An account lists the number without having verified it: the code is sent by mail instead.
    set(&world, json!({ "text_countries": [] })).await;
    world.register_with(EMAIL, json!({ "phone": PHONE })).await;
    world.storefront("customers/login-with-sms").json(&json!({ "phone": PHONE })).send().await.ok(200);
    let unproven = "The account has not verified the number.";
    explained(&list(&world, "rule=unproven_number").await[0], ("number_unproven", "unproven_number", unproven));

    ask_to_register(&world, "hello").await.refused(422, "number_invalid");
    let text = list(&world, "refusal=number_invalid").await[0].clone();
    explained(&text, ("number_invalid", "number_format", "The entered text is not a phone number."));
    assert_eq!((&text["number"], &text["number_range"], &text["country"]), (&Value::Null, &Value::Null, &Value::Null));
    let refusal = world.api(Method::GET, "/storefront/int/v1/texts?rule=mood").send().await.refused(422, "parameter_invalid");
    assert!(refusal["detail"].as_str().unwrap().contains("seconds_between_texts"), "{refusal}");
}

#[tokio::test]
async fn invalid_numbers_are_logged_at_most_sixty_times_an_hour() {
    let world = World::new().await;
    let refused = async || world.count("select count(*) from texts where refusal = 'number_invalid'").await;
    // Each from another address: one of them may ask for five codes a minute.
    for _ in 0..70 {
        let body = json!({ "mode": "sms", "identity": "hello" });
        world.storefront("customers/request-creation-code").json(&body).send().await.refused(422, "number_invalid");
    }
    assert_eq!(refused().await, 60);
    // Refusals of valid numbers are still logged.
    ask_to_register(&world, "+442079460018").await.refused(422, "number_unreachable");
    assert_eq!(list(&world, "rule=line_type").await.len(), 1);
    world.pass(TimeDelta::hours(1));
    ask_to_register(&world, "hello").await.refused(422, "number_invalid");
    assert_eq!(refused().await, 61);
}

#[tokio::test]
async fn a_pause_is_logged_with_its_counts() {
    let world = World::new().await;
    for number in 0..50 {
        ask_to_register(&world, &format!("+1201{}0123", 200 + number)).await.ok(200);
    }
    world.pass(TimeDelta::minutes(3));
    ask_to_register(&world, "+12013000123").await.refused(423, "texts_paused");
    let paused = "the country US until 2026-05-21T10:33:00.000+00:00: of 50 codes texted within ten minutes, 0 were used.";
    let reason = format!("This indicates SMS pumping, so the SMS guard paused texts to strangers of {paused}");
    let mut details = explained(&list(&world, "rule=pumping").await[0], ("texts_paused", "pumping", &reason));
    let expected = json!({
        "scope": "country", "name": "US", "texted": 50, "used": 0,
        "paused_at": "2026-05-21T10:18:00.000+00:00", "paused_until": "2026-05-21T10:33:00.000+00:00",
        "paused_reason": "of 50 codes texted within ten minutes, 0 were used",
    });
    assert_eq!(details, expected);

    world.pass(TimeDelta::minutes(5));
    ask_to_register(&world, "+12013010123").await.refused(423, "texts_paused");
    let texts = list(&world, "rule=texts_paused").await;
    let reason = format!("The SMS guard has paused texts to strangers of {paused}");
    for count in ["texted", "used"] {
        details.as_object_mut().unwrap().remove(count);
    }
    assert_eq!(explained(&texts[0], ("texts_paused", "texts_paused", &reason)), details);

    // The pause of an operator is for everybody, and comes first.
    set(&world, json!({ "texts_paused": true, "texts_paused_reason": "a campaign" })).await;
    for number in ["+12013010123", "hello"] {
        world.pass(TimeDelta::seconds(1));
        ask_to_register(&world, number).await.refused(423, "texts_paused");
    }
    let texts = list(&world, "rule=texts_paused").await;
    assert_eq!(texts.len(), 3);
    for text in &texts[..2] {
        let reason = "The store's texts have been paused since 2026-05-21T10:23:00.000+00:00: a campaign.";
        let details = json!({ "paused_at": "2026-05-21T10:23:00.000+00:00", "paused_reason": "a campaign" });
        assert_eq!(explained(text, ("texts_paused", "texts_paused", reason)), details);
    }
}

#[tokio::test]
async fn the_log_has_the_error_of_each_provider() {
    let outage = || ResponseTemplate::new(503).set_body_string("<html>oops</html>");
    let said = |provider: &str, answer: &str, detail: &str| json!({ "provider": provider, "answer": answer, "detail": detail });
    let (_first, twilio) = twilio::provider(twilio::refused(401, 20003)).await;
    let (_second, vonage) = vonage::provider(vonage::refused(1)).await;
    let (_third, http) = http::provider(outage()).await;
    let settings: Vec<_> = [twilio, vonage, http].into_iter().flatten().collect();
    let mut settings: Vec<_> = settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
    settings.push(("sms.providers", "twilio,vonage,http"));
    let world = World::with(&settings).await;
    ask_to_register(&world, PHONE).await.refused(502, "message_not_sent");
    let text = list(&world, "status=given_back").await[0].clone();
    assert_eq!((&text["number"], &text["used_at"]), (&json!(PHONE), &Value::Null));
    let reason = "No SMS provider accepted the text: twilio returned bad_credentials (status 401, error 20003), vonage returned \
                  rate_limited (error 1), http returned outage (status 503).";
    let details = explained(&text, ("message_not_sent", "provider_answers", reason));
    let answers = [
        said("twilio", "bad_credentials", "status 401, error 20003"),
        said("vonage", "rate_limited", "error 1"),
        said("http", "outage", "status 503"),
    ];
    assert_eq!(details, json!({ "providers": answers }));
    // A text that was sent has no reason.
    let world = World::new().await;
    ask_to_register(&world, PHONE).await.ok(200);
    let text = list(&world, "status=sent").await[0].clone();
    assert!(["refusal", "rule", "reason", "details"].iter().all(|member| text[member].is_null()), "{text}");
}

#[tokio::test]
async fn the_log_has_what_a_provider_reports_about_a_number() {
    for (code, answer) in [(21610, "blocked"), (21614, "landline"), (21211, "unreachable")] {
        let (_provider, settings) = twilio::provider(twilio::refused(400, code)).await;
        let settings: Vec<_> = settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let world = World::with(&settings).await;
        ask_to_register(&world, PHONE).await.refused(422, "number_unreachable");
        let reason = format!("No SMS provider accepted the text: twilio returned {answer} (status 400, error {code}).");
        let details = explained(&list(&world, "").await[0], ("number_unreachable", "provider_answers", &reason));
        assert_eq!(details["providers"][0]["answer"], answer);
    }
    // The generic HTTP provider, whose settings define its error codes.
    let (_provider, mut settings) = http::provider(http::refused(400, "landline")).await;
    settings.push(("sms.providers", "http".to_owned()));
    let settings: Vec<_> = settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let world = World::with(&settings).await;
    ask_to_register(&world, PHONE).await.refused(422, "number_unreachable");
    let answer = list(&world, "rule=provider_answers").await[0]["details"]["providers"][0].clone();
    assert_eq!(answer, json!({ "provider": "http", "answer": "unreachable", "detail": "status 400, landline" }));
    // No provider is configured.
    let world = World::with(&[("environment", "production")]).await;
    ask_to_register(&world, PHONE).await.refused(422, "texts_unavailable");
    explained(
        &list(&world, "").await[0],
        ("texts_unavailable", "no_provider", "No SMS provider is configured, or that of the company cannot be used."),
    );
}
