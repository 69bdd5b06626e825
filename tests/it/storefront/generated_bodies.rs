//! Generated bodies for every storefront route: every request gets a response without an internal error, and a refused request
//! leaves no rows behind (decisions, section 1).

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use reqwest::Method;
use serde_json::{Value, json};

use crate::storefront::tokens::{OPEN, SIGNED_IN};
use crate::support::World;
use crate::support::chance::chance;
use crate::support::customers::{EMAIL, PASSWORD, token};
use crate::support::identity_provider::IdentityProvider;
use crate::support::socket_server::KEY;

/// Bodies per route; larger numbers found nothing new.
const BODIES: usize = 24;

/// A field that is read but not documented, and one that is not read.
const OTHERS: [&str; 2] = ["os", "purpose"];

/// The documented body fields of a route.
fn members(document: &Value, method: &Method, path: &str) -> Vec<String> {
    let operation = &document["paths"][format!("/storefront/v1/{path}")][method.as_str().to_lowercase()];
    let properties = operation["requestBody"]["content"]["application/json"]["schema"]["properties"].as_object();
    properties.into_iter().flatten().map(|(name, _)| name.clone()).chain(OTHERS.map(str::to_owned)).collect()
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        Just("+12015550123".to_owned()),
        Just(EMAIL.to_owned()),
        Just("123456".to_owned()),
        Just("\u{0}".to_owned()),
        Just("\u{feff}\u{202e}\u{fffd}\u{10ffff}".to_owned()),
        Just("x".repeat(70_000)),
        "[0-9+ ()-]{0,20}",
        "[a-z@.\\PC]{0,40}",
        "[A-Za-z0-9_.-]{0,60}",
    ]
}

pub fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        any_text().prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(any::<String>(), inner, 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A document with some of the fields, each with a value of any type.
fn any_document(members: &[String]) -> impl Strategy<Value = Vec<u8>> + use<> {
    prop::collection::vec((prop::sample::select(members.to_vec()), any_value()), 0..10).prop_map(|members| {
        // Formatted by hand, so that a field may occur twice.
        let members: Vec<_> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        format!("{{{}}}", members.join(",")).into_bytes()
    })
}

/// A document that was damaged in transit.
fn any_damaged_document(members: &[String]) -> impl Strategy<Value = Vec<u8>> + use<> {
    let damage =
        prop::sample::select(vec![&b"\\u0000"[..], b"\\ud800", b"\\udc00\\ud800", b"\0", b"\xff\xfe", b"\"", b"{", b"\\", b"1e999"]);
    (any_document(members), any::<prop::sample::Index>(), damage).prop_map(|(mut document, at, damage)| {
        let at = at.index(document.len() + 1);
        document.splice(at..at, damage.iter().copied());
        document
    })
}

fn any_body(members: &[String]) -> impl Strategy<Value = Vec<u8>> + use<> {
    let member = || prop::sample::select(members.to_vec());
    let nested = |name: &str, depth: usize| format!("{{\"{name}\":{}{}}}", "[".repeat(depth), "]".repeat(depth)).into_bytes();
    prop_oneof![
        6 => any_document(members),
        3 => any_damaged_document(members),
        1 => prop::collection::vec(any::<u8>(), 0..200),
        1 => (member(), prop::sample::select(vec![100_usize, 200, 100_000])).prop_map(move |(name, depth)| nested(&name, depth)),
        1 => member().prop_map(|name| format!("{{\"{name}\":\"{}\"}}", "x".repeat(300 * 1024)).into_bytes()),
        1 => any_value().prop_map(|value| value.to_string().into_bytes()),
    ]
}

/// The row counts of everything that a request may create. One that is refused may lock the customer out, which is published.
async fn rows(world: &World) -> String {
    let tables = "select concat_ws(' ', (select count(*) from customers), (select count(*) from customer_tokens where revoked_at is null),
             (select count(*) from devices), (select count(*) from verification_codes), (select count(*) from provider_links),
             (select count(*) from card_customers), (select count(*) from events where name <> 'customer.locked_out'), (select count(*) from texts where status = 'sent'),
             (select md5(string_agg(customers::text, ' ' order by id)) from customers))";
    sqlx::query_scalar(tables).fetch_one(&world.pool).await.unwrap()
}

#[tokio::test]
async fn generated_bodies_cause_no_internal_error_and_refused_ones_store_nothing() {
    let idp = IdentityProvider::start().await;
    let world = idp
        .world(&[
            ("storefront.requests_per_minute", "1000000"),
            ("socket.key", KEY),
            // No server listens there, which is a fault of the provider (502).
            ("providers.card.base_url", "http://127.0.0.1:9"),
        ])
        .await;
    world.card_gateway(world.company).await;
    let customer = world.register_with(EMAIL, json!({ "password": PASSWORD })).await["customer"]["id"].as_str().unwrap().to_owned();
    let sign_in = json!({ "identity": EMAIL, "password": PASSWORD });
    let hash: String = sqlx::query_scalar("select password_hash from customers").fetch_one(&world.pool).await.unwrap();
    let document = world.request(Method::GET, "/openapi.json").send().await.ok(200);
    let mut runner = chance();
    for (method, path) in SIGNED_IN.iter().chain(OPEN) {
        let bodies = any_body(&members(&document, method, path));
        let path = format!("/storefront/v1/{}", path.replace("customers/{id}", &format!("customers/{customer}")).replace("{id}", "0"));
        // One sign-in per route, because some routes end it, and one may have changed the password.
        sqlx::query("update customers set password_hash = $1").bind(&hash).execute(&world.pool).await.unwrap();
        let mut signed_in = token(&world.storefront("customers/login").json(&sign_in).send().await.ok(200));
        let mut before = rows(&world).await;
        for _ in 0..BODIES {
            let body = bodies.new_tree(&mut runner).unwrap().current();
            let request =
                world.request(method.clone(), &path).key(&world.store_key).token(&signed_in).header("content-type", "application/json");
            // `Answer` checks that every error response is a problem document.
            let answer = request.body(body.clone()).send().await;
            let body = String::from_utf8_lossy(&body[..body.len().min(500)]);
            let theirs = ["card_provider_failed", "message_not_sent"].contains(&answer.body["code"].as_str().unwrap_or_default());
            assert!(answer.status < 500 || theirs, "{method} {path} {body}: {:?}", answer.body);
            if answer.status >= 400 && !theirs {
                assert_eq!(rows(&world).await, before, "{method} {path} {body}: {:?}", answer.body);
            } else if path.contains("/logout") {
                signed_in = token(&world.storefront("customers/login").json(&sign_in).send().await.ok(200));
            }
            before = rows(&world).await;
        }
    }
    assert_eq!(world.count("select count(*) from customers").await, 1);
    assert_eq!(world.count("select count(*) from sign_ins where identity like '%123456%' or user_agent is not null").await, 0);
}
