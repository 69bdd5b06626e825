//! The transport below requests: slow request heads, idle connections, limits of connections and open files, endless bodies.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use futures::future::join_all;
use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::support::World;
use crate::support::customers::{EMAIL, token};
use crate::support::program::Service;
use crate::support::waiting::{in_time, until};

#[tokio::test]
async fn an_incomplete_request_head_closes_the_connection() {
    let world = World::with(&[("http.header_timeout", "1s")]).await;
    let mut slow = TcpStream::connect(world.address).await.unwrap();
    slow.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: ").await.unwrap();
    let mut rest = Vec::new();
    let _ = in_time("the service closes the connection", slow.read_to_end(&mut rest)).await;
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
    world.request(Method::GET, "/healthz").send().await.ok(200);
}

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let world = World::with(&[("http.header_timeout", "200ms")]).await;
    for beginning in ["", "P", "PRI", "GET /healthz HTTP/1.1\r\n"] {
        let mut silent = TcpStream::connect(world.address).await.unwrap();
        silent.write_all(beginning.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let ended = in_time("the service closes the connection", silent.read_to_end(&mut answer)).await;
        assert!(matches!(ended, Ok(0) | Err(_)), "{beginning:?}");
    }
}

#[tokio::test]
async fn an_http_2_connection_is_closed_at_once() {
    let world = World::new().await;
    for preface in ["PRI * HTTP/2.0\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let mut modern = TcpStream::connect(world.address).await.unwrap();
        modern.write_all(preface.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let _ = in_time("the service closes the connection", modern.read_to_end(&mut answer)).await;
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 400"), "{preface:?}");
    }
}

/// Opens 2,000 connections that send only `beginning`.
async fn crowd(address: SocketAddr, beginning: &str) -> Vec<TcpStream> {
    let mut crowd = Vec::new();
    for _ in 0..2_000 {
        let mut connection = TcpStream::connect(address).await.unwrap();
        connection.write_all(beginning.as_bytes()).await.unwrap();
        crowd.push(connection);
    }
    crowd
}

#[tokio::test]
async fn two_thousand_idle_connections_do_not_delay_requests() {
    let world = World::new().await;
    for beginning in ["", "P", "PRI", "POST /storefront/v1/customers/login HTTP/1.1\r\n"] {
        let idle = crowd(world.address, beginning).await;
        world.request(Method::GET, "/healthz").send().await.ok(200);
        drop(idle);
    }
}

/// Connections with an incomplete request use as little processor time as silent ones. The comparison is independent of the machine.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn incomplete_requests_use_no_processor_time() {
    let world = World::new().await;
    let service = Service::start(&[("database.url", world.database.as_str()), ("http.max_connections_per_address", "5000")]).await;
    let mut costs = Vec::new();
    for beginning in ["", "P", "PRI"] {
        let idle = crowd(service.address, beginning).await;
        // Connections are accepted in order: when this later one gets a response, all of the crowd are accepted.
        let mut last = TcpStream::connect(service.address).await.unwrap();
        last.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
        last.read_to_end(&mut Vec::new()).await.unwrap();
        let before = service.processor_time();
        // The measurement needs a period of time.
        tokio::time::sleep(Duration::from_secs(1)).await;
        costs.push(service.processor_time() - before);
        drop(idle);
    }
    let (silent, begun) = (costs[0], costs[1].max(costs[2]));
    assert!(begun <= 2 * silent + Duration::from_millis(200), "{silent:?} for silent connections, {begun:?} for incomplete requests");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_limit_of_open_files_is_raised_and_its_exhaustion_is_logged() {
    let world = World::new().await;
    let settings = [("database.url", world.database.as_str())];
    let complaint = "a connection could not be accepted";
    let answers = async |service: &Service| {
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        answer.starts_with(b"HTTP/1.1 200")
    };
    let connect = async |service: &Service| join_all((0..200).map(|_| TcpStream::connect(service.address))).await;

    let service = Service::start_with_open_files((100, 1_000), &settings).await;
    let idle = connect(&service).await;
    assert!(answers(&service).await && !service.log().contains(complaint), "{}", service.log());
    drop((idle, service));

    let service = Service::start_with_open_files((100, 100), &settings).await;
    let idle = connect(&service).await;
    until("the service logs that no connection could be accepted", async || service.log().contains(complaint)).await;
    drop(idle);
    assert!(answers(&service).await, "it accepts connections again when files are available");
}

#[tokio::test]
async fn clients_are_told_apart_if_their_proxy_writes_ports_too() {
    let ask = async |world: &World, header: &'static str, client: &str| {
        let identity = format!("{}@example.com", client.replace(|c: char| !c.is_ascii_alphanumeric(), "-").trim_matches('-'));
        let request = world.storefront("customers/request-creation-code").json(&json!({ "identity": identity }));
        request.header(header, client).send().await.status
    };
    let clients = |of: fn(u16) -> String| (1..=6).map(of).collect::<Vec<_>>();
    let with_ports = clients(|port| format!("203.0.113.9:{port}"));
    let forwarded = clients(|port| format!("for=\"[2001:db8::9]:{port}\";proto=https"));
    for (setting, header, clients, another) in [
        ("X-Forwarded-For", "x-forwarded-for", with_ports, "203.0.113.10:1"),
        ("Forwarded", "forwarded", forwarded, "for=203.0.113.9;proto=https"),
    ] {
        let world = World::with(&[("http.forwarded_header", setting)]).await;
        let mut answers = Vec::new();
        for client in &clients {
            answers.push(ask(&world, header, client).await);
        }
        assert_eq!(answers.iter().filter(|status| **status == 429).count(), 1, "five requests a minute for one address: {answers:?}");
        assert_ne!(ask(&world, header, another).await, 429);
    }
}

