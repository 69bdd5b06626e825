//! The providers that send messages: their responses, and the effect on the customer.

use std::time::Duration;

use chrono::TimeDelta;
use serde_json::json;
use wiremock::ResponseTemplate;

use crate::support::World;
use crate::support::customers::{EMAIL, PHONE, ask_to_register, token};
use crate::support::sms::twilio;
use crate::support::smtp::{SmtpSink, code_in};

async fn world_with(settings: &[(&'static str, String)]) -> World {
    let settings: Vec<_> = settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
    World::with(&settings).await
}

#[tokio::test]
async fn a_text_goes_to_the_provider() {
    let (provider, settings) = twilio::provider(twilio::accepted()).await;
    let world = world_with(&settings).await;
    ask_to_register(&world, PHONE).await.ok(200);
    let requests = provider.received_requests().await.unwrap();
    let form: Vec<(String, String)> = url::form_urlencoded::parse(&requests[0].body).into_owned().collect();
    assert_eq!(form[0], ("To".to_owned(), PHONE.to_owned()));
    assert_eq!(form[1], ("From".to_owned(), "+15005550006".to_owned()));
    assert!(form[2].1.contains(&world.last_code()));
}

#[tokio::test]
async fn a_number_the_provider_cannot_reach_is_422_and_not_counted() {
    for code in [21211, 21610, 21614] {
        let (_provider, settings) = twilio::provider(twilio::refused(400, code)).await;
        let world = world_with(&settings).await;
        ask_to_register(&world, PHONE).await.refused(422, "number_unreachable");
        // A retry is possible at once: neither the minute nor the cooldown applies.
        ask_to_register(&world, PHONE).await.refused(422, "number_unreachable");
        assert_eq!(world.count("select count(*) from verification_codes").await, 0);
        assert_eq!(world.count("select count(*) from texts where status = 'given_back'").await, 2);
    }
}

#[tokio::test]
async fn a_provider_that_fails_is_502_and_gives_the_text_back() {
    let garbage = ResponseTemplate::new(500).set_body_string("<html>oops</html>");
    for answer in [twilio::refused(401, 20003), twilio::refused(429, 20429), garbage] {
        let (_provider, settings) = twilio::provider(answer).await;
        let world = world_with(&settings).await;
        let refusal = ask_to_register(&world, PHONE).await.refused(502, "message_not_sent");
        assert!(!refusal.to_string().contains("oops"), "the provider's text does not leak");
        assert_eq!(world.count("select count(*) from texts where status = 'sent'").await, 0);
    }
}

#[tokio::test]
async fn a_customer_with_a_proven_address_gets_a_mail_when_the_text_fails() {
    let outage = ResponseTemplate::new(503);
    for answer in [twilio::refused(400, 21610), twilio::refused(401, 20003), twilio::refused(429, 20429), outage] {
        let (_provider, settings) = twilio::provider(answer).await;
        let world = world_with(&settings).await;
        let ada = token(&world.register(EMAIL).await);
        sqlx::query("update customers set phone = $1, phone_verified_at = now()").bind(PHONE).execute(&world.pool).await.unwrap();
        let sent = world.storefront("customers/login-with-sms").json(&json!({ "phone": PHONE })).send().await.ok(200);
        assert_eq!(sent["method"], "email");
        world.verify(PHONE, world.last_code()).await.ok(200);
        let sent = world.storefront("customers/account-closure").token(&ada).send().await.ok(200);
        assert_eq!((&sent["method"], world.messages()[0].to.as_str()), (&json!("email"), EMAIL));
    }
}

#[tokio::test]
async fn a_store_without_an_sms_provider_mails_its_codes() {
    let sink = SmtpSink::start(false).await;
    let world = World::with(&[("environment", "production"), ("mail.smtp_url", &sink.url())]).await;
    ask_to_register(&world, EMAIL).await.ok(200);
    let ada = token(&world.open_account(EMAIL, &code_in(&sink.mails()[0])).await.ok(201));
    sqlx::query("update customers set phone = $1, phone_verified_at = now()").bind(PHONE).execute(&world.pool).await.unwrap();
    let sent = world.storefront("customers/login-with-sms").json(&json!({ "phone": PHONE })).send().await.ok(200);
    assert_eq!(sent["method"], "email");
    world.verify(PHONE, code_in(&sink.mails()[1])).await.ok(200);
    let sent = world.storefront("customers/account-closure").token(&ada).send().await.ok(200);
    assert_eq!(sent["method"], "email");
    let code = json!({ "code": code_in(&sink.mails()[2]) });
    world.storefront("customers/confirm-account-closure").token(&ada).json(&code).send().await.ok(200);
}

#[tokio::test]
async fn a_provider_that_does_not_respond_may_have_sent_the_text() {
    // This test waits in real time, because the timeout is that of the HTTP client.
    let silent = twilio::accepted().set_delay(Duration::from_secs(60));
    let (_provider, mut settings) = twilio::provider(silent).await;
    settings.push(("sms.twilio.timeout", "3s".to_owned()));
    let world = world_with(&settings).await;
    ask_to_register(&world, PHONE).await.ok(200);
    assert_eq!(world.count("select count(*) from texts where status = 'sent'").await, 1);
}

#[tokio::test]
async fn a_mail_goes_to_the_server() {
    let sink = SmtpSink::start(false).await;
    let world = World::with(&[("mail.smtp_url", &sink.url()), ("mail.from", "Acme <shop@example.com>")]).await;
    ask_to_register(&world, EMAIL).await.ok(200);
    let mails = sink.mails();
    assert_eq!(mails.len(), 1);
    assert!(mails[0].contains("From: Acme <shop@example.com>") && mails[0].contains(&format!("To: {EMAIL}")), "{}", mails[0]);
    assert!(mails[0].contains(&world.last_code()));
    assert!(mails[0].contains("Auto-Submitted: auto-generated\n"), "{}", mails[0]);
    let parts = ["multipart/alternative", "text/plain; charset=utf-8", "text/html; charset=utf-8"];
    assert!(parts.iter().all(|part| mails[0].contains(&format!("Content-Type: {part}"))), "{}", mails[0]);
    world.pass(TimeDelta::minutes(1));
    ask_to_register(&world, EMAIL).await.ok(200);
    let ids: Vec<_> =
        sink.mails().iter().filter_map(|mail| mail.lines().find(|line| line.starts_with("Message-ID: ")).map(str::to_owned)).collect();
    assert!(ids.len() == 2 && ids[0] != ids[1] && ids.iter().all(|id| id.ends_with("@example.com>")), "{ids:?}");
}

#[tokio::test]
async fn an_address_that_the_mail_server_refuses_for_good_is_unreachable() {
    let sink = SmtpSink::start(true).await;
    let world = World::with(&[("mail.smtp_url", &sink.url())]).await;
    ask_to_register(&world, EMAIL).await.refused(422, "email_unreachable");
    assert_eq!(world.count("select count(*) from verification_codes").await, 0);
    sink.refuse(false);
    ask_to_register(&world, EMAIL).await.ok(200);
}

#[tokio::test]
async fn a_failing_mail_server_is_502_and_the_next_request_is_not_delayed() {
    let sink = SmtpSink::start(false).await;
    let world = World::with(&[("mail.smtp_url", &sink.url())]).await;
    // Only the refusal of the recipient speaks about the mailbox, and only one for good.
    for (command, answer, usual) in [("RCPT", "451 later", "250 ok"), ("MAIL", "550 no such sender", "250 ok"), ("DATA", "554 no spam", "")]
    {
        sink.answer(command, answer);
        ask_to_register(&world, EMAIL).await.refused(502, "message_not_sent");
        sink.answer(command, usual);
    }
    assert_eq!(world.count("select count(*) from verification_codes").await, 0);
    let away = World::with(&[("mail.smtp_url", "smtp://127.0.0.1:1")]).await;
    ask_to_register(&away, EMAIL).await.refused(502, "message_not_sent");
}

#[tokio::test]
async fn a_mail_server_that_does_not_respond_may_have_accepted_the_mail() {
    // This test waits in real time too.
    let sink = SmtpSink::start(false).await;
    sink.fall_silent();
    let limits = [("mail.timeout", "3s"), ("storefront.daily_mails_per_mailbox", "1")];
    let world = World::with(&[&limits[..], &[("mail.smtp_url", &sink.url())]].concat()).await;
    ask_to_register(&world, EMAIL).await.ok(200);
    assert_eq!(sink.mails().len(), 1);
    world.pass(TimeDelta::minutes(1));
    ask_to_register(&world, EMAIL).await.refused(429, "email_cooldown");
    world.open_account(EMAIL, &world.last_code()).await.ok(201);
}

#[tokio::test]
async fn production_without_providers_sends_nothing() {
    let world = World::with(&[("environment", "production")]).await;
    ask_to_register(&world, PHONE).await.refused(422, "texts_unavailable");
    ask_to_register(&world, EMAIL).await.refused(502, "message_not_sent");
}
