//! New passwords: which are accepted, in which spelling, and how a signed-in customer changes theirs (decisions, section 3, Passwords).

use std::fs;

use argon2::password_hash::PasswordHasher;
use chrono::TimeDelta;
use portico::dev::temporary::TemporaryDirectory;
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::customers::{EMAIL, PASSWORD, login, token};
use crate::support::{Answer, World};

const NEW: &str = "battery staple correct";

async fn change(world: &World, token: &str, body: Value) -> Answer {
    world.storefront("customers/change-password").token(token).json(&body).send().await
}

#[tokio::test]
async fn the_old_password_changes_it_and_ends_every_other_session() {
    let world = World::new().await;
    let ada = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    let elsewhere = token(&login(&world, EMAIL, PASSWORD).await.ok(200));
    for (who, push) in [(&ada, "ada"), (&elsewhere, "elsewhere")] {
        let device = json!({ "platform": "ios", "token": push });
        world.storefront("customers/register-device").token(who).json(&device).send().await.ok(200);
    }
    world.pass(TimeDelta::hours(1));
    change(&world, &ada, json!({ "password": NEW })).await.refused(403, "fresh_sign_in_required");
    change(&world, &ada, json!({ "old_password": "wrong password", "password": NEW })).await.refused(401, "credentials_invalid");
    let changed = change(&world, &ada, json!({ "old_password": PASSWORD, "password": NEW })).await.ok(200);
    assert_eq!(changed["review"]["contacts"], json!([{ "kind": "email", "contact": EMAIL, "verified": true }]));
    world.storefront_get("customers/me").token(&ada).send().await.ok(200);
    world.storefront_get("customers/me").token(&elsewhere).send().await.refused(401, "customer_token_invalid");
    assert_eq!(world.count("select count(*) from devices").await, 1);
    login(&world, EMAIL, PASSWORD).await.refused(401, "credentials_invalid");
    login(&world, EMAIL, NEW).await.ok(200);
}

#[tokio::test]
async fn a_fresh_session_sets_the_first_password() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    change(&world, &ada, json!({ "password": NEW })).await.ok(200);
    login(&world, EMAIL, NEW).await.ok(200);
}

#[tokio::test]
async fn common_and_invisible_passwords_are_refused_on_every_way() {
    let world = World::new().await;
    let ada = token(&world.register(EMAIL).await);
    // The last one is beyond the 10,000 most common.
    for bad in ["password1", "        ", "\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}", "PASSWORD", "zxcvbnm12"] {
        let refusal = change(&world, &ada, json!({ "password": bad })).await.refused(422, "body_invalid");
        assert!(refusal["fields"]["password"].is_array(), "{bad}");
    }
    let code = world.creation_code("bob@example.com").await;
    let body = json!({ "name": "Bob", "identity": "bob@example.com", "code": code, "password": "        " });
    world.storefront("customers").json(&body).send().await.refused(422, "body_invalid");
    let body = json!({ "name": "\u{200b}\u{feff}", "identity": "bob@example.com", "code": code });
    let refusal = world.storefront("customers").json(&body).send().await.refused(422, "body_invalid");
    assert!(refusal["fields"]["name"].is_array(), "a name that shows nothing is no name");
}

#[tokio::test]
async fn every_keyboard_s_spelling_of_a_password_is_the_same_one() {
    let world = World::new().await;
    // As one character, and as a letter and its accent.
    let (composed, decomposed) = ("crème brûlée", "cre\u{300}me bru\u{302}le\u{301}e");
    world.register_with(EMAIL, json!({ "password": decomposed })).await;
    for spelling in [composed, decomposed] {
        login(&world, EMAIL, spelling).await.ok(200);
    }
    // A hash of what was typed, from before passwords had one spelling, goes on working and is made anew.
    let as_typed = argon2::Argon2::default().hash_password(decomposed.as_bytes()).unwrap().to_string();
    sqlx::query("update customers set password_hash = $1").bind(&as_typed).execute(&world.pool).await.unwrap();
    login(&world, EMAIL, composed).await.ok(200);
    let hash: String = sqlx::query_scalar("select password_hash from customers").fetch_one(&world.pool).await.unwrap();
    assert_ne!(hash, as_typed);
    for spelling in [decomposed, composed] {
        login(&world, EMAIL, spelling).await.ok(200);
    }
    login(&world, EMAIL, "creme brulee").await.refused(401, "credentials_invalid");
}

#[tokio::test]
async fn a_password_is_as_long_where_it_is_compared_as_where_it_is_set() {
    let world = World::new().await;
    // 303 characters as they are typed, 153 letters.
    let long = "e\u{301}".repeat(150) + "zq7";
    let ada = token(&world.register_with(EMAIL, json!({ "password": long })).await);
    login(&world, EMAIL, &long).await.ok(200);
    login(&world, EMAIL, &("é".repeat(150) + "zq7")).await.ok(200);
    login(&world, EMAIL, &long[..long.len() - 1]).await.refused(401, "credentials_invalid");
    change(&world, &ada, json!({ "old_password": long, "password": "e\u{301}".repeat(256) })).await.ok(200);
    login(&world, EMAIL, &"é".repeat(256)).await.ok(200);
    change(&world, &ada, json!({ "password": "e\u{301}".repeat(257) })).await.refused(422, "body_invalid");
    change(&world, &ada, json!({ "password": "e\u{301}".repeat(7) })).await.refused(422, "body_invalid");
    login(&world, EMAIL, &"e\u{301}".repeat(257)).await.refused(401, "credentials_invalid");
}

/// The range and the rest of the SHA-1 of [`NEW`].
fn breached() -> (String, String) {
    use sha1::{Digest, Sha1};
    let digest = hex::encode_upper(Sha1::digest(NEW));
    (digest[..5].to_owned(), digest[5..].to_owned())
}

#[tokio::test]
async fn a_password_in_a_directory_of_breached_ones_is_refused() {
    let directory = TemporaryDirectory::make("portico-breached").unwrap();
    let (range, rest) = breached();
    fs::write(directory.path().join(format!("{range}.txt")), format!("{}:0\r\n{rest}:7\r\n", "0".repeat(35))).unwrap();
    let world = World::with(&[("storefront.breached_passwords", directory.path().to_str().unwrap())]).await;
    let ada = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    let refusal = change(&world, &ada, json!({ "password": NEW })).await.refused(422, "body_invalid");
    assert!(refusal["fields"]["password"][0].as_str().unwrap().contains("breach"), "{refusal}");
    change(&world, &ada, json!({ "password": "another long one" })).await.ok(200);
}

#[tokio::test]
async fn a_service_learns_five_digits_and_a_silent_one_refuses_nothing() {
    let service = MockServer::start().await;
    let (range, rest) = breached();
    let at = format!("/range/{range}");
    let world = World::with(&[("storefront.breached_passwords", &service.uri())]).await;
    let ada = token(&world.register(EMAIL).await);
    let mock = Mock::given(method("GET")).and(path(at.as_str()));
    let answering = mock.respond_with(ResponseTemplate::new(200).set_body_string(format!("{rest}:1"))).mount_as_scoped(&service).await;
    change(&world, &ada, json!({ "password": NEW })).await.refused(422, "body_invalid");
    let asked = service.received_requests().await.unwrap();
    assert_eq!(asked.iter().map(|request| request.url.path().to_owned()).collect::<Vec<_>>(), [at]);
    drop(answering);
    // The service answers 404 now.
    change(&world, &ada, json!({ "password": NEW })).await.ok(200);
}
