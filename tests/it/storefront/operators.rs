//! The storefront for operators: decisions, section 9 (`storefront/int/v1`).

use chrono::TimeDelta;
use portico::callers::Scope;
use portico::kernel::ids::CustomerId;
use portico::storefront::export_customer;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::card_provider::CardProvider;
use crate::support::customers::{EMAIL, PASSWORD, PHONE, token};

async fn list(world: &World, path: &str) -> Value {
    world.api(Method::GET, &format!("/storefront/int/v1/{path}")).send().await.ok(200)
}

#[tokio::test]
async fn texts_are_read_only_and_kept_as_long_as_the_audit() {
    let world = World::new().await;
    world.register(PHONE).await;
    world.storefront("customers/login-with-sms").json(&json!({ "phone": PHONE })).send().await.refused(429, "number_cooldown");
    let sent = list(&world, "texts?status=sent").await;
    assert!(sent["texts"][0]["used_at"].is_string(), "the registration used the code");
    world.api(Method::POST, "/storefront/int/v1/texts").json(&json!({})).send().await.refused(405, "method_not_allowed");
    world.pass(TimeDelta::days(90));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from texts").await, 2);
    world.pass(TimeDelta::seconds(1));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from texts").await, 0);
}

#[tokio::test]
async fn a_limit_of_zero_allows_no_text() {
    for (limit, code) in [
        ("texts_per_number_and_hour", "number_cooldown"),
        ("texts_per_number_and_day", "number_cooldown"),
        ("numbers_per_range", "range_cooldown"),
        ("texts_per_day", "text_budget_used"),
    ] {
        let world = World::new().await;
        let path = format!("/storefront/int/v1/stores/{}", world.store);
        world.api(Method::PUT, &path).json(&json!({ limit: 0 })).send().await.ok(200);
        let body = json!({ "mode": "sms", "identity": PHONE });
        world.storefront("customers/request-creation-code").json(&body).send().await.refused(429, code);
        assert_eq!(world.messages().len(), 0);
    }
}

#[tokio::test]
async fn a_store_deleted_during_requests_is_closed_at_once() {
    for _ in 0..5 {
        let world = World::new().await;
        let ada = token(&world.register(EMAIL).await);
        let me = || world.storefront_get("customers/me").token(&ada).send();
        me().await.ok(200);
        let path = format!("/storefront/int/v1/stores/{}", world.store);
        let asked = futures::future::join_all((0..20).map(|_| me()));
        let (_, deleted) = futures::future::join(asked, world.api(Method::DELETE, &path).send()).await;
        deleted.ok(200);
        me().await.refused(401, "store_key_invalid");
    }
}

#[tokio::test]
async fn a_pause_that_nobody_has_seen_is_not_lifted() {
    let world = World::new().await;
    let path = format!("/storefront/int/v1/stores/{}", world.store);
    let seen = world.api(Method::GET, &path).send().await;
    world.pass(TimeDelta::seconds(1));
    world.api(Method::PUT, &path).json(&json!({ "texts_paused": true })).send().await.ok(200);
    let lift = |version: &str| {
        world.api(Method::PUT, &path).header("if-match", version).json(&json!({ "texts_paused": false, "name": "Acme" })).send()
    };
    lift(seen.header("etag").unwrap()).await.refused(412, "record_changed");
    let paused = world.api(Method::GET, &path).send().await;
    assert_eq!(paused.body["store"]["texts_paused"], true);
    assert_eq!(paused.body["store"]["updated_at"], paused.body["store"]["texts_paused_at"]);
    lift(paused.header("etag").unwrap()).await.ok(200);
}

#[tokio::test]
async fn a_store_whose_codes_are_used_is_not_paused() {
    for (used, paused) in [(9, true), (10, false)] {
        let world = World::new().await;
        for number in 0..50 {
            let number = format!("+1201{}0123", 200 + number);
            let code = world.creation_code(&number).await;
            if world.count("select count(*) from customers").await < used {
                world.open_account(&number, &code).await.ok(201);
            }
        }
        world.pass(TimeDelta::minutes(3));
        let body = json!({ "mode": "sms", "identity": "+12013000123" });
        let answer = world.storefront("customers/request-creation-code").json(&body).send().await;
        assert_eq!(answer.status, if paused { 423 } else { 200 }, "{used} used");
    }
}

