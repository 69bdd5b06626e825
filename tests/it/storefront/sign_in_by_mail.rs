//! Signing in with a mailed code, for customers with neither a number nor a password (interface 1, What the service does, 4).

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::support::customers::{EMAIL, PASSWORD, PHONE, token, wrong};
use crate::support::{Answer, World};

async fn ask(world: &World, body: Value) -> Answer {
    world.storefront("customers/login-with-sms").json(&body).send().await
}

#[tokio::test]
async fn a_customer_registered_by_mail_only_signs_in_with_a_mailed_code() {
    let world = World::new().await;
    let registered = world.register(EMAIL).await;
    for spelling in [EMAIL, " ADA@Example.com "] {
        let sent = ask(&world, json!({ "identity": spelling })).await.ok(200);
        assert_eq!(sent, json!({ "status": "ok", "method": "email" }));
        let (message, code) = (world.messages().remove(0), world.last_code());
        assert!(message.to == EMAIL && message.subject.unwrap().contains("sign-in"), "{}", message.text);
        world.verify(EMAIL, wrong(&code)).await.refused(422, "code_invalid");
        let login = world.verify(spelling, code.clone()).await.ok(200);
        assert_eq!(login["customer"]["id"], registered["customer"]["id"]);
        world.storefront_get("customers/me").token(&token(&login)).send().await.ok(200);
        world.verify(EMAIL, code).await.refused(422, "code_invalid");
        world.pass(TimeDelta::minutes(1));
    }
    // A creation code would invite the recipient to open an account; none was sent to this address.
    assert_eq!(world.messages().len(), 3);
}

#[tokio::test]
async fn an_address_that_an_account_merely_lists_gets_no_code() {
    let world = World::new().await;
    // Eve lists Ada's address. A code mailed there would let Ada into an account that Eve can read.
    world.register_with(PHONE, json!({ "email": EMAIL, "password": PASSWORD })).await;
    let sent = world.messages().len();
    for address in [EMAIL, "nobody@example.com"] {
        ask(&world, json!({ "identity": address })).await.refused(422, "customer_not_found");
    }
    for address in ["ada@", "@", "ada@localhost", "a\u{200b}da@example.com"] {
        let refusal = ask(&world, json!({ "identity": address })).await.refused(422, "body_invalid");
        assert!(refusal["fields"]["identity"].is_array(), "{refusal}");
    }
    assert_eq!(world.messages().len(), sent);
}

#[tokio::test]
async fn a_number_is_texted_under_either_name_and_an_address_is_no_number() {
    let world = World::new().await;
    world.register(PHONE).await;
    for body in [json!({ "phone": PHONE }), json!({ "identity": PHONE }), json!({ "phone": PHONE, "identity": "nobody@example.com" })] {
        world.pass(TimeDelta::minutes(2));
        assert_eq!(ask(&world, body).await.ok(200)["method"], "sms");
        assert_eq!(world.messages()[0].to, PHONE);
    }
    ask(&world, json!({ "phone": EMAIL })).await.refused(422, "number_invalid");
    for nothing in [json!({}), json!({ "phone": null }), json!({ "phone": null, "identity": null })] {
        let refusal = ask(&world, nothing).await.refused(422, "body_invalid");
        assert!(refusal["fields"]["phone"].is_array(), "{refusal}");
    }
}

#[tokio::test]
async fn a_code_that_was_mailed_is_limited_like_any_other() {
    let world = World::new().await;
    world.register(EMAIL).await;
    let mails = || world.messages().len();
    ask(&world, json!({ "identity": EMAIL })).await.ok(200);
    world.pass(TimeDelta::seconds(59));
    ask(&world, json!({ "identity": EMAIL })).await.ok(200);
    assert_eq!(mails(), 2, "one message per minute");
    let code = world.last_code();
    for _ in 0..9 {
        world.verify(EMAIL, wrong(&code)).await;
    }
    world.verify(EMAIL, wrong(&code)).await.refused(429, "identity_locked_out");
    // The customers of another store are separate.
    let (_, other) = world.another_store().await;
    let body = json!({ "identity": EMAIL });
    world.storefront("customers/login-with-sms").key(&other).json(&body).send().await.refused(422, "customer_not_found");
    // A closed account does not count.
    sqlx::query("update customers set closed_at = now()").execute(&world.pool).await.unwrap();
    world.pass(TimeDelta::minutes(1));
    ask(&world, body).await.refused(422, "customer_not_found");
}
