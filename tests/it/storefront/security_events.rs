//! The events about the security of accounts: `docs/webhooks.md`. At the end of every story they are compared with their schemas.

use chrono::TimeDelta;
use futures::future::{join, join_all};
use portico::kernel::clock::timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::authenticator_app::{enrol, finish, handle, offer};
use crate::support::customers::{EMAIL, PASSWORD, PHONE, home, login, token, wrong};

const PAGE: &str = include_str!("../../../docs/webhooks.md");
const NAMES: [&str; 4] = ["customer.signed_in", "customer.locked_out", "customer.contact_changed", "customer.device_added"];
const OTHER_PHONE: &str = "+12015550199";

/// The data of the events of this name, in the order of their sequence.
async fn published(world: &World, name: &str) -> Vec<Value> {
    let bodies: Vec<Vec<u8>> =
        sqlx::query_scalar("select body from events where name = $1 order by sequence").bind(name).fetch_all(&world.pool).await.unwrap();
    bodies.iter().map(|body| serde_json::from_slice::<Value>(body).unwrap()["data"].take()).collect()
}

async fn change_store(world: &World, body: Value) {
    world.api(Method::PUT, &format!("/storefront/int/v1/stores/{}", world.store)).json(&body).send().await.ok(200);
}

/// Proves a contact for the customer with this token.
async fn prove(world: &World, token: &str, member: &str, contact: &str) {
    let (request, verify) = match member {
        "phone" => ("customers/request-phone-verification", "customers/verify-phone-number"),
        _ => ("customers/request-email-verification", "customers/verify-email"),
    };
    world.storefront(request).token(token).json(&json!({ member: contact })).send().await.ok(200);
    world.storefront(verify).token(token).json(&json!({ "code": world.last_code() })).send().await.ok(200);
}

#[tokio::test]
async fn the_page_shows_the_samples_of_the_catalogue() {
    let world = World::new().await;
    for name in NAMES {
        let shown = PAGE.split("\n```json\n").skip(1).filter_map(|block| block.split("\n```").next());
        let shown = shown.filter(|block| block.contains(&format!("\"event\": \"{name}\""))).collect::<Vec<_>>();
        let [shown] = shown[..] else { panic!("{name} is shown once") };
        let found = world.get(&format!("event-types/{name}")).await["event_type"].take();
        assert_eq!(serde_json::from_str::<Value>(shown).unwrap(), found["sample"], "{name}");
        let forged = json!({ "event": name, "data": found["sample"]["data"] });
        let refused = world.developers(Method::POST, "events", forged).await;
        assert_eq!(refused.status, 422, "nobody else publishes it: {refused:?}");
    }
}

#[tokio::test]
async fn a_sign_in_is_published_where_the_store_wants_it_and_only_if_it_commits() {
    let world = World::new().await;
    let ada = world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    login(&world, EMAIL, PASSWORD).await.ok(200);
    assert_eq!(published(&world, NAMES[0]).await, Vec::<Value>::new());

    change_store(&world, json!({ "sign_in_events": true })).await;
    login(&world, EMAIL, "a wrong one").await.refused(401, "credentials_invalid");
    let body = json!({ "identity": EMAIL, "password": PASSWORD });
    let agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
    let signed_in = world.storefront("customers/login").from("203.0.113.7").header("user-agent", agent).json(&body).send().await.ok(200);
    let sessions = world.storefront_get("customers/sessions").token(&token(&signed_in)).send().await.ok(200);
    let current = sessions["sessions"].as_array().unwrap().iter().find(|session| session["current"] == true).unwrap();
    let told = published(&world, NAMES[0]).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((&told[0]["id"], &told[0]["store"]), (&ada["customer"]["id"], &json!(world.store)));
    assert_eq!((&told[0]["method"], &told[0]["session"]), (&json!("password"), &current["id"]));
    assert_eq!((&told[0]["device"], &told[0]["address"]), (&json!("Firefox, Linux"), &json!("203.0.113.7")));
    assert!(!told[0].to_string().contains(PASSWORD) && !told[0].to_string().contains(EMAIL));

    let code = world.sign_in_code(EMAIL).await;
    world.verify(EMAIL, code).await.ok(200);
    world.register("bob@example.com").await;
    let methods: Vec<_> = published(&world, NAMES[0]).await.iter().map(|event| event["method"].clone()).collect();
    assert_eq!(methods.len(), 3);
    assert!(methods.contains(&json!("code")) && methods.contains(&json!("registration")), "{methods:?}");

    let before = world.count("select count(*) from customer_tokens").await;
    world.refuse_events().await;
    assert_eq!(login(&world, EMAIL, PASSWORD).await.status, 500);
    assert_eq!(world.count("select count(*) from customer_tokens").await, before, "no session without its event");
    world.accept_events().await;
    login(&world, EMAIL, PASSWORD).await.ok(200);
}

