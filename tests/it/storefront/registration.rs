//! Registration: interface 1, the two steps; decisions, section 3 (required fields, proof).

use chrono::TimeDelta;
use futures::future::join_all;
use portico::kernel::crypto::sha256;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, PHONE, token};
use crate::support::identity_provider::{IdentityProvider, claims_of_a, rsa};

/// The fields of a customer in every response: decisions, section 3.
const FIELDS: [&str; 12] =
    ["id", "uuid", "name", "email", "phone", "email_verified", "phone_verified", "title", "photo_url", "meta", "created_at", "updated_at"];

#[tokio::test]
async fn a_customer_registers_by_mail_and_is_signed_in() {
    let world = World::new().await;
    let login = world.register_with(EMAIL, json!({ "phone": "1 201 555-0123", "password": PASSWORD })).await;
    let customer = &login["customer"];
    assert!(customer["id"].as_str().unwrap().starts_with("customer_"));
    assert_eq!(customer["email"], EMAIL);
    assert_eq!(customer["phone"], PHONE, "the number is normalised");
    assert_eq!((&customer["email_verified"], &customer["phone_verified"]), (&json!(true), &json!(false)));
    assert_eq!((&customer["title"], &customer["photo_url"], &customer["meta"]), (&json!(null), &json!(null), &json!({})));
    assert_eq!(customer["created_at"], "2026-05-21T10:15:00.000+00:00");
    let fields: Vec<_> = customer.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, FIELDS);
    let token = token(&login);
    let (number, secret) = token.split_once('|').unwrap();
    assert!(number.bytes().all(|byte| byte.is_ascii_digit()) && secret.len() == 40, "{token}");
    assert!(secret.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{token}");
    let kept: Vec<u8> = sqlx::query_scalar("select digest from customer_tokens").fetch_one(&world.pool).await.unwrap();
    assert_eq!(kept, sha256(secret), "of the secret only its digest is kept");
    let me = world.storefront_get("customers/me").token(&token).send().await.ok(200);
    assert_eq!(&me, customer);
    assert_eq!(world.count("select count(*) from events where name = 'customer.created'").await, 1);
}

#[tokio::test]
async fn a_customer_registers_by_text_without_naming_the_identity_twice() {
    let world = World::new().await;
    let code = world.creation_code(PHONE).await;
    let body = json!({ "name": "Ada", "phone": "12015550123", "email": EMAIL, "code": code });
    let login = world.storefront("customers").json(&body).send().await.ok(201);
    assert_eq!(login["customer"]["phone_verified"], true, "the code went to the number");
    assert_eq!(login["customer"]["email_verified"], false, "the address was merely typed");
}

#[tokio::test]
async fn an_account_already_exists() {
    let world = World::new().await;
    world.register(EMAIL).await;
    for spelling in [EMAIL, "ADA@example.com", " ada@EXAMPLE.com "] {
        let body = json!({ "identity": spelling });
        world.storefront("customers/request-creation-code").json(&body).send().await.refused(422, "account_exists");
    }
    assert_eq!(world.messages().len(), 1);
}

#[tokio::test]
async fn one_identity_registered_many_times_at_once_is_one_account() {
    let world = World::new().await;
    let code = world.creation_code(EMAIL).await;
    let body = json!({ "name": "Ada", "identity": EMAIL, "code": code });
    let answers = join_all((0..20).map(|_| world.storefront("customers").json(&body).send())).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
    assert_eq!(world.count("select count(*) from customers").await, 1);
}

#[tokio::test]
async fn one_answer_names_everything_that_is_wrong() {
    let world = World::new().await;
    let body = json!({ "name": " ", "email": "nobody", "phone": "123", "password": "short" });
    let refusal = world.storefront("customers").json(&body).send().await.refused(422, "body_invalid");
    let fields: Vec<_> = refusal["fields"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["code", "email", "name", "password", "phone"]);
    assert_eq!(world.count("select count(*) from customers").await, 0);
}

#[tokio::test]
async fn bad_members_are_refused_by_name() {
    let world = World::new().await;
    let good = json!({ "name": "Ada", "identity": EMAIL, "code": "123456" });
    for (member, value) in [
        ("name", json!("x".repeat(256))),
        ("name", json!("Ada\r\nBcc: eve@example.com")),
        ("name", json!(5)),
        ("identity", json!("nobody")),
        ("email", json!("a@b\r\n.com")),
        ("phone", json!("++12015550123")),
        ("email", json!("another@example.com")),
        ("password", json!("password")),
        ("password", json!("x".repeat(257))),
    ] {
        let mut body = good.clone();
        body[member] = value;
        let refusal = world.storefront("customers").json(&body).send().await.refused(422, "body_invalid");
        assert!(refusal["fields"][member].is_array(), "{member}: {refusal}");
    }
    let nobody = json!({ "name": "Ada", "code": "123456" });
    let refusal = world.storefront("customers").json(&nobody).send().await.refused(422, "body_invalid");
    assert!(refusal["fields"]["identity"].is_array());
}