#[tokio::test]
async fn beyond_the_limit_connections_wait_until_another_one_ends() {
    let world = World::with(&[("http.max_connections", "1")]).await;
    let request = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut first = TcpStream::connect(world.address).await.unwrap();
    let mut second = TcpStream::connect(world.address).await.unwrap();
    second.write_all(request).await.unwrap();
    let mut answer = vec![0; 4096];
    for _ in 0..50 {
        first.write_all(request).await.unwrap();
        let length = first.read(&mut answer).await.unwrap();
        assert!(answer[..length].starts_with(b"HTTP/1.1 200"));
        assert_eq!(second.try_read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::WouldBlock, "the second connection has no response yet");
    }
    drop(first);
    let length = in_time("the second connection gets its response", second.read(&mut answer)).await.unwrap();
    assert!(answer[..length].starts_with(b"HTTP/1.1 200"));
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_cut_however_many_requests_it_sends() {
    let world = World::with(&[("http.write_timeout", "500ms")]).await;
    let mut greedy = TcpStream::connect(world.address).await.unwrap();
    let requests = "GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(1_000);
    let cut = async { while greedy.write_all(requests.as_bytes()).await.is_ok() {} };
    in_time("the service resets the connection", cut).await;
}

#[tokio::test]
async fn a_client_that_reads_slowly_but_reads_gets_its_response() {
    let world = World::with(&[("http.write_timeout", "1s")]).await;
    let whole = world.request(Method::GET, "/openapi.json").send().await.ok(200);
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(64 * 1024).unwrap();
    let mut slow = socket.connect(world.address).await.unwrap();
    // Several responses, which together are more than the buffers of the system take.
    let count = 40;
    slow.write_all("GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(count).as_bytes()).await.unwrap();
    let expected = count * whole.to_string().len();
    let (mut read, mut part) = (0, vec![0; 64 * 1024]);
    let reading = async {
        while read < expected {
            read += slow.read(&mut part).await.unwrap();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    in_time("all responses have arrived", reading).await;
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused() {
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
    in_time("the service answers", async {
        tokio::select! {
            biased;
            _ = listening => {}
            () = async { pouring.await; std::future::pending().await } => {}
        }
    })
    .await;
    assert_eq!(&answer, b"HTTP/1.1 413");
}

#[tokio::test]
async fn a_duplicate_key_or_token_header_is_refused() {
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
