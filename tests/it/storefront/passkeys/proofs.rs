//! What is not right in an answer of an authenticator, and stepping up.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::ada;
use crate::support::authenticator::{BACKED_UP, Passkey, USER_PRESENT, USER_VERIFIED};
use crate::support::customers::{EMAIL, PASSWORD, PHONE, token};
use crate::support::{Answer, World};

/// What an answer may have wrong, and what it is.
type Wrong = (&'static str, fn(&mut Passkey));

const WRONG: &[Wrong] = &[
    ("a page of another origin", |passkey| passkey.origin = "https://shop.example.evil.example".to_owned()),
    ("the same page without TLS", |passkey| passkey.origin = "http://shop.example".to_owned()),
    ("another port", |passkey| passkey.origin = "https://shop.example:8443".to_owned()),
    ("another domain", |passkey| passkey.domain = "evil.example".to_owned()),
    ("nobody there", |passkey| passkey.flags &= !USER_PRESENT),
    ("nobody verified", |passkey| passkey.flags &= !USER_VERIFIED),
    ("backed up and not eligible", |passkey| passkey.flags = USER_PRESENT | USER_VERIFIED | BACKED_UP),
    ("extensions that are not there", |passkey| passkey.flags |= 0x80),
    ("a frame", |passkey| passkey.client_data = json!({ "crossOrigin": true })),
    ("a frame in another page", |passkey| passkey.client_data = json!({ "topOrigin": "https://evil.example" })),
    ("another ceremony", |passkey| passkey.client_data = json!({ "type": "payment.get" })),
    ("no challenge", |passkey| passkey.client_data = json!({ "challenge": "" })),
];

#[tokio::test]
async fn an_answer_with_anything_wrong_neither_signs_in_nor_makes_a_passkey() {
    let world = World::with_passkeys(&[]).await;
    let (ada, mut passkey) = ada(&world).await;
    for (what, spoil) in WRONG {
        let (origin, domain, flags) = (passkey.origin.clone(), passkey.domain.clone(), passkey.flags);
        spoil(&mut passkey);
        let answer = world.prove(&passkey).await;
        assert_eq!((answer.status, &answer.body["code"]), (401, &json!("passkey_not_verified")), "{what}");
        (passkey.origin, passkey.domain, passkey.flags, passkey.client_data) = (origin, domain, flags, json!({}));

        let options = world.creation_options(&ada).await;
        let mut another = Passkey::new(&options);
        spoil(&mut another);
        let answer = world.add_passkey(&ada, &another.created(&options), None).await;
        assert_eq!((answer.status, &answer.body["code"]), (401, &json!("passkey_not_verified")), "{what}");
    }
    // Only of a passkey that is there.
    let right = passkey.answer(&world.challenge().await);
    for (member, value) in
        [("userHandle", Value::Null), ("userHandle", json!("AAAA")), ("signature", json!("AAAA")), ("authenticatorData", json!(""))]
    {
        let mut wrong = right.clone();
        wrong["response"][member] = value;
        world.login_with(&wrong).await.refused(401, "passkey_not_verified");
    }
    let mut unknown = right.clone();
    unknown["id"] = json!("AAAA");
    world.login_with(&unknown).await.refused(401, "passkey_not_verified");
    // A challenge that a passkey should be made with is no request to sign in.
    let options = world.creation_options(&ada).await;
    world.login_with(&passkey.answer(&options)).await.refused(401, "passkey_not_verified");
    assert_eq!(world.count("select count(*) from customer_tokens").await, 1);
    assert_eq!(world.passkeys_of(&ada).await.len(), 1);
    world.login_with(&right).await.ok(200);
}

#[tokio::test]
async fn what_is_no_credential_is_refused_by_the_name_of_its_member() {
    let world = World::with_passkeys(&[]).await;
    let (_, passkey) = ada(&world).await;
    let right = passkey.answer(&world.challenge().await);
    let refused = async |credential: &Value| world.login_with(credential).await.refused(422, "body_invalid")["fields"].clone();
    let mut wrong = right.clone();
    wrong["response"]["signature"] = json!("not base64url!");
    let fields = refused(&wrong).await;
    assert_eq!(fields["credential.response.signature"], json!(["This must be base64url."]));
    wrong = right.clone();
    wrong["type"] = json!("password");
    assert!(refused(&wrong).await["credential.type"].is_array());
    wrong = right.clone();
    wrong["response"].as_object_mut().unwrap().remove("clientDataJSON");
    assert!(refused(&wrong).await.to_string().contains("clientDataJSON"));
}

async fn step_up(world: &World, token: &str, body: Value) -> Answer {
    world.storefront("customers/confirm-step-up").token(token).json(&body).send().await
}

#[tokio::test]
async fn a_passkey_makes_the_session_fresh_and_only_that_of_its_customer() {
    let world = World::with_passkeys(&[]).await;
    let (ada, passkey) = ada(&world).await;
    let bob = token(&world.register_with(PHONE, json!({ "password": PASSWORD })).await);
    world.pass(TimeDelta::hours(1));
    let ways = async |token: &str| {
        let refused = world.storefront("customers/passkeys/request").token(token).send().await;
        refused.refused(403, "fresh_sign_in_required")["ways"].clone()
    };
    assert_eq!(ways(&ada).await, json!(["code", "passkey", "sign_in"]));
    assert_eq!(ways(&bob).await, json!(["code", "password", "sign_in"]));
    let credential = passkey.answer(&world.challenge().await);
    step_up(&world, &bob, json!({ "passkey": credential })).await.refused(401, "passkey_not_verified");
    let fresh = step_up(&world, &ada, json!({ "passkey": credential })).await.ok(200);
    assert_eq!(fresh["fresh_until"], "2026-05-21T11:25:00.000+00:00");
    world.creation_options(&ada).await;
    // The challenge is used up, whatever for.
    world.login_with(&credential).await.refused(422, "code_used");
    step_up(&world, &ada, json!({ "passkey": credential })).await.refused(422, "code_used");
    step_up(&world, &ada, json!({ "passkey": credential, "code": "123456" })).await.refused(422, "body_invalid");
    assert_eq!(ways(&bob).await, json!(["code", "password", "sign_in"]));
    assert_eq!(world.count("select count(*) from sign_ins where method = 'passkey' and outcome = 'signed_in'").await, 0);
    assert_eq!(world.messages().iter().filter(|message| message.to == EMAIL && message.code.is_none()).count(), 1);
}
