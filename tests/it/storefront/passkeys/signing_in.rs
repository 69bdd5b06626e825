//! Signing in with a passkey, all the way.

use chrono::TimeDelta;
use coset::iana::Algorithm;
use futures::future::join_all;
use portico::kernel::crypto::ApplicationKey;
use reqwest::Method;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::{DOMAIN, ada, id};
use crate::support::World;
use crate::support::authenticator::{BACKED_UP, BACKUP_ELIGIBLE, Passkey, USER_PRESENT, USER_VERIFIED};
use crate::support::customers::{EMAIL, me, token};

#[tokio::test]
async fn a_passkey_of_each_algorithm_is_made_listed_and_signs_in() {
    let world = World::with_passkeys(&[]).await;
    let registered = world.register(EMAIL).await;
    let ada = token(&registered);
    for (algorithm, name) in [(Algorithm::ES256, "Phone"), (Algorithm::EdDSA, "Key"), (Algorithm::RS256, "Laptop")] {
        let options = world.creation_options(&ada).await;
        let public = &options["publicKey"];
        assert_eq!(public["rp"], json!({ "id": DOMAIN, "name": "Acme Shop" }));
        assert_eq!((&public["user"]["name"], &public["user"]["displayName"]), (&json!(EMAIL), &json!("Ada")));
        assert_eq!(public["authenticatorSelection"]["userVerification"], "required");
        let mut passkey = Passkey::with(algorithm, &options);
        world.add_passkey(&ada, &passkey.created(&options), Some(name)).await.ok(201);
        assert!(world.messages()[0].text.contains(&format!("\"{name}\" opens your account")), "{}", world.messages()[0].text);

        let asked = world.challenge().await;
        assert_eq!((&asked["publicKey"]["rpId"], &asked["publicKey"]["allowCredentials"]), (&json!(DOMAIN), &json!([])));
        world.pass(TimeDelta::minutes(1));
        passkey.flags &= !BACKED_UP;
        let login = world.login_with(&passkey.answer(&asked)).await.ok(200);
        assert_eq!(login["customer"]["id"], registered["customer"]["id"]);
        me(&world, &token(&login)).await;
        let sessions = world.storefront_get("customers/sessions?limit=1").token(&token(&login)).send().await.ok(200);
        assert_eq!(sessions["sessions"][0]["method"], "passkey");
        // Those that are there are not made again.
        let known = world.creation_options(&ada).await["publicKey"]["excludeCredentials"].clone();
        assert!(known.as_array().unwrap().contains(&json!({ "type": "public-key", "id": passkey.id() })));
    }
    let listed = world.passkeys_of(&ada).await;
    let names: Vec<_> = listed.iter().map(|passkey| (passkey["name"].as_str().unwrap(), &passkey["state"])).collect();
    assert_eq!(names, [("Phone", &json!("active")), ("Key", &json!("active")), ("Laptop", &json!("active"))]);
    assert!(listed.iter().all(|passkey| passkey["last_used_at"].is_string() && passkey["backed_up"] == false), "{listed:?}");
    let logged = world.api(Method::GET, "/storefront/int/v1/sign-ins?method=passkey").send().await.ok(200);
    assert_eq!(logged["sign_ins"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_challenge_is_answered_once_also_by_parallel_requests() {
    let world = World::with_passkeys(&[]).await;
    let (_, passkey) = ada(&world).await;
    let credential = passkey.answer(&world.challenge().await);
    let answers = join_all((0..8).map(|_| world.login_with(&credential))).await;
    let (right, wrong): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 200);
    assert_eq!((right.len(), wrong.len()), (1, 7));
    for answer in wrong {
        answer.refused(422, "code_used");
    }
    world.login_with(&credential).await.refused(422, "code_used");
    // Only what was answered is kept, and not for long.
    world.challenge().await;
    assert_eq!(world.count("select count(*) from answered_challenges").await, 2, "that of the registration, and this one");
    world.pass(TimeDelta::minutes(11));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from answered_challenges").await, 0);
}

#[tokio::test]
async fn a_challenge_lasts_five_minutes_and_is_of_its_store_and_deployment() {
    let world = World::with_passkeys(&[]).await;
    let (_, passkey) = ada(&world).await;
    let asked = world.challenge().await;
    world.pass(TimeDelta::minutes(5) - TimeDelta::seconds(1));
    world.login_with(&passkey.answer(&asked)).await.ok(200);
    let asked = world.challenge().await;
    world.pass(TimeDelta::minutes(5));
    world.login_with(&passkey.answer(&asked)).await.refused(401, "passkey_not_verified");

    // A store of the same company with the same domain has challenges and passkeys of its own.
    let (other, key) = world.another_store().await;
    let path = format!("/storefront/int/v1/stores/{other}");
    world.api(Method::PUT, &path).json(&json!({ "passkey_domain": DOMAIN })).send().await.ok(200);
    let asked = world.storefront("customers/login-with-passkey/request").key(&key).send().await.ok(200);
    world.login_with(&passkey.answer(&asked)).await.refused(401, "passkey_not_verified");
    let body = json!({ "credential": passkey.answer(&asked) });
    world.storefront("customers/login-with-passkey").key(&key).json(&body).send().await.refused(401, "passkey_not_verified");
    let forged = json!({ "publicKey": { "challenge": "AAAA" } });
    world.login_with(&passkey.answer(&forged)).await.refused(401, "passkey_not_verified");
    // Challenges from before the application key was replaced can be answered.
    let asked = world.challenge().await;
    let new = world.rekeyed(&new_key(), &[world.application_key_setting.as_str()]);
    new.login_with(&passkey.answer(&asked)).await.ok(200);
}

fn new_key() -> String {
    ApplicationKey::generate().expose_secret().to_owned()
}

#[tokio::test]
async fn a_counter_that_goes_back_is_refused() {
    let world = World::with_passkeys(&[]).await;
    let (_, mut passkey) = ada(&world).await;
    for (counter, is_right) in [(0, true), (0, true), (7, true), (7, false), (6, false), (0, false), (8, true)] {
        passkey.counter = counter;
        match (world.prove(&passkey).await, is_right) {
            (answer, true) => drop(answer.ok(200)),
            (answer, false) => drop(answer.refused(401, "passkey_not_verified")),
        }
    }
}

#[tokio::test]
async fn a_passkey_that_is_backed_up_from_now_on_or_no_longer_signs_in_as_before() {
    let world = World::with_passkeys(&[]).await;
    let (ada, mut passkey) = ada(&world).await;
    for flags in [0, BACKUP_ELIGIBLE, BACKUP_ELIGIBLE | BACKED_UP, 0] {
        passkey.flags = USER_PRESENT | USER_VERIFIED | flags;
        world.prove(&passkey).await.ok(200);
        assert_eq!(world.passkeys_of(&ada).await[0]["backed_up"], flags & BACKED_UP != 0);
    }
    assert_eq!(world.count("select count(*) from passkeys where not backup_eligible").await, 1);
    // What cannot be backed up is not.
    passkey.flags = USER_PRESENT | USER_VERIFIED | BACKED_UP;
    world.prove(&passkey).await.refused(401, "passkey_not_verified");
}

#[tokio::test]
async fn base64url_is_read_with_padding_too() {
    let world = World::with_passkeys(&[]).await;
    let ada = token(&world.register(EMAIL).await);
    let options = world.creation_options(&ada).await;
    let passkey = Passkey::new(&options);
    world.add_passkey(&ada, &padded(&passkey.created(&options)), None).await.ok(201);
    world.login_with(&padded(&passkey.answer(&world.challenge().await))).await.ok(200);
}

/// A credential with padding behind all of its bytes.
fn padded(credential: &Value) -> Value {
    let mut credential = credential.clone();
    let padded = |text: &Value| json!(format!("{}{}", text.as_str().unwrap(), "=".repeat((4 - text.as_str().unwrap().len() % 4) % 4)));
    for member in ["id", "rawId"] {
        credential[member] = padded(&credential[member]);
    }
    for (_, value) in credential["response"].as_object_mut().unwrap().iter_mut().filter(|(_, value)| value.is_string()) {
        *value = padded(value);
    }
    credential
}

#[tokio::test]
async fn banned_and_closed_customers_do_not_get_in_and_a_lock_out_does_not_matter() {
    let world = World::with_passkeys(&[]).await;
    let registered = world.register(EMAIL).await;
    let passkey = world.passkey(&token(&registered)).await;
    for _ in 0..10 {
        world.pass(TimeDelta::minutes(2));
        world.sign_in_code(EMAIL).await;
        world.guess(EMAIL, "000000").await;
    }
    world.prove(&passkey).await.ok(200);
    let customer = format!("/storefront/int/v1/customers/{}", registered["customer"]["id"].as_str().unwrap());
    let act = |name: &str, body| world.api(Method::POST, &format!("{customer}/{name}")).json(&body).send();
    act("ban", json!({ "reason": "fraud" })).await.ok(200);
    world.prove(&passkey).await.refused(403, "account_banned");
    act("unban", json!({})).await.ok(200);
    world.prove(&passkey).await.ok(200);
    act("close", json!({})).await.ok(200);
    world.prove(&passkey).await.refused(401, "passkey_not_verified");
    assert_eq!(world.count("select (select count(*) from passkeys) + (select count(*) from passkey_users)").await, 0);
}

#[tokio::test]
async fn failures_of_an_address_are_limited_and_a_right_passkey_gets_in_all_the_same() {
    let world = World::with_passkeys(&[("storefront.failures_per_address", "5")]).await;
    let (ada, passkey) = ada(&world).await;
    let from = |credential| {
        let body = json!({ "credential": credential });
        world.storefront("customers/login-with-passkey").from("203.0.113.66").json(&body).send()
    };
    let (asked, mut stranger) = (world.challenge().await, Passkey::new(&world.creation_options(&ada).await));
    stranger.handle = passkey.handle.clone();
    for _ in 0..5 {
        from(stranger.answer(&asked)).await.refused(401, "passkey_not_verified");
    }
    from(stranger.answer(&asked)).await.refused(429, "guesses_exceeded");
    from(passkey.answer(&asked)).await.ok(200);
    let listed = world.passkeys_of(&ada).await;
    assert_eq!((listed.len(), id(&listed[0]).starts_with("passkey_")), (1, true));
}

#[tokio::test]
async fn an_answer_that_comes_twice_is_no_guess_also_of_an_authenticator_that_counts() {
    let world = World::with_passkeys(&[("storefront.failures_per_address", "3")]).await;
    let (ada, mut passkey) = ada(&world).await;
    for counter in [0, 7] {
        passkey.counter = counter;
        let credential = passkey.answer(&world.challenge().await);
        let body = json!({ "credential": credential });
        let sign_in = || world.storefront("customers/login-with-passkey").from("203.0.113.9").json(&body).send();
        sign_in().await.ok(200);
        for _ in 0..5 {
            sign_in().await.refused(422, "code_used");
        }
        let proof = json!({ "passkey": credential });
        world.storefront("customers/confirm-step-up").token(&ada).json(&proof).send().await.refused(422, "code_used");
    }
    assert_eq!(world.count("select count(*) from rate_limits where bucket like 'failures:%'").await, 0);
}
