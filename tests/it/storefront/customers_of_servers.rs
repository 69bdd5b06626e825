//! What a company's own servers do with its customers: docs/storefront.md.

use chrono::TimeDelta;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, PHONE, login, me, token};

const PATH: &str = "/storefront/int/v1/customers";

fn grace(world: &World) -> Value {
    json!({ "store": world.store, "name": "Grace", "email": EMAIL, "email_verified": true, "external_id": "40017" })
}

async fn open(world: &World, account: &Value) -> Value {
    world.api(Method::POST, PATH).json(account).send().await.ok(201)["customer"].take()
}

async fn change(world: &World, customer: &Value, changes: Value) -> Value {
    let path = format!("{PATH}/{}", customer["id"].as_str().unwrap());
    world.api(Method::PUT, &path).json(&changes).send().await.ok(200)["customer"].take()
}

#[tokio::test]
async fn an_account_that_a_server_opens_is_entered_with_a_code() {
    let world = World::new().await;
    let mut account = grace(&world);
    account["meta"] = json!({ "tier": "gold" });
    account["title"] = json!("Rear Admiral");
    let opened = open(&world, &account).await;
    assert_eq!((&opened["email_verified"], &opened["phone_verified"], &opened["title"]), (&json!(true), &json!(false), &account["title"]));
    assert_eq!((&opened["external_id"], &opened["meta"]["tier"]), (&json!("40017"), &json!("gold")));
    assert!(world.messages().is_empty(), "she is told nothing");
    let code = world.sign_in_code(EMAIL).await;
    let entered = world.verify(EMAIL, code).await.ok(200);
    assert_eq!((&entered["customer"]["id"], &entered["customer"]["title"]), (&opened["id"], &opened["title"]));
    let events = world.get("events?event=customer.created").await;
    assert_eq!((&events["events"][0]["data"]["id"], events["events"].as_array().unwrap().len()), (&opened["id"], 1));
    let changes = world.get("changes?kind=customer").await;
    assert_eq!((&changes["changes"][0]["action"], &changes["changes"][0]["caller"]), (&json!("created"), &json!("api_key")));
}

#[tokio::test]
async fn a_contact_that_the_company_does_not_vouch_for_is_listed_until_somebody_proves_it() {
    let world = World::new().await;
    let listed = open(&world, &json!({ "store": world.store, "name": "Grace", "email": EMAIL, "phone": PHONE })).await;
    assert_eq!((&listed["email_verified"], &listed["phone_verified"]), (&json!(false), &json!(false)));
    let owner = world.register(EMAIL).await;
    let read = world.api(Method::GET, &format!("{PATH}/{}", listed["id"].as_str().unwrap())).send().await.ok(200);
    assert_eq!((&read["customer"]["email"], &read["customer"]["phone"]), (&Value::Null, &json!(PHONE)));
    assert_eq!(me(&world, &token(&owner)).await["email"], EMAIL);
    // A request that is repeated opens no second account.
    let again = json!({ "store": world.store, "name": "Grace", "phone": PHONE });
    world.api(Method::POST, PATH).json(&again).send().await.refused(422, "phone_taken");
    // What is proven is nobody else's, whoever vouches; and who vouches is trusted with more than customers.
    let writer = world.key_of(world.company, &[Scope::Write]).await;
    world.api(Method::POST, PATH).key(&writer).json(&grace(&world)).send().await.refused(403, "scope_missing");
    world.api(Method::POST, PATH).json(&grace(&world)).send().await.refused(422, "email_taken");
}

#[tokio::test]
async fn an_account_needs_a_contact_a_store_and_an_id_of_its_own() {
    let world = World::new().await;
    open(&world, &grace(&world)).await;
    let refused = async |account: Value, field: &str| {
        let answer = world.api(Method::POST, PATH).json(&account).send().await.refused(422, "body_invalid");
        assert!(answer["fields"][field].is_array(), "{field}: {answer}");
    };
    refused(json!({ "store": world.store, "name": "Ada" }), "email").await;
    refused(json!({ "store": "store_01h455vb4pex5vsknk084sn02q", "name": "Ada", "phone": PHONE }), "store").await;
    refused(json!({ "store": world.store, "name": "Ada", "phone": PHONE, "external_id": "40017" }), "external_id").await;
    refused(json!({ "store": world.store, "name": "Ada", "phone": PHONE, "meta": { "a": "x".repeat(16 * 1024) } }), "meta").await;
    refused(json!({ "store": world.store, "name": "Ada", "phone": PHONE, "password": PASSWORD }), "password").await;
    let tested = json!({ "store": world.store, "identity": PHONE, "code": "424242", "expires_at": "2026-06-01T00:00:00.000+00:00" });
    world.api(Method::POST, "/storefront/int/v1/test-identities").json(&tested).send().await.ok(201);
    let for_tests = json!({ "store": world.store, "name": "Ada", "phone": PHONE });
    world.api(Method::POST, PATH).json(&for_tests).send().await.refused(422, "phone_taken");

    let reader = world.key_of(world.company, &[Scope::Read]).await;
    world.request(Method::POST, PATH).key(&reader).json(&for_tests).send().await.refused(403, "scope_missing");
    let (_, other) = world.another_company(&[Scope::Admin]).await;
    world.request(Method::POST, PATH).key(&other).json(&for_tests).send().await.refused(422, "body_invalid");
}

