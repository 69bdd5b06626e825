//! A genuine callback that could not be processed is kept and retried on a schedule, when the gateway sends it again, and by hand.

use std::process::Stdio;

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::gateways::{SIGNING_SECRET, paid, sha256_hex};
use crate::support::program::portico;
use crate::support::waiting::until;
use crate::support::{Answer, World};

/// A gateway whose settings point to the wrong place for the amount.
async fn misguided(world: &World) -> Value {
    world.hmac_gateway(&settings("/data/sum")).await
}

fn settings(amount: &str) -> Value {
    json!({ "signature": { "header": "X-Signature" }, "events": { "paid": "payment.succeeded" }, "pointers": { "amount": amount } })
}

async fn post(world: &World, gateway: &Value) -> Answer {
    let body = json!({ "id": "evt_1", "type": "paid", "data": { "id": "t_1", "amount": 500, "currency": "EUR" } });
    let signature = sha256_hex(SIGNING_SECRET, &body.to_string());
    world.request(Method::POST, gateway["callback_path"].as_str().unwrap()).header("x-signature", &signature).json(&body).send().await
}

async fn mend(world: &World, gateway: &Value) {
    set(world, gateway, &settings("/data/amount")).await;
}

async fn set(world: &World, gateway: &Value, settings: &Value) {
    let path = format!("gateways/{}", gateway["id"].as_str().unwrap());
    world.ledger(Method::PUT, &path).json(&json!({ "settings": settings })).send().await.ok(200);
}

#[tokio::test]
async fn it_is_processed_by_itself_when_its_time_comes() {
    let world = World::new().await;
    let gateway = misguided(&world).await;
    post(&world, &gateway).await.refused(400, "callback_not_understood");
    let callback = world.last_callback().await;
    assert_eq!((&callback["status"], &callback["reason"]), (&json!("failed"), &json!("callback_not_understood")));
    assert_eq!((&callback["event_id"], &callback["attempts"]), (&json!("evt_1"), &json!(1)));
    assert_eq!(callback["next_attempt_at"], "2026-05-21T10:16:00.000+00:00");

    assert_eq!(world.state.gateways.run_due().await.unwrap(), 0, "the retry is not due yet");
    world.pass(TimeDelta::minutes(1));
    assert_eq!(world.state.gateways.run_due().await.unwrap(), 1);
    let callback = world.last_callback().await;
    assert_eq!((&callback["attempts"], &callback["next_attempt_at"]), (&json!(2), &json!("2026-05-21T10:21:00.000+00:00")));

    mend(&world, &gateway).await;
    world.pass(TimeDelta::minutes(5));
    assert_eq!(world.state.gateways.run_due().await.unwrap(), 1);
    let callback = world.last_callback().await;
    assert_eq!((&callback["status"], &callback["next_attempt_at"], &callback["reason"]), (&json!("processed"), &json!(null), &json!(null)));
    assert_eq!(world.payment().await["amount"], 500);
    assert_eq!(world.payment_event_names().await, ["payment.succeeded"]);
    assert_eq!(world.state.gateways.run_due().await.unwrap(), 0);
}

#[tokio::test]
async fn it_is_processed_although_others_cannot_be_deleted() {
    let world = World::new().await;
    let gateway = misguided(&world).await;
    post(&world, &gateway).await.refused(400, "callback_not_understood");
    mend(&world, &gateway).await;
    world.pass(TimeDelta::minutes(1));
    world.refuse_deletes("callbacks").await;
    let unfinished = world.state.gateways.run_due().await.unwrap_err().to_string();
    assert!(unfinished.starts_with("refused callbacks: ") && !unfinished.contains("; "), "{unfinished}");
    assert_eq!(world.last_callback().await["status"], "processed");
}

#[tokio::test]
async fn the_program_sees_to_it_as_long_as_it_runs() {
    let world = World::new().await;
    let gateway = misguided(&world).await;
    post(&world, &gateway).await.refused(400, "callback_not_understood");
    mend(&world, &gateway).await;
    let settings = [("application_key", world.application_key_setting.as_str()), ("database.url", &world.database)];
    let mut program = portico(&["serve"], &settings).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // By the system clock, the retry is due.
    until("the callback is processed", async || world.last_callback().await["status"] == "processed").await;
    program.kill().await.unwrap();
    assert_eq!(world.payment_event_names().await, ["payment.succeeded"]);
}