#[tokio::test]
async fn an_operator_pauses_a_stores_texts_with_a_reason_and_mails_go_on() {
    let world = World::new().await;
    let path = format!("/storefront/int/v1/stores/{}", world.store);
    let put = |body: Value| world.api(Method::PUT, &path).json(&body).send();
    assert_eq!(put(json!({ "texts_paused": true })).await.ok(200)["store"]["texts_paused_reason"], "paused manually");
    put(json!({ "texts_paused": true, "texts_paused_reason": "a campaign" })).await.ok(200);
    let store = list(&world, &format!("stores/{}", world.store)).await["store"].clone();
    assert_eq!((&store["texts_paused_reason"], &store["texts_paused_at"]), (&json!("a campaign"), &json!("2026-05-21T10:15:00.000+00:00")));
    let ask = |mode: &str, identity: &str| {
        world.storefront("customers/request-creation-code").json(&json!({ "mode": mode, "identity": identity })).send()
    };
    let refusal = ask("sms", PHONE).await.refused(423, "texts_paused");
    assert!(refusal["retry_after"].as_u64().unwrap() >= 60);
    ask("email", EMAIL).await.ok(200);
    put(json!({ "texts_paused": false })).await.ok(200);
    ask("sms", PHONE).await.ok(200);
}

#[tokio::test]
async fn a_stores_limits_are_its_own() {
    let world = World::new().await;
    let path = format!("/storefront/int/v1/stores/{}", world.store);
    let store = list(&world, &format!("stores/{}", world.store)).await["store"].clone();
    for (limit, default) in [
        ("text_countries", json!([])),
        ("seconds_between_texts", json!(30)),
        ("texts_per_number_and_hour", json!(6)),
        ("texts_per_number_and_day", json!(12)),
        ("numbers_per_range", json!(20)),
        ("texts_per_day", json!(1_000)),
    ] {
        assert_eq!(store[limit], default, "{limit}");
    }
    let limits = json!({ "text_countries": ["gb"], "seconds_between_texts": 0, "texts_per_day": 1 });
    world.api(Method::PUT, &path).json(&limits).send().await.ok(200);
    let ask = |number: &str| {
        let body = json!({ "mode": "sms", "identity": number });
        world.storefront("customers/request-creation-code").json(&body).send()
    };
    ask(PHONE).await.refused(422, "number_unreachable");
    ask("+447400123456").await.ok(200);
    let refusal = ask("+447400123457").await.refused(429, "text_budget_used");
    assert_eq!(refusal["retry_after"], 86_400);
    for (body, member) in [
        (json!({ "text_countries": ["germany"] }), "text_countries[0]"),
        // Great Britain is GB, and nothing would be sent there.
        (json!({ "text_countries": ["UK"] }), "text_countries[0]"),
        (json!({ "texts_per_day": -1 }), "texts_per_day"),
        (json!({ "name": "" }), "name"),
        (json!({ "colour": "red" }), "colour"),
    ] {
        let refusal = world.api(Method::PUT, &path).json(&body).send().await.refused(422, "body_invalid");
        assert!(refusal["fields"][member].is_array(), "{refusal}");
    }
    // The apps of a deleted store are refused at once.
    world.api(Method::DELETE, &path).send().await.ok(200);
    ask("+447400123458").await.refused(401, "store_key_invalid");
}

#[tokio::test]
async fn the_conversion_of_each_range_is_known() {
    let world = World::new().await;
    world.register(PHONE).await;
    world.creation_code("+12015550199").await;
    world.creation_code("+447400123456").await;
    let ranges = list(&world, "texts/conversion").await["ranges"].clone();
    assert_eq!(
        ranges[0],
        json!({ "country": "GB", "number_range": "+44740012", "texted": 1, "used": 0, "undelivered": 0, "conversion": 0.0 })
    );
    assert_eq!(
        ranges[1],
        json!({ "country": "US", "number_range": "+1201555", "texted": 2, "used": 1, "undelivered": 0, "conversion": 0.5 })
    );
    // It is the company's own, and that of the last 24 hours.
    let (_, other) = world.another_company(&[Scope::Read]).await;
    let conversion = || world.request(Method::GET, "/storefront/int/v1/texts/conversion");
    assert_eq!(conversion().key(&other).send().await.ok(200)["ranges"], json!([]));
    world.pass(TimeDelta::days(1) - TimeDelta::seconds(1));
    assert_eq!(conversion().key(&world.api_key).send().await.ok(200)["ranges"], ranges);
    world.pass(TimeDelta::seconds(1));
    assert_eq!(conversion().key(&world.api_key).send().await.ok(200)["ranges"], json!([]));
}

