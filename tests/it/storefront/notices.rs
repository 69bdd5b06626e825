//! Notices: what happens to an account is told to every contact that is proven (decisions, section 3, Notices).

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, PHONE, reset_password, token};

const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36";
const NEWER_CHROME: &str = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0 Safari/537.36";

/// The notices, newest first: recipient and words.
fn notices(world: &World) -> Vec<(String, String)> {
    let notices = world.messages().into_iter().filter(|message| message.code.is_none());
    notices.map(|message| (message.to, message.text)).collect()
}

async fn login_from(world: &World, user_agent: &str, device_name: Option<&str>) -> Value {
    let request = world.storefront("customers/login").header("user-agent", user_agent);
    let request = match device_name {
        Some(name) => request.header("device-name", name),
        None => request,
    };
    request.json(&json!({ "identity": EMAIL, "password": PASSWORD })).send().await.ok(200)
}

/// A customer with a proven address and a proven number.
async fn with_both(world: &World) -> String {
    let ada = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    sqlx::query("update customers set phone = $1, phone_verified_at = now()").bind(PHONE).execute(&world.pool).await.unwrap();
    world.pass(TimeDelta::minutes(2));
    ada
}

#[tokio::test]
async fn a_sign_in_from_a_device_that_was_not_seen_before_is_told_by_mail_and_text() {
    let world = World::new().await;
    with_both(&world).await;
    assert!(notices(&world).is_empty(), "the first device is no news");
    login_from(&world, CHROME, None).await;
    let told = notices(&world);
    let recipients: Vec<_> = told.iter().map(|(to, _)| to.as_str()).collect();
    assert_eq!(recipients, [PHONE, EMAIL]);
    assert!(told.iter().all(|(_, words)| words.contains("Chrome, Windows")), "{told:?}");
    // Another version of it, another address and a later day are not another device; another name is.
    world.pass(TimeDelta::days(3));
    login_from(&world, NEWER_CHROME, None).await;
    assert_eq!(notices(&world).len(), 2);
    login_from(&world, CHROME, Some("Eves laptop")).await;
    assert_eq!(notices(&world).len(), 4);
    assert!(notices(&world)[0].1.contains("Eves laptop"));
}

#[tokio::test]
async fn a_notice_that_cannot_be_sent_fails_nothing() {
    let world = World::with(&[("mail.smtp_url", "smtp://127.0.0.1:1")]).await;
    let ada = token(&world.register_with(PHONE, json!({ "password": PASSWORD })).await);
    sqlx::query("update customers set email = $1, email_verified_at = now()").bind(EMAIL).execute(&world.pool).await.unwrap();
    sqlx::query("update stores set texts_paused_at = now(), texts_paused_reason = 'by hand'").execute(&world.pool).await.unwrap();
    login_from(&world, CHROME, None).await;
    let body = json!({ "old_password": PASSWORD, "password": "battery staple correct" });
    world.storefront("customers/change-password").token(&ada).json(&body).send().await.ok(200);
    let status: Vec<(String, String, String)> =
        sqlx::query_as("select about, channel, status from notices order by about, channel").fetch_all(&world.pool).await.unwrap();
    let expected = [
        ("new_sign_in", "email", "not_sent"),
        ("new_sign_in", "sms", "refused"),
        ("password_changed", "email", "not_sent"),
        ("password_changed", "sms", "refused"),
    ];
    assert_eq!(status, expected.map(|(about, channel, status)| (about.to_owned(), channel.to_owned(), status.to_owned())));
}

#[tokio::test]
async fn a_customer_gets_a_few_notices_of_a_kind_and_none_of_them_hides_another_kind() {
    let world = World::new().await;
    let ada = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    for number in 0..8 {
        login_from(&world, &format!("Shop{number}/1.0"), None).await;
    }
    assert_eq!(notices(&world).len(), 5);
    let body = json!({ "old_password": PASSWORD, "password": "battery staple correct" });
    world.storefront("customers/change-password").token(&ada).json(&body).send().await.ok(200);
    assert!(notices(&world)[0].1.contains("The password of your account at Acme Shop was changed."));
}

#[tokio::test]
async fn a_new_password_is_told_in_the_language_that_the_customer_last_used() {
    let world = World::new().await;
    world.register(EMAIL).await;
    let code = world.sign_in_code(EMAIL).await;
    let body = json!({ "identity": EMAIL, "code": code, "password": PASSWORD });
    // Nothing is known of the customer yet.
    world.storefront("customers/reset-password").json(&body).header("accept-language", "de-AT, en;q=0.5").send().await.ok(200);
    assert!(notices(&world)[0].1.contains("Das Passwort Ihres Kontos bei Acme Shop wurde geändert."));
    world.pass(TimeDelta::minutes(2));
    let code = world.sign_in_code(EMAIL).await;
    reset_password(&world, EMAIL, code, "battery staple correct").await.ok(200);
    assert!(notices(&world)[0].1.contains("wurde geändert"), "a request that asks for no language changes nothing");
    assert_eq!(world.count("select count(*) from customers where languages = 'de-at,en'").await, 1);
}

