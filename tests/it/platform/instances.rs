//! Several instances of the service, and a restarted one: limits count across all of them (decisions, sections 4 and 5).

use chrono::TimeDelta;
use futures::future::join_all;
use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, PHONE, token, wrong};

#[tokio::test]
async fn a_code_asked_for_at_one_instance_is_right_at_another_and_works_once() {
    let here = World::new().await;
    here.register(PHONE).await;
    let there = here.another_instance();
    here.pass(TimeDelta::minutes(2));
    let code = here.sign_in_code(PHONE).await;
    let guesses = join_all((0..20).map(|n| [&here, &there][n % 2].verify(PHONE, code.clone()))).await;
    assert_eq!(guesses.iter().filter(|answer| answer.status == 200).count(), 1);
}

#[tokio::test]
async fn guesses_split_over_two_instances_and_a_restart_lock_the_code_and_the_identity() {
    let here = World::new().await;
    here.register(PHONE).await;
    let there = here.another_instance();
    here.pass(TimeDelta::minutes(2));
    let code = here.sign_in_code(PHONE).await;
    for (instance, left) in [(&here, 4), (&there, 3), (&here, 2), (&there, 1)] {
        let refusal = instance.verify(PHONE, wrong(&code)).await.refused(422, "code_invalid");
        assert_eq!(refusal["attempts_left"], left);
    }
    // A restart does not reset the count.
    there.lifecycle.stop().await;
    let restarted = there.another_instance();
    restarted.verify(PHONE, wrong(&code)).await.refused(422, "code_locked");
    here.verify(PHONE, code).await.refused(422, "code_locked");

    here.pass(TimeDelta::minutes(1));
    let code = here.sign_in_code(PHONE).await;
    let guesses = join_all((0..10).map(|n| [&here, &restarted][n % 2].verify(PHONE, wrong(&code)))).await;
    assert!(guesses.iter().any(|answer| answer.body["code"] == "identity_locked_out"));
    for instance in [&here, &restarted, &here.another_instance()] {
        instance.verify(PHONE, code.clone()).await.refused(429, "identity_locked_out");
    }
}

#[tokio::test]
async fn limits_hold_for_all_instances_together() {
    let here = World::new().await;
    here.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let there = here.another_instance();
    // Five requests per minute for one store key and address.
    let requests = (0..12).map(|n| {
        let body = json!({ "identity": format!("customer{n}@example.com") });
        [&here, &there][n % 2].storefront("customers/request-creation-code").json(&body).from("203.0.113.9").send()
    });
    let answers = join_all(requests).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 5);
    // Ten wrong passwords for one identity.
    let body = json!({ "identity": EMAIL, "password": "wrong password" });
    let answers = join_all((0..16).map(|n| [&here, &there][n % 2].storefront("customers/login").json(&body).send())).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 401).count(), 10);
    // One message per minute for one identity, and one text in thirty seconds for one number.
    let body = json!({ "mode": "sms", "identity": PHONE });
    let answers = join_all((0..8).map(|n| [&here, &there][n % 2].storefront("customers/request-creation-code").json(&body).send())).await;
    assert!(answers.into_iter().all(|answer| answer.status == 200));
    assert_eq!(here.count("select count(*) from texts where status = 'sent'").await, 1);
    here.pass(TimeDelta::seconds(20));
    let ada = token(&there.register("ada2@example.com").await);
    let body = json!({ "phone": PHONE });
    let refusal = there.storefront("customers/request-phone-verification").token(&ada).json(&body).send().await;
    assert_eq!(refusal.refused(429, "number_cooldown")["retry_after"], 10);
}

#[tokio::test]
async fn a_session_ended_at_one_instance_ends_at_the_others_within_a_second() {
    let here = World::new().await;
    let login = here.register(EMAIL).await;
    let there = here.another_instance();
    let me = async |world: &World| world.storefront_get("customers/me").token(&token(&login)).send().await.status;
    assert_eq!((me(&here).await, me(&there).await), (200, 200));
    here.storefront("customers/logout").token(&token(&login)).send().await.ok(200);
    assert_eq!(me(&here).await, 401, "at once where it was ended");
    here.pass(TimeDelta::seconds(1));
    assert_eq!(me(&there).await, 401);
}

