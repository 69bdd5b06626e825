//! Apps send what nobody has filled in as an empty text: it is the same as a missing member (decisions, section 1, Requests).

use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::card_provider::CardProvider;
use crate::support::customers::{EMAIL, PASSWORD, home, login, token};

#[tokio::test]
async fn a_form_with_empty_fields_registers_a_customer() {
    let world = World::new().await;
    let asking = json!({ "identity": EMAIL, "mode": "" });
    world.storefront("customers/request-creation-code").from(&home(EMAIL)).json(&asking).send().await.ok(200);
    let form =
        json!({ "name": "Ada", "identity": "", "email": EMAIL, "phone": "", "password": "", "code": world.last_code(), "request": "" });
    let registered = world.storefront("customers").from(&home(EMAIL)).json(&form).send().await.ok(201);
    assert_eq!((&registered["customer"]["email"], &registered["customer"]["phone"]), (&json!(EMAIL), &json!(null)));
    login(&world, EMAIL, "").await.refused(401, "credentials_invalid");
    // What is required is not there.
    let form = json!({ "name": "", "email": EMAIL, "code": "" });
    let refused = world.storefront("customers").json(&form).send().await.refused(422, "body_invalid");
    assert!(refused["fields"]["name"].is_array(), "{refused}");
}

#[tokio::test]
async fn a_signed_in_customer_may_leave_fields_empty() {
    let provider = CardProvider::start().await;
    let world = provider.world(&[]).await;
    let ada = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    let post = async |path: &str, body| world.storefront(path).token(&ada).json(&body).send().await;
    post("customers/register-device", json!({ "platform": "ios", "os": "", "token": "apns" })).await.ok(200);
    post("customers/register-device", json!({ "platform": "", "os": "ios", "token": "apns" })).await.ok(200);
    post("customers/unregister-device", json!({ "device": "", "token": "apns" })).await.ok(200);
    post("customers/unregister-device", json!({ "device": "", "token": "" })).await.refused(422, "body_invalid");
    post("customers/card-ephemeral-key", json!({ "apiVersion": "" })).await.ok(200);
    post("customers/request-step-up", json!({ "method": "" })).await.ok(200);
    let proof = json!({ "password": PASSWORD, "code": "", "passkey": "", "totp": "", "recovery_code": "" });
    post("customers/confirm-step-up", proof).await.ok(200);
    post("customers/change-password", json!({ "password": "battery staple correct", "old_password": "" })).await.ok(200);
}

#[tokio::test]
async fn a_line_of_another_service_may_have_empty_fields() {
    let world = World::new().await;
    let line = json!({ "external_id": "17", "name": "", "email": EMAIL, "phone": "", "password_hash": "", "created_at": "", "meta": "" });
    let path = format!("/storefront/int/v1/customers/import?store={}", world.store);
    let importing = world.api(Method::POST, &path).header("content-type", "application/x-ndjson").body(line.to_string());
    assert_eq!(importing.send().await.ok(200)["import"]["created"], 1);
}

#[tokio::test]
async fn the_bodies_of_servers_are_read_to_the_letter() {
    let world = World::new().await;
    // An owner that came out empty must not become a webhook that everybody's events go to.
    let webhook = json!({ "url": "https://shop.example/", "owner": "" });
    world.api(Method::POST, "/developers/int/v1/webhooks").json(&webhook).send().await.refused(422, "body_invalid");
    let account = json!({ "store": world.store, "name": "Ada", "phone": "", "email": EMAIL });
    world.api(Method::POST, "/storefront/int/v1/customers").json(&account).send().await.refused(422, "body_invalid");
}