#[tokio::test]
async fn a_thief_does_not_choose_the_language_of_what_the_owner_is_told() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let login = async |language: &str, user_agent: &str| {
        let request = world.storefront("customers/login").header("user-agent", user_agent).header("accept-language", language);
        token(&request.json(&json!({ "identity": EMAIL, "password": PASSWORD })).send().await.ok(200))
    };
    // The device of the registration.
    login("de", "").await;
    world.pass(TimeDelta::minutes(1));
    let thief = login("en", CHROME).await;
    assert!(notices(&world)[0].1.contains("Jemand hat sich in Ihrem Konto bei Acme Shop mit einem Gerät angemeldet"));
    login("en", CHROME).await;
    let body = json!({ "old_password": PASSWORD, "password": "battery staple correct" });
    let changing = world.storefront("customers/change-password").token(&thief).header("accept-language", "en").json(&body);
    changing.send().await.ok(200);
    assert!(notices(&world)[0].1.contains("Das Passwort Ihres Kontos bei Acme Shop wurde geändert."));
    // So is the last thing that is told.
    let closing = |path: &str, body: Value| world.storefront(path).token(&thief).header("accept-language", "en").json(&body).send();
    closing("customers/account-closure", json!({})).await.ok(200);
    closing("customers/confirm-account-closure", json!({ "code": world.last_code() })).await.ok(200);
    assert!(notices(&world)[0].1.contains("Ihr Konto bei Acme Shop wurde geschlossen."));
}

#[tokio::test]
async fn a_device_that_is_known_for_a_week_speaks_for_the_customer() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let login = async |language: &'static str, user_agent: &str| {
        let request = world.storefront("customers/login").header("user-agent", user_agent).header("accept-language", language);
        request.json(&json!({ "identity": EMAIL, "password": PASSWORD })).send().await.ok(200);
        sqlx::query_scalar::<_, Option<String>>("select languages from customers").fetch_one(&world.pool).await.unwrap()
    };
    assert_eq!(login("de", "").await.as_deref(), Some("de"));
    world.pass(TimeDelta::minutes(1));
    assert_eq!(login("fr", CHROME).await.as_deref(), Some("de"), "another device");
    world.pass(TimeDelta::days(7) - TimeDelta::seconds(1));
    assert_eq!(login("fr", NEWER_CHROME).await.as_deref(), Some("de"));
    world.pass(TimeDelta::seconds(1));
    assert_eq!(login("fr", NEWER_CHROME).await.as_deref(), Some("fr"));
    assert_eq!(login("*", CHROME).await.as_deref(), Some("fr"));
    assert_eq!(login("es", "").await.as_deref(), Some("es"));
}

#[tokio::test]
async fn an_address_in_the_name_of_a_device_is_no_link_in_what_the_owner_is_told() {
    let world = World::new().await;
    with_both(&world).await;
    login_from(&world, CHROME, Some("https://evil.example/verify")).await;
    world.pass(TimeDelta::minutes(1));
    login_from(&world, "evil.example/1.0", None).await;
    let told = notices(&world);
    assert_eq!(told.len(), 4);
    assert!(told.iter().all(|(_, words)| !words.contains("evil.example") && !words.contains("://")), "{told:?}");
    assert_eq!(told.iter().filter(|(to, words)| to == EMAIL && words.contains("evil. example")).count(), 2);
}

#[tokio::test]
async fn the_timeline_shows_notices_without_recipient_and_words() {
    let world = World::new().await;
    with_both(&world).await;
    let login = login_from(&world, CHROME, None).await;
    let path = format!("/storefront/int/v1/customers/{}/timeline?kind=notice", login["customer"]["id"].as_str().unwrap());
    let timeline = world.api(Method::GET, &path).send().await.ok(200)["timeline"].clone();
    let details: Vec<_> = timeline.as_array().unwrap().iter().map(|entry| entry["detail"].clone()).collect();
    let told = |channel: &str| json!({ "about": "new_sign_in", "channel": channel, "status": "sent" });
    assert!(details.len() == 2 && details.contains(&told("sms")) && details.contains(&told("email")), "{timeline}");
    world.pass(TimeDelta::days(90) + TimeDelta::seconds(1));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from notices").await, 0);
}

#[tokio::test]
async fn a_customer_has_a_bounded_number_of_devices() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    for number in 0..25 {
        login_from(&world, &format!("Shop{number}/1.0"), None).await;
        world.pass(TimeDelta::seconds(1));
    }
    assert_eq!(world.count("select count(*) from seen_devices").await, 20);
}