#[tokio::test]
async fn parallel_requests_do_not_pass_the_guard_together() {
    let here = World::new().await;
    let there = here.another_instance();
    let ask = |world: &World, number: u32| {
        let body = json!({ "mode": "sms", "identity": format!("+1201555{number:04}") });
        world.storefront("customers/request-creation-code").json(&body).send()
    };
    // Forty numbers of one range, of which twenty are accepted in ten minutes. Nobody uses the codes, which is no matter here.
    sqlx::query("update stores set unused_codes_per_range = 1000, texts_reserved_percent = 0").execute(&here.pool).await.unwrap();
    let answers = join_all((100..140).map(|n| ask(if n % 2 == 0 { &here } else { &there }, n))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 20);
    assert_eq!(here.messages().len() + there.messages().len(), 20);
    for refusal in answers.into_iter().filter(|answer| answer.status != 200) {
        assert_eq!(refusal.refused(429, "range_cooldown")["retry_after"], 600);
    }
    here.pass(TimeDelta::minutes(10));
    // A remaining budget of three, and ten customers at once.
    sqlx::query("update stores set texts_per_day = 23").execute(&here.pool).await.unwrap();
    let answers = join_all((200..210).map(|n| ask(if n % 2 == 0 { &here } else { &there }, n))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 3);
    assert!(answers.iter().filter(|answer| answer.status != 200).all(|answer| answer.body["code"] == "text_budget_used"));
}

#[tokio::test]
async fn a_cached_session_changes_nothing_for_a_closed_account() {
    let here = World::new().await;
    let ada = token(&here.register(EMAIL).await);
    let there = here.another_instance();
    here.storefront("customers/account-closure").token(&ada).send().await.ok(200);
    let code = json!({ "code": here.last_code() });
    there.storefront_get("customers/me").token(&ada).send().await.ok(200);
    here.storefront("customers/confirm-account-closure").token(&ada).json(&code).send().await.ok(200);

    there.storefront_get("customers/me").token(&ada).send().await.ok(200);
    for (path, body) in [
        ("register-device", json!({ "platform": "ios", "token": "apns" })),
        ("request-phone-verification", json!({ "phone": PHONE })),
        ("request-email-verification", json!({ "email": "new@example.com" })),
        ("account-closure", json!({})),
    ] {
        let answer = there.storefront(&format!("customers/{path}")).token(&ada).json(&body).send().await;
        answer.refused(401, "customer_token_invalid");
    }
    assert_eq!(there.messages().len(), 0);
    let kept = "select (select count(*) from devices) + (select count(*) from verification_codes where used_at is null) + (select count(*) from texts)";
    assert_eq!(here.count(kept).await, 0);
}

#[tokio::test]
async fn no_device_survives_a_parallel_closure() {
    let here = World::new().await;
    let there = here.another_instance();
    for _ in 0..5 {
        let ada = token(&here.register(EMAIL).await);
        here.storefront("customers/account-closure").token(&ada).send().await.ok(200);
        let code = json!({ "code": here.last_code() });
        let closing = here.storefront("customers/confirm-account-closure").token(&ada).json(&code).send();
        let registering = join_all((0..8).map(|n| {
            let body = json!({ "platform": "ios", "token": format!("apns {n}") });
            [&here, &there][n % 2].storefront("customers/register-device").token(&ada).json(&body).send()
        }));
        let (closed, registered) = tokio::join!(closing, registering);
        closed.ok(200);
        assert!(registered.iter().all(|answer| [200, 401].contains(&answer.status)), "{registered:?}");
        assert_eq!(here.count("select count(*) from devices").await, 0);
        here.pass(TimeDelta::minutes(2));
    }
}

#[tokio::test]
async fn an_event_published_at_one_instance_wakes_the_worker_of_another() {
    let here = World::with(&[("webhooks.poll_interval", "1h")]).await;
    let (receiver, _) = here.subscriber("shop.test").await;
    let there = here.another_instance();
    there.state.webhooks.start_worker(&there.lifecycle);
    let event = json!({ "event": "order.created", "data": here.state.developers.catalogue.find("order.created").unwrap().sample });
    // The first one may be found when the worker starts.
    for count in 1..=4 {
        here.developers(Method::POST, "events", event.clone()).await.ok(201);
        receiver.waits_for(count).await;
    }
}