#[tokio::test]
async fn an_unproven_claim_never_keeps_the_owner_out() {
    let world = World::new().await;
    // Eve types Ada's number and address into an account of her own.
    let eve = world.register_with("eve@example.com", json!({ "phone": PHONE, "password": PASSWORD })).await;
    world.pass(TimeDelta::minutes(2));
    let ada = world.register(PHONE).await;
    assert_eq!(ada["customer"]["phone"], PHONE);
    // The unverified number was removed from Eve's account.
    let me = world.storefront_get("customers/me").token(&token(&eve)).send().await.ok(200);
    assert_eq!(me["phone"], json!(null));
}

#[tokio::test]
async fn an_unproven_claim_never_gets_the_owner_in() {
    let world = World::new().await;
    let eve = world.register_with("eve@example.com", json!({ "phone": PHONE })).await;
    world.pass(TimeDelta::minutes(2));
    // The code for a number that Eve merely typed does not go to the number, but to the address that Eve has proven.
    let sent = world.storefront("customers/login-with-sms").json(&json!({ "phone": PHONE })).send().await.ok(200);
    assert_eq!(sent["method"], "email");
    let message = &world.messages()[0];
    assert_eq!(message.to, "eve@example.com");
    let login = world.verify(PHONE, world.last_code()).await.ok(200);
    assert_eq!(login["customer"]["id"], eve["customer"]["id"]);
}

#[tokio::test]
async fn an_unproven_number_without_a_proven_address_gets_no_code() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "phone": PHONE })).await;
    sqlx::query("update customers set email_verified_at = null").execute(&world.pool).await.unwrap();
    world.pass(TimeDelta::minutes(2));
    let body = json!({ "phone": PHONE });
    world.storefront("customers/login-with-sms").json(&body).send().await.refused(422, "number_unproven");
    assert_eq!(world.messages().len(), 1);
}

#[tokio::test]
async fn the_same_person_may_be_a_customer_of_two_stores() {
    let world = World::new().await;
    let first = world.register(EMAIL).await;
    let (_, other) = world.another_store().await;
    let body = json!({ "identity": EMAIL });
    world.storefront("customers/request-creation-code").key(&other).json(&body).send().await.ok(200);
    let body = json!({ "name": "Ada", "identity": EMAIL, "code": world.last_code() });
    let second = world.storefront("customers").key(&other).json(&body).send().await.ok(201);
    assert_ne!(first["customer"]["id"], second["customer"]["id"]);
}

#[tokio::test]
async fn a_flat_login_response_has_the_customer_at_its_top_level_too() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[("storefront.flat_login", "true")]).await;
    let is_flat = async |login: Value| {
        let customer = login["customer"].as_object().unwrap();
        assert!(customer.iter().all(|(field, value)| login[field] == *value), "{login}");
        let review = usize::from(login["review"].is_object());
        assert_eq!(login.as_object().unwrap().len(), customer.len() + 2 + review, "nothing else but token, customer and review");
        world.storefront_get("customers/me").token(&token(&login)).send().await.ok(200);
    };
    let post = async |path: &str, body: Value| world.storefront(&format!("customers/{path}")).json(&body).send().await.ok(200);
    is_flat(world.register_with(PHONE, json!({ "password": PASSWORD })).await).await;
    is_flat(post("login", json!({ "identity": PHONE, "password": PASSWORD })).await).await;
    world.pass(TimeDelta::minutes(2));
    is_flat(world.verify(PHONE, world.sign_in_code(PHONE).await).await.ok(200)).await;
    world.pass(TimeDelta::minutes(2));
    let code = world.sign_in_code(PHONE).await;
    is_flat(post("reset-password", json!({ "identity": PHONE, "code": code, "password": "battery staple correct" })).await).await;
    is_flat(post("login-with-idp-a", json!({ "identityToken": rsa().sign(&claims_of_a(&world, "7")) })).await).await;

    let usual = World::new().await.register(PHONE).await;
    assert_eq!(usual.as_object().unwrap().keys().collect::<Vec<_>>(), ["token", "customer"]);
}