#[tokio::test]
async fn a_lock_out_by_passwords_is_published_once_however_many_arrive_together() {
    let world = World::new().await;
    let ada = world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    join_all((0..12).map(|_| login(&world, EMAIL, "a wrong one"))).await;
    login(&world, EMAIL, PASSWORD).await.refused(429, "password_attempts_exceeded");
    // Nobody has this account, so nobody is told.
    for _ in 0..10 {
        login(&world, "nobody@example.com", "a wrong one").await.refused(401, "credentials_invalid");
    }
    let told = published(&world, NAMES[1]).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((&told[0]["id"], &told[0]["locked_out_by"]), (&ada["customer"]["id"], &json!("passwords")));
    assert_eq!((&told[0]["lockouts"], &told[0]["locked_for_good"]), (&json!(1), &json!(false)));
    assert_eq!(told[0]["locked_out_until"], "2026-05-21T10:30:00.000+00:00");

    for _ in 1..10 {
        world.pass(TimeDelta::hours(24));
        for _ in 0..10 {
            login(&world, EMAIL, "a wrong one").await;
        }
    }
    let told = published(&world, NAMES[1]).await;
    assert_eq!((told.len(), &told[9]["lockouts"]), (10, &json!(10)));
    assert_eq!((&told[9]["locked_for_good"], &told[9]["locked_out_until"]), (&json!(true), &Value::Null), "after a hundred in a row");
}

#[tokio::test]
async fn a_lock_out_by_codes_is_published_once_and_not_if_the_tenth_is_right() {
    let world = World::new().await;
    world.register(PHONE).await;
    world.pass(TimeDelta::minutes(2));
    for _ in 0..9 {
        world.guess(PHONE, "123456").await.refused(422, "code_invalid");
    }
    let code = world.sign_in_code(PHONE).await;
    world.verify(PHONE, code).await.ok(200);
    assert_eq!(published(&world, NAMES[1]).await, Vec::<Value>::new());

    world.pass(TimeDelta::minutes(2));
    let code = wrong(&world.sign_in_code(PHONE).await);
    join_all((0..12).map(|_| world.guess(PHONE, code.clone()))).await;
    world.guess(PHONE, code).await.refused(429, "identity_locked_out");
    world.guess(OTHER_PHONE, "123456").await.refused(422, "code_invalid");
    let told = published(&world, NAMES[1]).await;
    assert_eq!((told.len(), &told[0]["locked_out_by"]), (1, &json!("codes")), "{told:?}");

    // A guess that cannot be published is counted nevertheless, or it would cost nothing.
    world.pass(TimeDelta::minutes(15));
    for _ in 0..9 {
        world.guess(PHONE, "123456").await.refused(422, "code_invalid");
    }
    world.refuse_events().await;
    world.guess(PHONE, "123456").await.refused(429, "identity_locked_out");
    world.accept_events().await;
    world.guess(PHONE, "123456").await.refused(429, "identity_locked_out");
    assert_eq!(published(&world, NAMES[1]).await.len(), 1);
}

#[tokio::test]
async fn a_lock_out_of_the_second_factor_is_published_once_and_not_if_the_tenth_is_right() {
    let world = World::new().await;
    offer(&world, "optional").await;
    let ada = world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let app = enrol(&world, &token(&ada)).await;
    world.pass(TimeDelta::minutes(2));
    let (waiting, code) = (handle(login(&world, EMAIL, PASSWORD).await), app.wrong_code(&world));
    join_all((0..12).map(|_| finish(&world, &waiting, &code))).await;
    let told = published(&world, NAMES[1]).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((&told[0]["id"], &told[0]["locked_out_by"]), (&ada["customer"]["id"], &json!("second_factor")));
    assert_eq!((&told[0]["lockouts"], &told[0]["locked_for_good"]), (&json!(1), &json!(false)));
    assert_eq!(told[0]["locked_out_until"], timestamp(world.clock.now() + TimeDelta::minutes(15)));

    world.pass(TimeDelta::minutes(15));
    let after_nine_wrong_ones = async |last: &str| {
        let waiting = handle(login(&world, EMAIL, PASSWORD).await);
        for _ in 0..9 {
            finish(&world, &waiting, &app.wrong_code(&world)).await.refused(422, "code_invalid");
        }
        finish(&world, &waiting, last).await
    };
    let right = app.code(&world);
    after_nine_wrong_ones(&right).await.ok(200);
    assert_eq!(published(&world, NAMES[1]).await.len(), 1);
    // A code that was used is no guess.
    after_nine_wrong_ones(&right).await.refused(422, "code_used");
    assert_eq!(published(&world, NAMES[1]).await.len(), 1);
}