#[tokio::test]
async fn the_audit_has_successes_and_refusals_and_no_secrets() {
    let world = World::new().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let login = |password: &str| {
        let body = json!({ "identity": "ADA@example.com", "password": password });
        world.storefront("customers/login").json(&body).from("203.0.113.9").header("user-agent", "Shop/1.0").send()
    };
    let right = token(&login(PASSWORD).await.ok(200));
    login("wrong password").await.refused(401, "credentials_invalid");
    world.verify(EMAIL, "123456").await.refused(422, "code_invalid");
    let log = list(&world, "sign-ins?sort=created_at").await["sign_ins"].clone();
    let mut entries: Vec<_> =
        log.as_array().unwrap().iter().map(|entry| (entry["method"].as_str().unwrap(), entry["outcome"].as_str().unwrap())).collect();
    entries.sort_unstable();
    assert_eq!(
        entries,
        [("code", "code_invalid"), ("password", "credentials_invalid"), ("password", "signed_in"), ("registration", "signed_in")]
    );
    let refused = list(&world, "sign-ins?outcome=credentials_invalid").await["sign_ins"][0].clone();
    assert_eq!((&refused["identity"], &refused["address"]), (&json!(EMAIL), &json!("203.0.113.9")));
    assert_eq!((&refused["user_agent"], &refused["customer"]), (&json!("Shop/1.0"), &Value::Null));
    let everything = log.to_string();
    assert!(!everything.contains(&right) && !everything.contains(PASSWORD) && !everything.contains("wrong password"));
    // A password typed into the wrong field is not stored.
    let body = json!({ "identity": PASSWORD, "password": EMAIL });
    world.storefront("customers/login").json(&body).send().await.refused(401, "credentials_invalid");
    assert_eq!(world.count("select count(*) from sign_ins where identity like '%horse%'").await, 0);

    // Kept for 90 days.
    world.pass(TimeDelta::days(90));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from sign_ins").await, 5);
    world.pass(TimeDelta::seconds(1));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from sign_ins").await, 0);
}

#[tokio::test]
async fn an_operator_ends_sign_ins() {
    let world = World::new().await;
    let login = world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let (first, customer) = (token(&login), login["customer"]["id"].as_str().unwrap().to_owned());
    let body = json!({ "identity": EMAIL, "password": PASSWORD });
    let second = token(&world.storefront("customers/login").json(&body).send().await.ok(200));
    let me = async |token: &str| world.storefront_get("customers/me").token(token).send().await.status;

    let sessions = list(&world, &format!("tokens?customer={customer}&sort=created_at")).await["tokens"].clone();
    assert_eq!(sessions.as_array().unwrap().len(), 2);
    assert!(!sessions.to_string().contains(first.split_once('|').unwrap().1));
    let path = format!("/storefront/int/v1/tokens/{}", sessions[0]["id"].as_str().unwrap());
    let (_, other) = world.another_company(&[Scope::Write]).await;
    world.request(Method::DELETE, &path).key(&other).send().await.refused(404, "record_not_found");
    let reader = world.key_of(world.company, &[Scope::Read]).await;
    world.request(Method::DELETE, &path).key(&reader).send().await.refused(403, "scope_missing");
    world.api(Method::DELETE, &path).send().await.ok(200);
    world.api(Method::DELETE, &path).send().await.refused(404, "record_not_found");
    assert_eq!(me(&first).await + me(&second).await, 601, "one of the two is ended");

    let all = format!("/storefront/int/v1/customers/{customer}/revoke-tokens");
    world.request(Method::POST, &all).key(&other).send().await.refused(404, "record_not_found");
    assert_eq!(world.api(Method::POST, &all).send().await.ok(200)["revoked"], 1);
    assert_eq!((me(&first).await, me(&second).await), (401, 401));
}

#[tokio::test]
async fn an_operator_sees_how_a_sign_in_was_made_until_the_customer_is_erased() {
    let world = World::new().await;
    let code = world.creation_code(EMAIL).await;
    let body = json!({ "name": "Ada", "identity": EMAIL, "code": code });
    let registration = world.storefront("customers").json(&body).from("203.0.113.9").header("user-agent", "Shop/1.0");
    let ada = token(&registration.send().await.ok(201));
    let origin_of = |session: &Value| json!([session["method"], session["address"], session["user_agent"]]);
    let session = list(&world, "tokens").await["tokens"][0].clone();
    assert_eq!(origin_of(&session), json!(["registration", "203.0.113.9", "Shop/1.0"]));
    // The audit entry is found by the UUID of the sign-in.
    let entry = list(&world, &format!("sign-ins/{}", session["uuid"].as_str().unwrap())).await["sign_in"].clone();
    assert_eq!((&entry["customer"], &entry["outcome"]), (&session["customer"], &json!("signed_in")));

    world.storefront("customers/account-closure").token(&ada).send().await.ok(200);
    let code = json!({ "code": world.last_code() });
    world.storefront("customers/confirm-account-closure").token(&ada).json(&code).send().await.ok(200);
    world.pass(TimeDelta::days(30));
    world.state.storefront.sweep().await.unwrap();
    assert_eq!(origin_of(&list(&world, "tokens").await["tokens"][0]), json!(["registration", null, null]));
}