#[tokio::test]
async fn repetitions_of_the_gateway_use_up_none_of_our_own_tries() {
    let world = World::new().await;
    let gateway = misguided(&world).await;
    for _ in 0..10 {
        post(&world, &gateway).await.refused(400, "callback_not_understood");
        world.pass(TimeDelta::minutes(3));
    }
    assert_eq!(world.last_callback().await["next_attempt_at"], "2026-05-21T10:51:00.000+00:00");
    mend(&world, &gateway).await;
    world.pass(TimeDelta::minutes(6));
    assert_eq!(world.state.gateways.run_due().await.unwrap(), 1);
    assert_eq!(world.last_callback().await["status"], "processed");
}

#[tokio::test]
async fn one_whose_gateway_cannot_be_used_says_so_and_is_not_tried_for_ever() {
    let world = World::new().await;
    let gateway = misguided(&world).await;
    post(&world, &gateway).await.refused(400, "callback_not_understood");
    sqlx::query("update gateways set signing_secret = 'broken'").execute(&world.pool).await.unwrap();
    world.pass(TimeDelta::minutes(1));
    assert_eq!(world.state.gateways.run_due().await.unwrap(), 1);
    let callback = world.last_callback().await;
    assert_eq!((&callback["reason"], &callback["attempts"]), (&json!("gateway_not_configured"), &json!(2)));
    assert_eq!(callback["next_attempt_at"], "2026-05-21T10:21:00.000+00:00");
    world.pass(TimeDelta::days(1));
    assert_eq!(world.state.gateways.run_due().await.unwrap(), 1);
    assert_eq!(world.last_callback().await["next_attempt_at"], json!(null));
}

#[tokio::test]
async fn it_is_processed_when_the_gateway_sends_it_again() {
    let world = World::new().await;
    let gateway = misguided(&world).await;
    for _ in 0..2 {
        post(&world, &gateway).await.refused(400, "callback_not_understood");
    }
    assert_eq!(world.last_callback().await["attempts"], 2);
    mend(&world, &gateway).await;
    assert_eq!(post(&world, &gateway).await.ok(200)["message"], "Webhook received.");
    assert_eq!(post(&world, &gateway).await.ok(200)["message"], "Already processed.");
    assert_eq!(world.count("select count(*) from callbacks").await, 1);
    assert_eq!(world.payment_event_names().await, ["payment.succeeded"]);
}

#[tokio::test]
async fn it_is_processed_by_hand() {
    let world = World::new().await;
    let gateway = misguided(&world).await;
    post(&world, &gateway).await.refused(400, "callback_not_understood");
    let path = format!("callbacks/{}/process", world.last_callback().await["id"].as_str().unwrap());
    let still = world.ledger(Method::POST, &path).send().await.ok(200);
    assert_eq!((&still["callback"]["status"], &still["callback"]["attempts"]), (&json!("failed"), &json!(2)));
    mend(&world, &gateway).await;
    for _ in 0..2 {
        let done = world.ledger(Method::POST, &path).send().await.ok(200);
        assert_eq!((&done["callback"]["status"], &done["callback"]["attempts"]), (&json!("processed"), &json!(3)));
    }
    assert_eq!(world.payment_event_names().await, ["payment.succeeded"]);
}

#[tokio::test]
async fn what_was_ignored_is_processed_by_hand_once_it_has_a_meaning() {
    let world = World::new().await;
    let mut settings = settings("/data/amount");
    settings["events"] = json!({ "failed": "payment.failed" });
    let gateway = world.hmac_gateway(&settings).await;
    assert_eq!(post(&world, &gateway).await.ok(200)["message"], "Ignored.");
    let path = format!("callbacks/{}/process", world.last_callback().await["id"].as_str().unwrap());
    let process = async || world.ledger(Method::POST, &path).send().await.ok(200)["callback"]["status"].take();
    assert_eq!(process().await, "ignored");
    assert_eq!(world.count("select count(*) from payments").await, 0);
    mend(&world, &gateway).await;
    assert_eq!(process().await, "processed");
    assert_eq!(world.payment().await["amount"], 500);
    assert_eq!(world.payment_event_names().await, ["payment.succeeded"]);
}

