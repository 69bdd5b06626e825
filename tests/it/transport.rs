//! What comes over the wire before it is a request: slow heads, idle crowds, bodies without end.

use reqwest::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::World;

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
