//! What comes over the wire before it is a request: slow heads, idle crowds, bodies without end, generated bodies.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::World;
use crate::support::people::{EMAIL, token};

#[tokio::test]
async fn who_does_not_finish_the_head_of_a_request_is_hung_up_on() {
    let world = World::with(&[("http.header_timeout", "200ms")]).await;
    let mut slow = TcpStream::connect(world.address).await.unwrap();
    slow.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: ").await.unwrap();
    let mut rest = Vec::new();
    // Ends because the service hangs up; the story waits for that alone.
    let _ = slow.read_to_end(&mut rest).await;
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
    world.request(Method::GET, "/healthz").send().await.ok(200);
}

#[tokio::test]
async fn who_says_nothing_at_all_is_hung_up_on() {
    let world = World::with(&[("http.header_timeout", "200ms")]).await;
    for beginning in ["", "P", "PRI", "PRI * HTTP/2.0\r\n"] {
        let mut silent = TcpStream::connect(world.address).await.unwrap();
        silent.write_all(beginning.as_bytes()).await.unwrap();
        // Ends because the service hangs up; the story waits for that alone.
        assert!(matches!(silent.read_to_end(&mut Vec::new()).await, Ok(0) | Err(_)), "{beginning:?}");
    }
}

#[tokio::test]
async fn two_thousand_idle_connections_keep_nobody_waiting() {
    let world = World::new().await;
    let mut idle = Vec::new();
    for _ in 0..2_000 {
        idle.push(TcpStream::connect(world.address).await.unwrap());
    }
    world.request(Method::GET, "/healthz").send().await.ok(200);
    drop(idle);
}

#[tokio::test]
async fn a_body_without_end_is_cut_off_at_the_limit() {
    let world = World::new().await;
    let (mut answers, mut endless) = TcpStream::connect(world.address).await.unwrap().into_split();
    let head = format!(
        "POST /storefront/v1/customers/login HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
        world.store_key
    );
    endless.write_all(head.as_bytes()).await.unwrap();
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x1_0000));
    let mut answer = [0; 12];
    let pouring = async { while endless.write_all(chunk.as_bytes()).await.is_ok() {} };
    let listening = async { answers.read_exact(&mut answer).await.unwrap() };
    tokio::select! {
        biased;
        _ = listening => {}
        () = async { pouring.await; std::future::pending().await } => {}
    }
    assert_eq!(&answer, b"HTTP/1.1 413");
}

/// Any JSON, with the members that the storefront knows among others.
fn any_body() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        any::<String>(),
        Just("+12015550123".to_owned()),
        Just(EMAIL.to_owned()),
        Just("123456".to_owned()),
        "[0-9+ ()-]{0,20}",
        "[a-z@.\\PC]{0,40}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        text.prop_map(Value::from)
    ];
    let value = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(any::<String>(), inner, 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    });
    let name = prop::sample::select(vec![
        "name",
        "identity",
        "email",
        "phone",
        "password",
        "code",
        "mode",
        "platform",
        "os",
        "token",
        "device",
        "title",
        "photo_url",
        "meta",
        "purpose",
        "x",
    ]);
    prop::collection::hash_map(name, value, 0..8)
        .prop_map(|members| Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
}

#[tokio::test]
async fn generated_bodies_are_never_our_fault() {
    let world = World::with(&[("storefront.requests_per_minute", "1000000")]).await;
    let signed_in = token(&world.register(EMAIL).await);
    let me = world.storefront_get("customers/me").token(&signed_in).send().await.ok(200);
    let own = format!("customers/{}", me["id"].as_str().unwrap());
    let mut runner = TestRunner::deterministic();
    for (method, path) in [
        (Method::POST, "customers"),
        (Method::POST, "customers/request-creation-code"),
        (Method::POST, "customers/login"),
        (Method::POST, "customers/login-with-sms"),
        (Method::POST, "customers/verify-code"),
        (Method::POST, "customers/request-phone-verification"),
        (Method::POST, "customers/verify-phone-number"),
        (Method::POST, "customers/confirm-account-closure"),
        (Method::POST, "customers/register-device"),
        (Method::POST, "customers/unregister-device"),
        (Method::PUT, own.as_str()),
    ] {
        for _ in 0..16 {
            let body = any_body().new_tree(&mut runner).unwrap().current();
            let request = world.request(method.clone(), &format!("/storefront/v1/{path}")).key(&world.store_key).token(&signed_in);
            // `Answer` checks that whatever fails fails as a problem; it must never be a fault of ours.
            let answer = request.json(&body).send().await;
            assert!(answer.status < 500, "{method} {path} {body}: {:?}", answer.body);
        }
    }
    assert_eq!(world.count("select count(*) from customers").await, 1);
}
