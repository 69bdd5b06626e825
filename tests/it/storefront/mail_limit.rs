//! The limit of mails to one mailbox: for all senders, spellings of the address and instances.

use chrono::TimeDelta;
use futures::future::join_all;
use serde_json::json;

use crate::support::customers::{EMAIL, PHONE, ask_to_register, ask_to_sign_in, token};
use crate::support::smtp::SmtpSink;
use crate::support::{Answer, World};

const DAY: TimeDelta = TimeDelta::days(1);

async fn with_limit(mails: &str) -> World {
    World::with(&[("storefront.daily_mails_per_mailbox", mails)]).await
}

async fn ask_to_verify(world: &World, token: &str, address: &str) -> Answer {
    world.storefront("customers/request-email-verification").token(token).json(&json!({ "email": address })).send().await
}

#[tokio::test]
async fn a_mailbox_gets_twenty_mails_in_any_day() {
    let world = World::new().await;
    for _ in 0..20 {
        ask_to_register(&world, EMAIL).await.ok(200);
        world.pass(TimeDelta::minutes(1));
    }
    let refusal = ask_to_register(&world, EMAIL).await.refused(429, "email_cooldown");
    assert_eq!(refusal["retry_after"], (DAY - TimeDelta::minutes(20)).num_seconds());
    assert_eq!(world.messages().len(), 20);
    ask_to_register(&world, "grace@example.com").await.ok(200);
    // The window slides: capacity returns as the oldest mail leaves it.
    world.pass(DAY - TimeDelta::minutes(20));
    ask_to_register(&world, EMAIL).await.ok(200);
    ask_to_register(&world, "ada+2@example.com").await.refused(429, "email_cooldown");
}

#[tokio::test]
async fn every_mail_counts_regardless_of_client_and_purpose() {
    let world = with_limit("3").await;
    let ada = token(&world.register(PHONE).await);
    let bob = token(&world.register("bob@example.com").await);
    ask_to_register(&world, EMAIL).await.ok(200);
    ask_to_verify(&world, &ada, EMAIL).await.ok(200);
    let code = world.last_code();
    // A second request within the minute sends no second mail, so it needs no capacity.
    ask_to_verify(&world, &ada, EMAIL).await.ok(200);
    ask_to_verify(&world, &bob, EMAIL).await.ok(200);
    world.pass(TimeDelta::minutes(1));
    ask_to_verify(&world, &bob, EMAIL).await.refused(429, "email_cooldown");
    ask_to_register(&world, EMAIL).await.refused(429, "email_cooldown");
    // Codes that were sent before stay valid.
    world.storefront("customers/verify-email").token(&ada).json(&json!({ "code": code })).send().await.ok(200);
}

#[tokio::test]
async fn requests_of_others_do_not_lock_customers_out_of_their_accounts() {
    let world = with_limit("1").await;
    let ada = token(&world.register(EMAIL).await);
    world.pass(TimeDelta::minutes(1));
    ask_to_register(&world, "ada+1@example.com").await.refused(429, "email_cooldown");
    for _ in 0..25 {
        assert_eq!(ask_to_sign_in(&world, EMAIL).await.ok(200)["method"], "email");
        world.pass(TimeDelta::minutes(1));
    }
    world.verify(EMAIL, world.last_code()).await.ok(200);
    assert_eq!(world.storefront("customers/account-closure").token(&ada).send().await.ok(200)["method"], "email");
}

#[tokio::test]
async fn what_strangers_ask_for_keeps_no_customer_from_a_code_on_a_device_of_theirs() {
    let world = World::with(&[("storefront.daily_mails_per_customer", "3")]).await;
    let ada = token(&world.register(EMAIL).await);
    let body = json!({ "identity": EMAIL, "mode": "email" });
    let by_stranger = async || world.storefront("customers/login-with-sms").json(&body).send().await;
    for _ in 0..2 {
        world.pass(TimeDelta::minutes(1));
        by_stranger().await.ok(200);
    }
    world.pass(TimeDelta::minutes(1));
    by_stranger().await.refused(429, "email_cooldown");
    // On the device that she has registered with, and in a session on any.
    let code = world.sign_in_code(EMAIL).await;
    world.verify(EMAIL, code).await.ok(200);
    let step_up = async || world.storefront("customers/request-step-up").token(&ada).send().await;
    for _ in 0..2 {
        world.pass(TimeDelta::minutes(1));
        step_up().await.ok(200);
    }
    world.pass(TimeDelta::minutes(1));
    step_up().await.refused(429, "email_cooldown");
}