#[tokio::test]
async fn each_contact_that_changes_is_published_with_what_it_was() {
    let world = World::new().await;
    let bob = world.register_with("bob@example.com", json!({ "phone": PHONE })).await;
    let ada = token(&world.register(EMAIL).await);
    prove(&world, &ada, "phone", PHONE).await;
    world.pass(TimeDelta::minutes(1));
    prove(&world, &ada, "phone", OTHER_PHONE).await;
    let is_code = |word: &&str| word.len() == 19 && word.matches('-').count() == 3;
    let told = world.messages().into_iter().filter(|message| message.to == EMAIL);
    let code = told.filter_map(|notice| notice.text.split_whitespace().find(is_code).map(str::to_owned)).next().unwrap();
    world.storefront("customers/take-back").json(&json!({ "identity": EMAIL, "code": code })).send().await.ok(200);

    let told = published(&world, NAMES[2]).await;
    let (bobs, adas): (Vec<_>, Vec<_>) = told.into_iter().partition(|event| event["id"] == bob["customer"]["id"]);
    let seen = |event: &Value| {
        assert_eq!(event["contact"], "phone");
        (event["change"].clone(), event["before"].clone(), event["after"].clone(), event["verified"].clone())
    };
    assert_eq!(bobs.iter().map(seen).collect::<Vec<_>>(), [(json!("removed"), json!(PHONE), Value::Null, json!(false))]);
    let expected =
        [(json!("added"), Value::Null, json!(PHONE), json!(true)), (json!("changed"), json!(PHONE), json!(OTHER_PHONE), json!(true))];
    let adas: Vec<_> = adas.iter().map(seen).collect();
    assert_eq!(adas[..2], expected);
    assert_eq!((adas.len(), &adas[2]), (3, &(json!("taken_back"), json!(OTHER_PHONE), Value::Null, json!(false))));
}

#[tokio::test]
async fn a_device_is_added_once() {
    let world = World::new().await;
    let ada = world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let sign_in = |agent: &str| {
        let body = json!({ "identity": EMAIL, "password": PASSWORD });
        world.storefront("customers/login").from(&home(EMAIL)).header("user-agent", agent).json(&body).send()
    };
    assert_eq!(published(&world, NAMES[3]).await, Vec::<Value>::new(), "the first one is no news");
    join(sign_in("Shop/1.0 (iPhone)"), sign_in("Shop/1.1 (iPhone)")).await;
    world.pass(TimeDelta::days(2));
    sign_in("Shop/2.0 (iPhone)").await.ok(200);
    let told = published(&world, NAMES[3]).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((&told[0]["kind"], &told[0]["name"]), (&json!("sign_in"), &json!("Shop, iOS")));
    assert_eq!((&told[0]["address"], &told[0]["device"]), (&json!(home(EMAIL)), &Value::Null));

    let bob = token(&world.register("bob@example.com").await);
    let ada = token(&ada);
    let push = |who: &str| {
        let body = json!({ "platform": "ios", "token": "apns-token" });
        world.storefront("customers/register-device").token(who).json(&body).send()
    };
    for who in [&ada, &ada, &bob, &bob] {
        push(who).await.ok(200);
    }
    let pushed: Vec<_> = published(&world, NAMES[3]).await.into_iter().filter(|event| event["kind"] == "push").collect();
    assert_eq!(pushed.len(), 2, "one for each of them");
    assert!(pushed.iter().all(|event| event["platform"] == "ios" && event["device"].as_str().unwrap().starts_with("device_")));
    assert!(!pushed[0].to_string().contains("apns-token"));
}