#[tokio::test]
async fn of_parallel_requests_for_one_customer_of_the_shop_one_opens_an_account() {
    let world = World::new().await;
    let account = |n: u8| json!({ "store": world.store, "name": "Grace", "email": format!("{n}@example.com"), "external_id": "40017" });
    let ask = async |n| world.api(Method::POST, PATH).json(&account(n)).send().await;
    let answers = futures::future::join_all((0..4).map(ask)).await;
    let (opened, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 201);
    assert_eq!(opened.len(), 1);
    for answer in refused {
        answer.refused(422, "body_invalid");
    }
    assert_eq!(world.count("select count(*) from customers").await, 1);
}

#[tokio::test]
async fn a_customer_is_found_by_the_id_of_the_shop_and_changed() {
    let world = World::new().await;
    let opened = open(&world, &grace(&world)).await;
    let find = async |id: &str| {
        let found = world.api(Method::GET, &format!("{PATH}?external_id={id}")).send().await.ok(200);
        found["customers"].as_array().unwrap().iter().map(|customer| customer["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((find("40017").await, find("4001").await), (vec![opened["id"].clone()], vec![]));
    let changed = change(&world, &opened, json!({ "name": "Grace Hopper", "external_id": "50017" })).await;
    assert_eq!((&changed["name"], &changed["external_id"], &changed["email"]), (&json!("Grace Hopper"), &json!("50017"), &json!(EMAIL)));
    change(&world, &opened, json!({ "name": "Grace Hopper" })).await;
    assert_eq!((find("40017").await.len(), find("50017").await.len()), (0, 1));
    let events = world.get("events?event=customer.updated").await;
    assert_eq!(events["events"].as_array().unwrap().len(), 1, "the same again changes nothing");
    assert_eq!(change(&world, &opened, json!({ "external_id": null })).await["external_id"], Value::Null);

    let path = format!("{PATH}/{}", opened["id"].as_str().unwrap());
    let put = |body: Value| world.api(Method::PUT, &path).json(&body).send();
    put(json!({ "email": "new@example.com" })).await.refused(422, "body_invalid");
    let stale = world.api(Method::PUT, &path).header("if-match", "\"1\"").json(&json!({ "name": "Eve" }));
    stale.send().await.refused(412, "record_changed");
    let (_, other) = world.another_company(&[Scope::Admin]).await;
    world.request(Method::PUT, &path).key(&other).json(&json!({ "name": "Eve" })).send().await.refused(404, "record_not_found");
    world.api(Method::POST, &format!("{path}/close")).json(&json!({})).send().await.ok(200);
    put(json!({ "name": "Ada" })).await.refused(409, "account_closed");
}

#[tokio::test]
async fn a_ban_with_an_end_is_lifted_when_it_comes() {
    let world = World::new().await;
    let ada = world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let path = format!("{PATH}/{}/ban", ada["customer"]["id"].as_str().unwrap());
    let ban = |until: &str| world.api(Method::POST, &path).json(&json!({ "reason": "chargebacks", "until": until })).send();
    ban("2026-05-21T10:15:00.000+00:00").await.refused(422, "body_invalid");
    let banned = ban("2026-05-22T10:15:00.000+00:00").await.ok(200);
    assert_eq!(banned["customer"]["banned_until"], "2026-05-22T10:15:00.000+00:00");
    world.pass(TimeDelta::hours(23));
    world.state.storefront.sweep().await.unwrap();
    login(&world, EMAIL, PASSWORD).await.refused(403, "account_banned");
    world.pass(TimeDelta::hours(1));
    world.state.storefront.sweep().await.unwrap();
    login(&world, EMAIL, PASSWORD).await.ok(200);
    let changes = world.get("changes?kind=customer").await;
    let lifted = &changes["changes"][0];
    assert_eq!((&lifted["caller"], &lifted["fields"][2]), (&json!("service"), &json!("banned_until")));
}

#[tokio::test]
async fn an_erased_customer_is_closed_and_forgotten_at_once() {
    let world = World::new().await;
    let ada = world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    world.register(PHONE).await;
    let path = format!("{PATH}/{}/erase", ada["customer"]["id"].as_str().unwrap());
    let erased = world.api(Method::POST, &path).json(&json!({})).send().await.ok(200)["customer"].take();
    assert_eq!((&erased["name"], &erased["email"], erased["closed_at"].is_string()), (&json!(""), &Value::Null, true));
    world.storefront_get("customers/me").token(&token(&ada)).send().await.refused(401, "customer_token_invalid");
    assert_eq!(world.count("select count(*) from sign_ins where identity like '%@%' or (customer_id is null and address <> '')").await, 0);
    // Nobody else is.
    assert_eq!(world.count("select count(*) from customers where phone is not null and erased_at is null").await, 1);
    assert_eq!(world.count("select count(*) from texts where number is not null").await, 1);
    // Again, and one that was closed before.
    world.api(Method::POST, &path).json(&json!({})).send().await.ok(200);
    assert_eq!(world.get("events?event=customer.closed").await["events"].as_array().unwrap().len(), 1);
}