#[tokio::test]
async fn every_spelling_of_an_address_leads_to_one_mailbox() {
    let world = with_limit("1").await;
    ask_to_register(&world, "ada@bücher.example").await.ok(200);
    world.pass(TimeDelta::minutes(1));
    for spelling in
        ["ada@bücher.example", "ADA@BÜCHER.example", " ada@xn--bcher-kva。example ", "ada+shop@bücher.example", "Ada+@bücher.example"]
    {
        ask_to_register(&world, spelling).await.refused(429, "email_cooldown");
    }
    ask_to_register(&world, "ada.lovelace@bücher.example").await.ok(200);
}

#[tokio::test]
async fn requests_at_once_at_two_instances_do_not_pass_the_limit_together() {
    let here = with_limit("5").await;
    let there = here.another_instance();
    let requests = (0..16).map(|n| {
        let body = json!({ "identity": format!("ada+{n}@example.com") });
        [&here, &there][n % 2].storefront("customers/request-creation-code").json(&body).send()
    });
    let (sent, refused): (Vec<_>, Vec<_>) = join_all(requests).await.into_iter().partition(|answer| answer.status == 200);
    assert_eq!((sent.len(), here.messages().len() + there.messages().len()), (5, 5));
    for refusal in refused {
        assert_eq!(refusal.refused(429, "email_cooldown")["retry_after"], DAY.num_seconds());
    }
}

#[tokio::test]
async fn the_limit_does_not_reveal_whether_an_account_exists() {
    let world = with_limit("1").await;
    world.register(EMAIL).await;
    let bob = token(&world.register(PHONE).await);
    ask_to_register(&world, "nobody@example.com").await.ok(200);
    world.pass(TimeDelta::minutes(1));
    ask_to_register(&world, "nobody@example.com").await.refused(429, "email_cooldown");
    // When it is known whether an account exists, that error takes precedence, as it does below the limit.
    ask_to_register(&world, EMAIL).await.refused(422, "account_exists");
    ask_to_verify(&world, &bob, EMAIL).await.refused(422, "email_taken");
    ask_to_sign_in(&world, "nobody@example.com").await.refused(422, "customer_not_found");
}

#[tokio::test]
async fn a_mail_the_server_does_not_take_counts_not() {
    let sink = SmtpSink::start(false).await;
    let world = World::with(&[("storefront.daily_mails_per_mailbox", "1"), ("mail.smtp_url", &sink.url())]).await;
    for (answer, status, code) in [("451 later", 502, "message_not_sent"), ("550 no such mailbox", 422, "email_unreachable")] {
        sink.answer("RCPT", answer);
        for _ in 0..2 {
            ask_to_register(&world, EMAIL).await.refused(status, code);
        }
    }
}

#[tokio::test]
async fn each_store_has_its_own_limit_and_stores_no_address() {
    let world = with_limit("1").await;
    let (_, another) = world.another_store().await;
    ask_to_register(&world, EMAIL).await.ok(200);
    let ask = || world.storefront("customers/request-creation-code").key(&another).json(&json!({ "identity": EMAIL })).send();
    ask().await.ok(200);
    world.pass(TimeDelta::minutes(1));
    ask().await.refused(429, "email_cooldown");
    assert_eq!(world.count("select count(*) from rate_limits where bucket like 'mails:%'").await, 2);
    assert_eq!(world.count("select count(*) from rate_limits where bucket like '%ada%'").await, 0);
}

#[tokio::test]
async fn all_mails_to_one_person_that_strangers_ask_for_are_counted_whatever_they_are_for() {
    let world = World::with(&[("storefront.daily_mails_per_customer", "4")]).await;
    world.register(EMAIL).await;
    for _ in 0..3 {
        world.pass(TimeDelta::minutes(1));
        ask_to_sign_in(&world, EMAIL).await.ok(200);
    }
    world.pass(TimeDelta::minutes(1));
    let refusal = ask_to_sign_in(&world, EMAIL).await.refused(429, "email_cooldown");
    assert_eq!(refusal["retry_after"], (DAY - TimeDelta::minutes(4)).num_seconds());
    ask_to_sign_in(&world, "ADA@example.com").await.refused(429, "email_cooldown");
    world.pass(DAY - TimeDelta::minutes(4));
    ask_to_sign_in(&world, EMAIL).await.ok(200);
}
