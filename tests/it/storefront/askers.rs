//! What is told of a code, and to whom: strangers do not learn whether somebody has asked for one (decisions, section 4).

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::support::customers::{EMAIL, PASSWORD, PHONE, registered, wrong};
use crate::support::{Answer, World};

const STRANGER: &str = "203.0.113.66";
const ASKER: &str = "203.0.113.9";

/// The answer without what every answer has of its own.
fn told(answer: Answer) -> Value {
    let mut body = answer.body;
    body["request_id"] = Value::Null;
    body
}

#[tokio::test]
async fn strangers_get_the_same_answer_whether_a_code_was_asked_for_or_not() {
    for path in ["customers/verify-code", "customers/reset-password", "customers"] {
        let world = World::new().await;
        world.register(EMAIL).await;
        world.pass(TimeDelta::minutes(2));
        let asked_for = match path {
            "customers" => "new@example.com",
            _ => EMAIL,
        };
        let code = match path {
            "customers" => world.creation_code(asked_for).await,
            _ => world.sign_in_code(asked_for).await,
        };
        let guess = async |identity: &str, digits: &str| {
            let body = json!({ "identity": identity, "code": digits, "name": "Eve", "password": PASSWORD });
            world.storefront(path).from(STRANGER).json(&body).send().await
        };
        let unknown = told(guess("nobody@example.com", "123456").await);
        assert_eq!(unknown["code"], "code_invalid");
        // Wrong, and locked by the fifth.
        for _ in 0..6 {
            assert_eq!(told(guess(asked_for, &wrong(&code)).await), unknown, "{path}");
        }
        // Locked, and expired.
        assert_eq!(told(guess(asked_for, &code).await), unknown, "{path}");
        world.pass(TimeDelta::minutes(10));
        assert_eq!(told(guess(asked_for, &code).await), unknown, "{path}");
    }
}

#[tokio::test]
async fn the_client_that_asked_is_told_with_or_without_the_handle_and_others_with_it() {
    let world = registered().await;
    let ask = async |address: &str, agent: &str| {
        let request = world.storefront("customers/login-with-sms").from(address).header("user-agent", agent);
        json!(request.json(&json!({ "phone": PHONE })).send().await.header("code-request"))
    };
    let handle = ask(ASKER, "Shop/2.1").await;
    let code = world.last_code();
    let guess = async |address: &str, agent: &str, handle: &Value| {
        let body = json!({ "identity": PHONE, "code": wrong(&code), "request": handle });
        let request = world.storefront("customers/verify-code").from(address).header("user-agent", agent);
        request.json(&body).send().await.refused(422, "code_invalid")["attempts_left"].clone()
    };
    assert_eq!(guess(ASKER, "Shop/2.1", &Value::Null).await, 4);
    assert_eq!(guess(STRANGER, "another", &handle).await, 3);
    // Who asks again gets the same handle; a stranger who does gets one that is good for nothing.
    assert_eq!(ask(ASKER, "Shop/2.1").await, handle);
    let of_a_stranger = ask(STRANGER, "Shop/2.1").await;
    assert_ne!(of_a_stranger, handle);
    assert_eq!(guess(STRANGER, "Shop/2.1", &of_a_stranger).await, Value::Null);
    assert_eq!(guess(ASKER, "Shop/2.1", &of_a_stranger).await, 1);
}

#[tokio::test]
async fn another_program_another_network_and_a_forged_handle_are_told_nothing() {
    let world = registered().await;
    let ask = world.storefront("customers/login-with-sms").from(ASKER).header("user-agent", "Shop/2.1");
    let handle = ask.json(&json!({ "phone": PHONE })).send().await.header("code-request").unwrap().to_owned();
    let code = world.last_code();
    for (address, agent, handle) in [
        (ASKER, "curl", ""),
        ("203.0.113.10", "Shop/2.1", ""),
        (STRANGER, "Shop/2.1", &handle[2..]),
        (STRANGER, "Shop/2.1", "not hexadecimal"),
    ] {
        let body = json!({ "identity": PHONE, "code": wrong(&code), "request": handle });
        let request = world.storefront("customers/verify-code").from(address).header("user-agent", agent);
        let refusal = request.json(&body).send().await.refused(422, "code_invalid");
        assert_eq!(refusal["attempts_left"], Value::Null, "{address} {agent} {handle}");
    }
    // The handle is that of one identity and purpose.
    world.pass(TimeDelta::minutes(1));
    let other = world.creation_code("new@example.com").await;
    let body = json!({ "name": "Eve", "identity": "new@example.com", "code": wrong(&other), "request": handle });
    let refusal = world.storefront("customers").from(STRANGER).json(&body).send().await.refused(422, "code_invalid");
    assert_eq!(refusal["attempts_left"], Value::Null);
}

#[tokio::test]
async fn a_right_code_works_wherever_it_is_typed() {
    let world = registered().await;
    let code = world.sign_in_code(PHONE).await;
    world.guess(PHONE, code).await.ok(200);
}
