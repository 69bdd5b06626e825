//! Making, naming and removing passkeys.

use chrono::TimeDelta;
use futures::future::join_all;
use reqwest::Method;
use serde_json::json;

use super::{ada, id};
use crate::support::World;
use crate::support::authenticator::Passkey;
use crate::support::customers::{EMAIL, PHONE, token};
use crate::support::identity_provider::{IdentityProvider, sign_in_with_a};

#[tokio::test]
async fn a_passkey_is_made_in_the_fresh_session_that_asked_for_it() {
    let world = World::with_passkeys(&[]).await;
    let ada = token(&world.register(EMAIL).await);
    let options = world.creation_options(&ada).await;
    let passkey = Passkey::new(&options);
    // Not for another customer, nor in another session of the same one.
    let bob = token(&world.register(PHONE).await);
    world.add_passkey(&bob, &passkey.created(&options), None).await.refused(401, "passkey_not_verified");
    world.pass(TimeDelta::minutes(2));
    let code = world.sign_in_code(EMAIL).await;
    let stolen = token(&world.verify(EMAIL, code).await.ok(200));
    world.add_passkey(&stolen, &passkey.created(&options), None).await.refused(401, "passkey_not_verified");
    // A challenge to sign in with makes no passkey.
    let mut asked = world.challenge().await;
    asked["publicKey"]["user"] = options["publicKey"]["user"].clone();
    world.add_passkey(&ada, &passkey.created(&asked), None).await.refused(401, "passkey_not_verified");
    // What the new key has signed is verified.
    world.add_passkey(&ada, &passkey.created_signed_wrongly(&options), None).await.refused(401, "passkey_not_verified");
    assert_eq!(world.passkeys_of(&ada).await, Vec::<serde_json::Value>::new());
    world.add_passkey(&ada, &passkey.created_signed(&options), None).await.ok(201);
    // The challenge was answered. Whoever sends the same passkey again has tapped twice: it is there, and is told once.
    let told = world.messages().len();
    assert_eq!(world.add_passkey(&ada, &passkey.created_signed(&options), None).await.ok(201)["passkeys"].as_array().unwrap().len(), 1);
    assert_eq!(world.messages().len(), told);
    world.add_passkey(&ada, &Passkey::new(&options).created(&options), None).await.refused(422, "code_used");
    // The credential is one account's.
    let options = world.creation_options(&bob).await;
    world.add_passkey(&bob, &passkey.created(&options), None).await.refused(409, "passkey_taken");
    world.pass(TimeDelta::minutes(10));
    world.storefront("customers/passkeys/request").token(&ada).send().await.refused(403, "fresh_sign_in_required");
    world.add_passkey(&ada, &passkey.created(&options), None).await.refused(403, "fresh_sign_in_required");
    let path = id(&world.passkeys_of(&ada).await[0]).to_owned();
    world.at_passkey(Method::DELETE, &ada, &path, json!({})).await.refused(403, "fresh_sign_in_required");
}

#[tokio::test]
async fn an_authenticator_that_sends_a_statement_which_nobody_asked_for_is_taken_at_its_key() {
    let world = World::with_passkeys(&[]).await;
    let ada = token(&world.register(EMAIL).await);
    for format in ["packed", "tpm", "android-key", "apple", "fido-u2f", "none", "a later one"] {
        let options = world.creation_options(&ada).await;
        let passkey = Passkey::new(&options);
        world.add_passkey(&ada, &passkey.created_by_a_manufacturer(&options, format), None).await.ok(201);
        world.prove(&passkey).await.ok(200);
    }
}

#[tokio::test]
async fn a_customer_names_and_removes_a_passkey_and_is_told() {
    let world = World::with_passkeys(&[]).await;
    let (ada, passkey) = ada(&world).await;
    let bob = token(&world.register(PHONE).await);
    let path = id(&world.passkeys_of(&ada).await[0]).to_owned();
    for (token, path) in [(&bob, path.as_str()), (&ada, "passkey_01h455vb4pex5vsknk084sn02q"), (&ada, "x")] {
        world.at_passkey(Method::PUT, token, path, json!({ "name": "Mine" })).await.refused(404, "record_not_found");
        world.at_passkey(Method::DELETE, token, path, json!({})).await.refused(404, "record_not_found");
        world.at_passkey(Method::POST, token, &format!("{path}/resume"), json!({})).await.refused(404, "record_not_found");
    }
    world.at_passkey(Method::PUT, &ada, &path, json!({ "name": "" })).await.refused(422, "body_invalid");
    world.at_passkey(Method::PUT, &ada, &path, json!({ "name": "Ada's phone" })).await.ok(200);
    assert_eq!(world.passkeys_of(&ada).await[0]["name"], "Ada's phone");
    world.at_passkey(Method::DELETE, &ada, &path, json!({})).await.ok(200);
    let told = &world.messages()[0];
    assert_eq!((told.to.as_str(), told.text.contains("\"Ada's phone\" opens your account at Acme Shop no longer")), (EMAIL, true));
    world.prove(&passkey).await.refused(401, "passkey_not_verified");
    assert!(world.passkeys_of(&ada).await.is_empty());
    // Whom the authenticator knows stays the same, so a new passkey takes the place of the old one.
    assert_eq!(world.creation_options(&ada).await["publicKey"]["user"]["id"], passkey.handle);
}

#[tokio::test]
async fn a_customer_has_at_most_twenty_passkeys_also_by_parallel_requests() {
    let world = World::with_passkeys(&[]).await;
    let ada = token(&world.register(EMAIL).await);
    for _ in 0..17 {
        world.passkey(&ada).await;
    }
    let made = join_all((0..5).map(|_| async {
        let options = world.creation_options(&ada).await;
        Passkey::new(&options).created(&options)
    }));
    let made = made.await;
    let added = join_all(made.iter().map(|credential| world.add_passkey(&ada, credential, None))).await;
    let (right, wrong): (Vec<_>, Vec<_>) = added.into_iter().partition(|answer| answer.status == 201);
    assert_eq!((right.len(), wrong.len()), (3, 2));
    for answer in wrong {
        answer.refused(409, "too_many_passkeys");
    }
    world.storefront("customers/passkeys/request").token(&ada).send().await.refused(409, "too_many_passkeys");
    assert_eq!(world.passkeys_of(&ada).await.len(), 20);
}

#[tokio::test]
async fn a_passkey_that_is_the_last_way_in_stays() {
    let idp = IdentityProvider::start().await;
    let world = idp.world(&[]).await;
    world.change_store(json!({ "passkey_domain": super::DOMAIN })).await.ok(200);
    let ada = sign_in_with_a(&world, "7").await;
    let passkey = world.passkey(&ada).await;
    let unlink = || world.request(Method::DELETE, "/storefront/v1/customers/providers/idp-a").key(&world.store_key).token(&ada).send();
    unlink().await.ok(200);
    let path = id(&world.passkeys_of(&ada).await[0]).to_owned();
    world.at_passkey(Method::DELETE, &ada, &path, json!({})).await.refused(409, "last_way_in");
    let again = token(&world.prove(&passkey).await.ok(200));
    let another = world.passkey(&again).await;
    world.at_passkey(Method::DELETE, &again, &path, json!({})).await.ok(200);
    world.prove(&passkey).await.refused(401, "passkey_not_verified");
    world.prove(&another).await.ok(200);
}
