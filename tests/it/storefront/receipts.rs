//! What SMS providers report of texts: who is believed, what is shown, and what the guard makes of it (decisions, section 5).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use portico::kernel::crypto::hmac_sha1;
use reqwest::Method;
use serde_json::{Value, json};
use url::Url;
use url::form_urlencoded::{self, Serializer};
use wiremock::MockServer;

use crate::support::customers::{PHONE, ask_to_register};
use crate::support::sms::{twilio, vonage};
use crate::support::{Answer, World};

pub(super) const HUB: (&str, &str) = ("sms.receipts_url", "https://hub.example/");

/// A world whose texts go to a provider that calls each of them after its number.
async fn reporting(changes: &[(&str, &str)]) -> (World, MockServer) {
    let (provider, settings) = twilio::provider(twilio::Naming).await;
    let settings: Vec<_> = settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let world = World::with(&[&settings[..], &[HUB], changes].concat()).await;
    (world, provider)
}

/// A member of the form of the latest text that the provider was sent.
pub(super) async fn sent(provider: &MockServer, name: &str) -> Option<String> {
    let requests = provider.received_requests().await.unwrap();
    let form = form_urlencoded::parse(&requests.last().unwrap().body).into_owned();
    form.into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

/// The status callback of a text, signed as the provider does for this URL.
async fn report(world: &World, url: &str, number: &str, status: &str, code: Option<u32>) -> Answer {
    report_by(world, twilio::TOKEN, url, number, (status, code)).await
}

/// The same of the account with this token.
pub(super) async fn report_by(world: &World, token: &str, url: &str, number: &str, (status, code): (&str, Option<u32>)) -> Answer {
    let (sid, code) = (twilio::sid(number), code.map(|code| code.to_string()));
    let mut fields = vec![("MessageSid", sid.as_str()), ("MessageStatus", status), ("AccountSid", twilio::ACCOUNT)];
    fields.extend(code.as_deref().map(|code| ("ErrorCode", code)));
    fields.sort_unstable();
    let signed: String = std::iter::once(url).chain(fields.iter().flat_map(|(name, value)| [*name, *value])).collect();
    let signature = STANDARD.encode(hmac_sha1(token.as_bytes(), &[signed.as_bytes()]));
    post(world, url, &fields).header("x-twilio-signature", &signature).send().await
}

fn post(world: &World, url: &str, fields: &[(&str, &str)]) -> crate::support::request::Request {
    let body = Serializer::new(String::new()).extend_pairs(fields).finish();
    let path = url.parse::<Url>().unwrap().path().to_owned();
    world.request(Method::POST, &path).header("content-type", "application/x-www-form-urlencoded").body(body)
}

pub(super) async fn latest(world: &World) -> Value {
    let list = world.api(Method::GET, "/storefront/int/v1/texts?sort=-created_at&limit=1").send().await.ok(200);
    list["texts"][0].clone()
}

#[tokio::test]
async fn a_receipt_of_the_provider_says_what_became_of_a_text_and_what_is_delivered_stays_so() {
    let (world, provider) = reporting(&[]).await;
    ask_to_register(&world, PHONE).await.ok(200);
    let url = sent(&provider, "StatusCallback").await.unwrap();
    assert!(url.starts_with("https://hub.example/storefront/receipts/twilio/"), "{url}");
    let text = latest(&world).await;
    assert_eq!((&text["provider"], &text["delivery"]), (&json!("twilio"), &Value::Null));

    // Nobody else is believed.
    let fields = [("MessageSid", twilio::sid(PHONE)), ("MessageStatus", "failed".to_owned())];
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    post(&world, &url, &fields).send().await.refused(400, "callback_not_genuine");
    post(&world, &url, &fields).header("x-twilio-signature", "AAAA").send().await.refused(400, "callback_not_genuine");
    report(&world, &url.replace("twilio", "vonage"), PHONE, "failed", None).await.refused(404, "record_not_found");
    report(&world, &format!("{url}00"), PHONE, "failed", None).await.refused(404, "record_not_found");
    assert_eq!(latest(&world).await["delivery"], Value::Null);

    for (number, status, code, expected) in [
        ("+12015550199", "failed", None, Value::Null),
        (PHONE, "sent", None, Value::Null),
        (PHONE, "undelivered", Some(30_003), json!("undelivered")),
        (PHONE, "failed", Some(30_008), json!("undelivered")),
        (PHONE, "delivered", None, json!("delivered")),
        (PHONE, "undelivered", Some(30_003), json!("delivered")),
    ] {
        report(&world, &url, number, status, code).await.ok(200);
        assert_eq!(latest(&world).await["delivery"], expected, "{status}");
    }
    let large = "x".repeat(20_000);
    post(&world, &url, &[("MessageSid", large.as_str())]).send().await.refused(413, "body_too_large");

    // After the application key was replaced, the addresses that providers know go on working.
    let key = portico::kernel::crypto::ApplicationKey::generate();
    let key = secrecy::ExposeSecret::expose_secret(&key);
    let rekeyed = world.rekeyed(key, &[&world.application_key_setting]);
    report(&rekeyed, &url, PHONE, "delivered", None).await.ok(200);
}

#[tokio::test]
async fn receipts_come_in_every_form_that_a_provider_documents_and_only_if_it_is_told_where() {
    let (provider, settings) = vonage::provider(vonage::accepted()).await;
    let settings: Vec<_> = settings.iter().map(|(key, value)| (*key, value.as_str())).chain([("sms.providers", "vonage")]).collect();
    let silent = World::with(&settings).await;
    ask_to_register(&silent, PHONE).await.ok(200);
    assert_eq!((sent(&provider, "callback").await, latest(&silent).await["provider"].clone()), (None, Value::Null));

    let world = World::with(&[&settings[..], &[HUB]].concat()).await;
    ask_to_register(&world, PHONE).await.ok(200);
    let url: Url = sent(&provider, "callback").await.unwrap().parse().unwrap();
    world.request(Method::POST, url.path()).json(&json!(["no object"])).send().await.refused(400, "bad_request");
    let query = "?messageId=0A0000000123ABCD1&status=buffered&err-code=0";
    world.request(Method::GET, &format!("{}{query}", url.path())).send().await.ok(200);
    assert_eq!(latest(&world).await["delivery"], Value::Null);
    let body = json!({ "messageId": "0A0000000123ABCD1", "status": "expired", "err-code": 2 });
    world.request(Method::POST, url.path()).json(&body).send().await.ok(200);
    let text = latest(&world).await;
    assert_eq!((&text["delivery"], &text["delivery_code"]), (&json!("undelivered"), &json!("2")));
    let query = "?messageId=0A0000000123ABCD1&status=delivered&err-code=0";
    world.request(Method::GET, &format!("{}{query}", url.path())).send().await.ok(200);
    assert_eq!(latest(&world).await["delivery"], "delivered");
    silent.request(Method::GET, url.path()).send().await.refused(404, "record_not_found");
}

#[tokio::test]
async fn a_number_that_is_reported_as_unreachable_costs_no_further_texts_for_a_week() {
    for (setting, refused) in [("7d", true), ("0s", false)] {
        let (world, provider) = reporting(&[("storefront.unreachable_for", setting)]).await;
        ask_to_register(&world, PHONE).await.ok(200);
        let url = sent(&provider, "StatusCallback").await.unwrap();
        report(&world, &url, PHONE, "undelivered", Some(30_005)).await.ok(200);
        world.pass(TimeDelta::minutes(2));
        let answer = ask_to_register(&world, PHONE).await;
        if !refused {
            answer.ok(200);
            continue;
        }
        answer.refused(422, "number_unreachable");
        assert_eq!(latest(&world).await["rule"], "unreachable_number");
        world.pass(TimeDelta::days(7));
        ask_to_register(&world, PHONE).await.ok(200);
        // A phone that is switched off is not gone.
        ask_to_register(&world, "+12015550144").await.ok(200);
        report(&world, &url, "+12015550144", "undelivered", Some(30_003)).await.ok(200);
        world.pass(TimeDelta::minutes(2));
        ask_to_register(&world, "+12015550144").await.ok(200);
    }
}

#[tokio::test]
async fn what_never_arrived_is_not_held_against_the_country_and_is_against_its_range() {
    let (world, provider) = reporting(&[]).await;
    let store = format!("/storefront/int/v1/stores/{}", world.store);
    world.api(Method::PUT, &store).json(&json!({ "unused_codes_per_store": 6, "unused_codes_per_range": 3 })).send().await.ok(200);
    let numbers: Vec<_> = (0..5).map(|range| format!("+1201{}0123", 200 + range)).collect();
    for number in &numbers {
        ask_to_register(&world, number).await.ok(200);
        let url = sent(&provider, "StatusCallback").await.unwrap();
        report(&world, &url, number, "undelivered", Some(30_008)).await.ok(200);
        report(&world, &url, number, "undelivered", Some(30_008)).await.ok(200);
    }
    world.pass(TimeDelta::minutes(3));
    // Eight unused codes in the country, of which five never arrived.
    for number in 0..3 {
        ask_to_register(&world, &format!("+1201777012{number}")).await.ok(200);
        let url = sent(&provider, "StatusCallback").await.unwrap();
        if number < 2 {
            report(&world, &url, &format!("+1201777012{number}"), "failed", None).await.ok(200);
        }
    }
    let strangers = "select sum(strangers)::bigint from text_minutes";
    ask_to_register(&world, "+12018880123").await.ok(200);
    assert_eq!(world.count(strangers).await, 2, "the two that nobody has reported as lost");
    world.pass(TimeDelta::minutes(3));
    ask_to_register(&world, "+12017770199").await.refused(423, "texts_paused");
    let pauses = world.api(Method::GET, "/storefront/int/v1/texts/pauses").send().await.ok(200);
    assert_eq!(pauses["pauses"][0]["scope"], "range");
    let conversion = world.api(Method::GET, "/storefront/int/v1/texts/conversion").send().await.ok(200);
    let range = conversion["ranges"].as_array().unwrap().iter().find(|range| range["number_range"] == "+1201777").unwrap().clone();
    assert_eq!((&range["texted"], &range["undelivered"]), (&json!(3), &json!(2)));
}

#[tokio::test]
async fn a_network_that_reports_every_text_as_lost_is_believed_fifty_times_a_day() {
    let (world, provider) = reporting(&[]).await;
    let store = format!("/storefront/int/v1/stores/{}", world.store);
    world.api(Method::PUT, &store).json(&json!({ "unused_codes_per_store": 6 })).send().await.ok(200);
    let lost = "insert into texts (id, store_id, company_id, status, created_at, left_out)
                select gen_random_uuid(), $1, $2, 'sent', $3, true from generate_series(1, 50)";
    let lost = sqlx::query(lost).bind(world.store.uuid()).bind(world.company.uuid()).bind(world.clock.now());
    lost.execute(&world.pool).await.unwrap();
    for range in 0..6 {
        let number = format!("+1201{}0123", 200 + range);
        ask_to_register(&world, &number).await.ok(200);
        let url = sent(&provider, "StatusCallback").await.unwrap();
        report(&world, &url, &number, "undelivered", Some(30_008)).await.ok(200);
    }
    world.pass(TimeDelta::minutes(3));
    ask_to_register(&world, "+12018880123").await.refused(423, "texts_paused");
}