#[tokio::test]
async fn a_refund_that_comes_again_under_another_key_counts_once() {
    let world = World::new().await;
    let mut settings = settings("/data/sum");
    settings["events"] = json!({ "paid": "refund.processed" });
    let gateway = world.hmac_gateway(&settings).await;
    post(&world, &gateway).await.refused(400, "callback_not_understood");
    settings["pointers"] = json!({ "id": null });
    set(&world, &gateway, &settings).await;
    world.pass(TimeDelta::minutes(1));
    assert_eq!(post(&world, &gateway).await.ok(200)["message"], "Webhook received.");
    assert_eq!(world.state.gateways.run_due().await.unwrap(), 1);
    assert_eq!(world.count("select count(*) from callbacks where status = 'processed'").await, 2);
    assert_eq!(world.payment().await["refunded_amount"], 500);
    assert_eq!(world.payment_event_names().await, ["refund.processed"]);
}

#[tokio::test]
async fn a_fault_of_ours_loses_nothing() {
    let world = World::new().await;
    let gateway = world.card().await;
    sqlx::query("alter table payments add constraint broken check (amount < 0)").execute(&world.pool).await.unwrap();
    assert_eq!(world.call_back(&gateway, &paid("evt_1")).await.ok(200)["message"], "Webhook received.");
    let callback = world.last_callback().await;
    assert_eq!((&callback["status"], &callback["reason"]), (&json!("failed"), &json!("internal_error")));
    assert_eq!(world.payment_event_names().await, [""; 0]);
    world.pass(TimeDelta::minutes(1));
    assert_eq!(world.state.gateways.run_due().await.unwrap(), 1);
    assert_eq!(world.last_callback().await["attempts"], 2);

    sqlx::query("alter table payments drop constraint broken").execute(&world.pool).await.unwrap();
    world.pass(TimeDelta::minutes(5));
    assert_eq!(world.state.gateways.run_due().await.unwrap(), 1);
    assert_eq!(world.last_callback().await["status"], "processed");
    assert_eq!(world.payment_event_names().await, ["payment.succeeded"]);
}

/// Asserts that the only callback has this status, and that its payment, fact and event are there once, or none of them is.
async fn is_written_whole(world: &World, status: &str, times: i64) {
    assert_eq!(world.last_callback().await["status"], status);
    for count in ["select count(*) from payments", "select count(*) from payment_facts", "select count(*) from events"] {
        assert_eq!(world.count(count).await, times, "{count}");
    }
    assert_eq!(world.count("select count(*) from outbox").await, times);
}

#[tokio::test]
async fn a_callback_whose_event_cannot_be_published_has_no_payment_either() {
    let world = World::new().await;
    let gateway = world.card().await;
    world.refuse_events().await;
    assert_eq!(world.call_back(&gateway, &paid("evt_1")).await.ok(200)["message"], "Webhook received.");
    is_written_whole(&world, "failed", 0).await;
    // On a repetition, on the schedule and by hand, it is a transaction of another kind.
    assert_eq!(world.call_back(&gateway, &paid("evt_1")).await.ok(200)["message"], "Webhook received.");
    is_written_whole(&world, "failed", 0).await;
    world.pass(TimeDelta::minutes(1));
    assert_eq!(world.state.gateways.run_due().await.unwrap(), 1);
    is_written_whole(&world, "failed", 0).await;
    let path = format!("callbacks/{}/process", world.last_callback().await["id"].as_str().unwrap());
    world.ledger(Method::POST, &path).send().await.ok(200);
    is_written_whole(&world, "failed", 0).await;

    world.accept_events().await;
    world.pass(TimeDelta::minutes(5));
    assert_eq!(world.state.gateways.run_due().await.unwrap(), 1);
    is_written_whole(&world, "processed", 1).await;
}

#[tokio::test]
async fn bodies_that_no_driver_understands_are_answered_so() {
    let world = World::new().await;
    let gateway = world.card().await;
    for (number, body) in ["", "x", "[]", "{}", "{\"type\":\"charge.succeeded\"}", "{\"type\":5}", "{\"type\":"].into_iter().enumerate() {
        let signature = crate::support::gateways::card_signature(SIGNING_SECRET, body, world.clock.now());
        let request = world.request(Method::POST, gateway["callback_path"].as_str().unwrap()).header("card-signature", &signature);
        request.body(body).send().await.refused(400, "callback_not_understood");
        assert_eq!(
            world.count("select count(*) from callbacks where status = 'failed'").await,
            i64::try_from(number).unwrap() + 1,
            "{body}"
        );
    }
    assert_eq!(world.count("select count(*) from payments").await, 0);
}
