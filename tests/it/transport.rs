//! The transport below requests: slow request heads, idle connections, endless bodies.

use reqwest::Method;
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
    // Returns because the service closes the connection.
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
        // Returns because the service closes the connection.
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

#[tokio::test]
async fn a_key_or_a_token_that_stands_there_twice_is_none() {
    let world = World::new().await;
    let (key, good) = (world.store_key.clone(), token(&world.register(EMAIL).await));
    let status = async |headers: &[(&str, &str)]| {
        let mut stream = TcpStream::connect(world.address).await.unwrap();
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let request = format!("GET /storefront/v1/customers/me HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer["HTTP/1.1 ".len()..][..3].to_owned()
    };
    let bearer = format!("Bearer {key}");
    let (right, wrong) = (("authorization", bearer.as_str()), ("authorization", "Bearer store_0"));
    let (valid, invalid) = (("customer-token", good.as_str()), ("Customer-Token", "1|x"));
    assert_eq!(status(&[right, valid]).await, "200");
    for twice in [[right, right, valid], [wrong, right, valid], [right, valid, valid], [right, invalid, valid], [right, valid, invalid]] {
        assert_eq!(status(&twice).await, "401", "{twice:?}");
    }
}
