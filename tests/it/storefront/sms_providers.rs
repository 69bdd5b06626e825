//! Several SMS providers: the meaning of their responses, the order in which they are tried, and when one is skipped.

use chrono::TimeDelta;
use portico::config::Config;
use portico::providers::card::Card;
use portico::providers::sms::Sms;
use serde_json::json;
use wiremock::{MockServer, ResponseTemplate};

use crate::support::World;
use crate::support::customers::{PHONE, ask_to_register};
use crate::support::sms::{http, twilio, vonage};

type Settings = Vec<(&'static str, String)>;

async fn world(providers: &str, settings: &[Settings], more: &[(&'static str, &str)]) -> World {
    let mut all: Vec<(&str, &str)> = settings.iter().flatten().map(|(key, value)| (*key, value.as_str())).collect();
    all.push(("sms.providers", providers));
    all.extend(more);
    World::with(&all).await
}

/// The number of requests that a provider received.
async fn asked(provider: &MockServer) -> usize {
    provider.received_requests().await.unwrap().len()
}

fn out_of_service() -> ResponseTemplate {
    ResponseTemplate::new(503).set_body_string("<html>oops</html>")
}

#[tokio::test]
async fn vonage_gets_a_form() {
    let (provider, settings) = vonage::provider(vonage::accepted()).await;
    let world = world("vonage", &[settings], &[]).await;
    ask_to_register(&world, PHONE).await.ok(200);
    let requests = provider.received_requests().await.unwrap();
    let form: Vec<(String, String)> = url::form_urlencoded::parse(&requests[0].body).into_owned().collect();
    let of = |name: &str| form.iter().find(|(key, _)| key == name).unwrap().1.clone();
    assert_eq!((of("to"), of("from"), of("type")), ("12015550123".to_owned(), "Acme".to_owned(), "text".to_owned()));
    assert!(of("text").contains(&world.last_code()));
}

#[tokio::test]
async fn vonage_reports_errors_with_status_200() {
    for code in [7, 33] {
        let (_provider, settings) = vonage::provider(vonage::refused(code)).await;
        ask_to_register(&world("vonage", &[settings], &[]).await, PHONE).await.refused(422, "number_unreachable");
    }
    for code in [1, 4, 5, 6, 9, 15, 29] {
        let (_provider, settings) = vonage::provider(vonage::refused(code)).await;
        let world = world("vonage", &[settings], &[]).await;
        ask_to_register(&world, PHONE).await.refused(502, "message_not_sent");
        assert_eq!(world.count("select count(*) from texts where status = 'sent'").await, 0);
    }
}

#[tokio::test]
async fn any_service_gets_the_request_of_the_settings() {
    let (provider, settings) = http::provider(http::accepted()).await;
    let world = world("http", &[settings], &[]).await;
    ask_to_register(&world, PHONE).await.ok(200);
    let requests = provider.received_requests().await.unwrap();
    let body: serde_json::Value = serde_json::from_slice(&requests[0].body).unwrap();
    assert_eq!((&body["recipient"], &body["sender"]), (&json!(PHONE), &json!("Acme")));
    assert!(body["message"].as_str().unwrap().contains(&world.last_code()));
}

#[tokio::test]
async fn any_service_reports_errors_by_the_signs_in_the_settings() {
    for code in ["landline", "blocked"] {
        let (_provider, settings) = http::provider(http::refused(400, code)).await;
        ask_to_register(&world("http", &[settings], &[]).await, PHONE).await.refused(422, "number_unreachable");
    }
    for (status, code) in [(400, "sender_unknown"), (401, "unauthorized"), (429, "too_fast"), (500, "landline"), (200, "landline")] {
        let (_provider, settings) = http::provider(http::refused(status, code)).await;
        // This provider accepts texts with 202 only.
        let answer = ask_to_register(&world("http", &[settings], &[("sms.http.taken.statuses", "202")]).await, PHONE).await;
        answer.refused(502, "message_not_sent");
    }
}

#[tokio::test]
async fn providers_are_asked_in_the_configured_order() {
    let (first, twilio) = twilio::provider(twilio::refused(401, 20003)).await;
    let (second, vonage) = vonage::provider(vonage::refused(1)).await;
    let (third, http) = http::provider(http::accepted()).await;
    let settings = [twilio, vonage, http];
    let forwards = world("twilio,vonage,http", &settings, &[]).await;
    ask_to_register(&forwards, PHONE).await.ok(200);
    assert_eq!((asked(&first).await, asked(&second).await, asked(&third).await), (1, 1, 1));
    assert_eq!(forwards.messages().len(), 1, "one text was sent, regardless of the number of providers tried");

    let backwards = world("http,vonage,twilio", &settings, &[]).await;
    ask_to_register(&backwards, PHONE).await.ok(200);
    assert_eq!((asked(&first).await, asked(&second).await, asked(&third).await), (1, 1, 2));
}

#[tokio::test]
async fn an_unreachable_number_is_not_tried_at_other_providers() {
    let (_first, twilio) = twilio::provider(twilio::refused(400, 21610)).await;
    let (second, vonage) = vonage::provider(vonage::accepted()).await;
    let world = world("twilio,vonage", &[twilio, vonage], &[]).await;
    ask_to_register(&world, PHONE).await.refused(422, "number_unreachable");
    assert_eq!(asked(&second).await, 0);
}

#[tokio::test]
async fn a_region_that_one_provider_does_not_serve_is_tried_at_the_next_and_says_nothing_about_the_provider() {
    for code in [21408, 21612] {
        let (first, twilio) = twilio::provider(twilio::refused(400, code)).await;
        let (second, vonage) = vonage::provider(vonage::accepted()).await;
        let world = world("twilio,vonage", &[twilio.clone(), vonage], &[("sms.breaker.opens_after", "1")]).await;
        for (number, expected) in [("+12015510101", 1), ("+12015520101", 2)] {
            ask_to_register(&world, number).await.ok(200);
            assert_eq!((asked(&first).await, asked(&second).await), (expected, expected), "the provider is not skipped");
        }
        // Alone, it says that the number cannot be reached.
        let world = self::world("twilio", &[twilio], &[]).await;
        ask_to_register(&world, PHONE).await.refused(422, "number_unreachable");
    }
}

#[tokio::test]
async fn a_provider_that_is_not_there_is_passed_over() {
    let (second, vonage) = vonage::provider(vonage::accepted()).await;
    let away = vec![
        ("sms.twilio.base_url", "http://127.0.0.1:1".to_owned()),
        ("sms.twilio.account_sid", twilio::ACCOUNT.to_owned()),
        ("sms.twilio.from", "+15005550006".to_owned()),
    ];
    let world = world("twilio,vonage", &[away, vonage], &[]).await;
    ask_to_register(&world, PHONE).await.ok(200);
    assert_eq!(asked(&second).await, 1);
}

#[tokio::test]
async fn a_text_without_a_response_is_not_retried_but_the_next_one_uses_another_provider() {
    let (first, twilio) = twilio::provider(twilio::accepted().set_delay(std::time::Duration::from_secs(60))).await;
    let (second, vonage) = vonage::provider(vonage::accepted()).await;
    let quick = [("sms.twilio.timeout", "3s"), ("sms.breaker.opens_after", "1")];
    let world = world("twilio,vonage", &[twilio, vonage], &quick).await;
    ask_to_register(&world, PHONE).await.ok(200);
    assert_eq!((asked(&first).await, asked(&second).await), (1, 0));
    assert_eq!(world.count("select count(*) from texts where status = 'sent'").await, 1);
    ask_to_register(&world, "+12015550124").await.ok(200);
    assert_eq!((asked(&first).await, asked(&second).await), (1, 1));
}

#[tokio::test]
async fn a_failing_provider_is_skipped_until_a_trial_succeeds() {
    let (first, twilio) = twilio::provider(out_of_service()).await;
    let (second, vonage) = vonage::provider(vonage::accepted()).await;
    let world = world("twilio,vonage", &[twilio, vonage], &[("sms.breaker.opens_after", "2"), ("sms.breaker.cool_down", "30s")]).await;
    for (number, expected) in [("+12015510101", (1, 1)), ("+12015520101", (2, 2)), ("+12015530101", (2, 3)), ("+12015540101", (2, 4))] {
        ask_to_register(&world, number).await.ok(200);
        assert_eq!((asked(&first).await, asked(&second).await), expected, "{number}");
    }

    world.pass(TimeDelta::seconds(30));
    for (number, expected) in [("+12015550101", (3, 5)), ("+12015560101", (3, 6))] {
        ask_to_register(&world, number).await.ok(200);
        assert_eq!((asked(&first).await, asked(&second).await), expected, "one trial, which fails: {number}");
    }

    twilio::change(&first, twilio::accepted()).await;
    world.pass(TimeDelta::seconds(29));
    ask_to_register(&world, "+12015570101").await.ok(200);
    assert_eq!((asked(&first).await, asked(&second).await), (0, 7));
    world.pass(TimeDelta::seconds(1));
    for (number, expected) in [("+12015580101", (1, 7)), ("+12015590101", (2, 7))] {
        ask_to_register(&world, number).await.ok(200);
        assert_eq!((asked(&first).await, asked(&second).await), expected, "the trial was taken: {number}");
    }
}

#[tokio::test]
async fn texts_that_a_provider_refuses_have_it_skipped_for_nobody() {
    // Content that is filtered, and a text that is too long: another company's wording is no reason to skip the provider.
    let (first, twilio) = twilio::provider(twilio::refused(400, 30007)).await;
    let (second, vonage) = vonage::provider(vonage::refused(12)).await;
    let (third, http) = http::provider(http::accepted()).await;
    let world = world("twilio,vonage,http", &[twilio, vonage, http], &[("sms.breaker.opens_after", "1")]).await;
    for (number, expected) in [("+12015510101", 1), ("+12015520101", 2), ("+12015530101", 3)] {
        ask_to_register(&world, number).await.ok(200);
        assert_eq!((asked(&first).await, asked(&second).await, asked(&third).await), (expected, expected, expected), "{number}");
    }
    // An account that may not send is.
    let (first, vonage) = vonage::provider(vonage::refused(9)).await;
    let (_second, http) = http::provider(http::accepted()).await;
    let world = self::world("vonage,http", &[vonage, http], &[("sms.breaker.opens_after", "1")]).await;
    for number in ["+12015510101", "+12015520101"] {
        ask_to_register(&world, number).await.ok(200);
    }
    assert_eq!(asked(&first).await, 1);
}

#[tokio::test]
async fn if_every_provider_fails_the_response_is_502_and_each_further_text_tries_one() {
    let (first, twilio) = twilio::provider(out_of_service()).await;
    let (second, vonage) = vonage::provider(out_of_service()).await;
    let world = world("twilio,vonage", &[twilio, vonage], &[("sms.breaker.opens_after", "1")]).await;
    for expected in [(1, 1), (2, 1), (2, 2), (3, 2)] {
        let refusal = ask_to_register(&world, PHONE).await.refused(502, "message_not_sent");
        assert!(!refusal.to_string().contains("oops"), "the provider's response does not leak");
        assert_eq!((asked(&first).await, asked(&second).await), expected);
        world.pass(TimeDelta::seconds(1));
    }
    twilio::change(&first, twilio::accepted()).await;
    world.pass(TimeDelta::seconds(30));
    ask_to_register(&world, PHONE).await.ok(200);
}

#[tokio::test]
async fn credentials_numbers_and_codes_are_sent_encrypted_only() {
    let body = r#"{"to":"{to}","text":"{text}"}"#;
    for (provider, key) in [("twilio", "sms.twilio.base_url"), ("vonage", "sms.vonage.base_url"), ("http", "sms.http.url")] {
        let refused = |url: &str| {
            let known = [
                ("sms.providers", provider),
                ("sms.twilio.account_sid", "AC0"),
                ("sms.twilio.from", "+12015550100"),
                ("sms.vonage.api_key", "key"),
                ("sms.vonage.from", "Acme"),
                ("sms.http.body", body),
            ];
            Sms::new(&Config::with(&[&known[..], &[(key, url)]].concat()).unwrap().sms, None).err().map(|error| error.to_string())
        };
        assert_eq!(refused("http://texts.example").unwrap(), format!("{key} is not an https:// URL"));
        for good in ["https://texts.example", "http://127.0.0.1:9"] {
            assert_eq!(refused(good), None, "{key} {good}");
        }
    }
    let card = |url: &str| Card::new(&Config::with(&[("providers.card.base_url", url)]).unwrap().providers.card);
    assert_eq!(card("http://cards.example").unwrap_err().to_string(), "providers.card.base_url is not an https:// URL");
    assert!(card("https://cards.example").is_ok() && card("http://[::1]:9").is_ok());
}
