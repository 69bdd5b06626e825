//! Who takes an account back decides anew which passkeys open it.

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::{Value, json};

use super::{ada, id};
use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, reset_password, token};

fn states(passkeys: &Value) -> Vec<&str> {
    passkeys.as_array().unwrap().iter().map(|passkey| passkey["state"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_new_password_by_code_suspends_passkeys_until_the_customer_resumes_them() {
    let world = World::with_passkeys(&[]).await;
    let (_, passkey) = ada(&world).await;
    world.pass(TimeDelta::minutes(2));
    let code = world.sign_in_code(EMAIL).await;
    let reset = reset_password(&world, EMAIL, code, PASSWORD).await.ok(200);
    assert_eq!(states(&reset["review"]["passkeys"]), ["suspended"]);
    // What is right is told so; what is not learns nothing.
    world.prove(&passkey).await.refused(409, "passkey_suspended");
    let mut forged = passkey.answer(&world.challenge().await);
    forged["response"]["signature"] = json!("AAAA");
    world.login_with(&forged).await.refused(401, "passkey_not_verified");

    let owner = token(&reset);
    let path = format!("{}/resume", id(&reset["review"]["passkeys"][0]));
    world.pass(TimeDelta::minutes(10));
    world.at_passkey(Method::POST, &owner, &path, json!({})).await.refused(403, "fresh_sign_in_required");
    world.freshen().await;
    world.at_passkey(Method::POST, &owner, &path, json!({})).await.ok(200);
    assert!(world.messages()[0].text.contains("opens your account"), "{}", world.messages()[0].text);
    world.at_passkey(Method::POST, &owner, &path, json!({})).await.refused(404, "record_not_found");
    world.prove(&passkey).await.ok(200);
}

#[tokio::test]
async fn a_take_back_removes_what_was_added_since_and_suspends_the_others() {
    let world = World::with_passkeys(&[]).await;
    let (thief, owners) = ada(&world).await;
    world.pass(TimeDelta::minutes(2));
    let post = async |path: &str, body: Value| world.storefront(path).token(&thief).json(&body).send().await.ok(200);
    post("customers/request-email-verification", json!({ "email": "eve@example.com" })).await;
    post("customers/verify-email", json!({ "code": world.last_code() })).await;
    let notice = world.messages().into_iter().find(|message| message.to == EMAIL && message.text.contains("-")).unwrap().text;
    let is_code = |word: &&str| word.len() == 19 && word.matches('-').count() == 3;
    let code = notice.split_whitespace().map(|word| word.trim_end_matches('.')).find(is_code).unwrap().to_owned();
    world.pass(TimeDelta::minutes(1));
    let thieves = world.passkey(&thief).await;
    world.prove(&thieves).await.ok(200);

    let taken = world.storefront("customers/take-back").json(&json!({ "identity": EMAIL, "code": code })).send().await.ok(200);
    assert_eq!(states(&taken["review"]["passkeys"]), ["suspended"]);
    world.prove(&thieves).await.refused(401, "passkey_not_verified");
    world.prove(&owners).await.refused(409, "passkey_suspended");
    world.pass(TimeDelta::minutes(2));
    let code = world.sign_in_code(EMAIL).await;
    let owner = token(&world.verify(EMAIL, code).await.ok(200));
    let path = format!("{}/resume", id(&taken["review"]["passkeys"][0]));
    world.at_passkey(Method::POST, &owner, &path, json!({})).await.ok(200);
    world.prove(&owners).await.ok(200);
}