#[tokio::test]
async fn an_ended_session_is_shown_as_long_as_the_audit_and_then_deleted() {
    let world = World::new().await;
    let first = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    let body = json!({ "identity": EMAIL, "password": PASSWORD });
    let second = token(&world.storefront("customers/login").json(&body).send().await.ok(200));
    world.storefront("customers/logout").token(&first).send().await.ok(200);
    let sweep = async || world.state.storefront.sweep().await.unwrap();
    let shown = async || list(&world, "tokens").await["tokens"].as_array().unwrap().len();
    world.pass(TimeDelta::days(90));
    sweep().await;
    assert_eq!(shown().await, 2);
    world.pass(TimeDelta::seconds(1));
    sweep().await;
    assert_eq!(shown().await, 1);
    world.storefront_get("customers/me").token(&second).send().await.ok(200);
    // The token has expired, and the retention of ended sign-ins has passed too.
    world.pass(TimeDelta::days(500));
    sweep().await;
    assert_eq!(shown().await, 0);
}

#[tokio::test]
async fn operators_find_customers() {
    let world = World::new().await;
    let ada = world.register(EMAIL).await;
    world.register("bob@example.com").await;
    assert_eq!(list(&world, "customers").await["customers"].as_array().unwrap().len(), 2);
    assert_eq!(list(&world, "customers?query=ada@").await["customers"][0]["id"], ada["customer"]["id"]);
    let eve = world.register(PHONE).await;
    for found in [format!("phone={}", PHONE.replace('+', "%2B")), format!("query={}", &PHONE[4..])] {
        let found = list(&world, &format!("customers?{found}")).await;
        assert_eq!(found["customers"].as_array().unwrap().iter().map(|found| &found["id"]).collect::<Vec<_>>(), [&eve["customer"]["id"]]);
    }
    let found = list(&world, &format!("customers/{}", ada["customer"]["uuid"].as_str().unwrap())).await;
    assert_eq!(found["customer"]["email"], EMAIL);
    let (_, other) = world.another_company(&[Scope::Admin]).await;
    let path = format!("/storefront/int/v1/customers/{}", ada["customer"]["id"].as_str().unwrap());
    world.request(Method::GET, &path).key(&other).send().await.refused(404, "record_not_found");
}

#[tokio::test]
async fn an_export_is_complete_and_contains_no_credentials() {
    let cards = CardProvider::start().await;
    let world = cards.world(&[]).await;
    let login = world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let ada = token(&login);
    let device = json!({ "platform": "ios", "token": "apns" });
    world.storefront("customers/register-device").token(&ada).json(&device).send().await.ok(200);
    world.storefront("customers/request-phone-verification").token(&ada).json(&json!({ "phone": PHONE })).send().await.ok(200);
    let code = json!({ "code": world.last_code() });
    world.storefront("customers/verify-phone-number").token(&ada).json(&code).send().await.ok(200);
    let card = world.storefront("customers/card-setup-intent").token(&ada).send().await.ok(200);
    // One refused attempt with her address, and one with an address that is not hers.
    for identity in [EMAIL, "bob@example.com"] {
        let body = json!({ "identity": identity, "password": "wrong password" });
        world.storefront("customers/login").json(&body).send().await.refused(401, "credentials_invalid");
    }
    let id: CustomerId = login["customer"]["id"].as_str().unwrap().parse().unwrap();
    let export = async |id| export_customer(&mut world.pool.acquire().await.unwrap(), Some(&world.application_key), id).await.unwrap();
    let exported = export(id).await.unwrap().document;
    assert_eq!((&exported["customer"]["email"], &exported["customer"]["has_password"]), (&json!(EMAIL), &json!(true)));
    assert_eq!((&exported["devices"][0]["token"], &exported["sign_ins"][0]["method"]), (&json!("apns"), &json!("registration")));
    let outcomes: Vec<_> = exported["sign_ins"].as_array().unwrap().iter().map(|entry| &entry["outcome"]).collect();
    assert_eq!(outcomes, ["signed_in", "credentials_invalid"]);
    assert_eq!((&exported["texts"][0]["number"], &exported["texts"][0]["status"]), (&json!(PHONE), &json!("sent")));
    assert_eq!(exported["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(exported["card_customers"][0]["provider_id"], card["customerId"]);
    let text = exported.to_string();
    assert!(
        !text.contains("argon2")
            && !text.contains("digest")
            && !text.contains("idempotency_key")
            && !text.contains(ada.split_once('|').unwrap().1)
    );
    let nobody: CustomerId = "customer_01h455vb4pex5vsknk084sn02q".parse().unwrap();
    assert!(export(nobody).await.is_none());
}
