//! Decisions, section 1, by bytes on a connection: whatever a client sends, a failing answer is a problem document.

use std::time::Duration;

use portico::callers::Scope;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::World;
use crate::support::waiting::in_time;

const LIMIT: usize = 256 * 1024;

/// A response as it came.
#[derive(Debug)]
struct Wire {
    status: u16,
    head: String,
    body: String,
}

impl Wire {
    fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no response: {text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    #[track_caller]
    fn refused(&self, status: u16, code: &str) {
        let problem: Value = serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no problem document: {self:?}"));
        assert_eq!((self.status, problem["code"].as_str()), (status, Some(code)), "{self:?}");
        assert_eq!(problem["status"], status);
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        assert_eq!(self.header("cache-control"), Some("no-store"), "{self:?}");
        assert_eq!(self.header("x-request-id"), problem["request_id"].as_str(), "{self:?}");
        assert!(problem["detail"].is_string() && problem["error"] == problem["detail"] && problem["errors"][0].is_string(), "{problem}");
    }
}

async fn connect(world: &World) -> TcpStream {
    TcpStream::connect(world.address).await.unwrap()
}

/// What the service answers to these bytes until it ends the connection.
async fn answer(world: &World, bytes: impl AsRef<[u8]>) -> Wire {
    let mut stream = connect(world).await;
    stream.write_all(bytes.as_ref()).await.unwrap();
    let mut read = Vec::new();
    in_time("the service ends the connection", stream.read_to_end(&mut read)).await.unwrap();
    Wire::read(&String::from_utf8(read).unwrap())
}

/// A head of HTTP/1.1 whose connection ends with the response.
fn head(method_and_path: &str, headers: &str) -> String {
    format!("{method_and_path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n")
}

#[tokio::test]
async fn what_is_no_http_is_a_problem() {
    let world = World::new().await;
    for nonsense in [
        "hello\r\n\r\n",
        "GET /healthz HTTP/9.9\r\nhost: x\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nhost x\r\n\r\n",
        "GET /a b HTTP/1.1\r\nhost: x\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nhost: x\r\nx: \u{1}\r\n\r\n",
        "POST /healthz HTTP/1.1\r\nhost: x\r\ncontent-length: ten\r\n\r\n",
        "POST /healthz HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip\r\n\r\n",
    ] {
        answer(&world, nonsense).await.refused(400, "bad_request");
    }
}

#[tokio::test]
async fn a_request_that_follows_a_good_one_is_refused_alone() {
    let world = World::new().await;
    let mut stream = connect(&world).await;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\nnonsense\r\n\r\n").await.unwrap();
    let mut read = String::new();
    in_time("the service ends the connection", stream.read_to_string(&mut read)).await.unwrap();
    let (good, bad) = read.split_at(read.rfind("HTTP/1.1 ").unwrap());
    assert_eq!(Wire::read(good).status, 200);
    Wire::read(bad).refused(400, "bad_request");
}

#[tokio::test]
async fn heads_and_addresses_have_a_limit() {
    let world = World::new().await;
    let address = format!("/healthz?{}", "a".repeat(16 * 1024));
    answer(&world, head(&format!("GET {address}"), "")).await.refused(414, "address_too_long");
    let mut stream = connect(&world).await;
    let (mut reading, mut writing) = stream.split();
    let endless = format!("GET /healthz HTTP/1.1\r\nhost: x\r\nx-long: {}", "a".repeat(1024 * 1024));
    let mut read = String::new();
    in_time("the service refuses the head", async {
        let pouring = async { while writing.write_all(endless.as_bytes()).await.is_ok() {} };
        let mut part = [0; 4096];
        let listening = async { reading.read(&mut part).await.unwrap() };
        tokio::select! {
            length = listening => read.push_str(std::str::from_utf8(&part[..length]).unwrap()),
            () = async { pouring.await; std::future::pending().await } => {}
        }
    })
    .await;
    Wire::read(&read).refused(431, "headers_too_large");
}

#[tokio::test]
async fn a_request_names_its_host_once() {
    let world = World::new().await;
    let ask = |version: &str, hosts: &str| format!("GET /healthz HTTP/{version}\r\nconnection: close\r\n{hosts}\r\n");
    answer(&world, ask("1.1", "")).await.refused(400, "bad_request");
    answer(&world, ask("1.1", "host: x\r\nHost: x\r\n")).await.refused(400, "bad_request");
    answer(&world, ask("1.0", "host: x\r\nhost: y\r\n")).await.refused(400, "bad_request");
    for (version, hosts) in [("1.1", "host: x\r\n"), ("1.1", "host:\r\n"), ("1.0", "")] {
        assert_eq!(answer(&world, ask(version, hosts)).await.status, 200, "{version} {hosts}");
    }
}

#[tokio::test]
async fn the_limit_of_a_body_holds_on_every_route() {
    let world = World::new().await;
    for route in ["GET /healthz", "POST /storefront/v1/customers/logout", "GET /console", "POST /nothing", "DELETE /problems"] {
        let declared = |length: usize| head(route, &format!("content-length: {length}\r\n"));
        answer(&world, declared(LIMIT + 1)).await.refused(413, "body_too_large");
        assert_ne!(answer(&world, declared(LIMIT) + &"x".repeat(LIMIT)).await.status, 413, "{route}");
    }
    // One of an unknown size is too large once it is, whatever reads it.
    for (route, key, kind) in [
        ("POST /storefront/v1/customers/login", &world.store_key, "application/json"),
        ("POST /fleet/int/v1/orders", &world.api_key, "application/json"),
        ("POST /storefront/int/v1/tokens/introspect", &world.api_key, "application/x-www-form-urlencoded"),
    ] {
        let chunk = format!("{:x}\r\n{}\r\n", LIMIT / 4, "x".repeat(LIMIT / 4));
        let headers = format!("authorization: Bearer {key}\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n");
        let chunked = |count: usize| format!("{}{}0\r\n\r\n", head(route, &headers), chunk.repeat(count));
        answer(&world, chunked(5)).await.refused(413, "body_too_large");
        assert_ne!(answer(&world, chunked(4)).await.status, 413, "{route}");
    }
    // A route that reads none does not wait for its end.
    let endless = head("POST /nothing", "transfer-encoding: chunked\r\n");
    answer(&world, endless).await.refused(404, "route_unknown");
    // Callbacks and events may have a megabyte.
    for route in ["POST /webhooks", "POST /developers/int/v1/events"] {
        let declared = |length: usize| head(route, &format!("content-length: {length}\r\n"));
        answer(&world, declared(1024 * 1024 + 1)).await.refused(413, "body_too_large");
        let body = "x".repeat(LIMIT + 1);
        answer(&world, declared(body.len()) + &body).await.refused(401, "api_key_invalid");
    }
}

#[tokio::test]
async fn a_declared_size_beyond_the_limit_is_refused_at_once() {
    let world = World::new().await;
    let login = |more: &str, length: usize| {
        let key = format!("authorization: Bearer {}\r\ncontent-type: application/json\r\n", world.store_key);
        head("POST /storefront/v1/customers/login", &format!("{key}content-length: {length}\r\n{more}"))
    };
    // Nothing of the body is sent, so the answer cannot have waited for it.
    for more in ["", "expect: 100-continue\r\n"] {
        answer(&world, login(more, LIMIT + 1)).await.refused(413, "body_too_large");
    }
    let mut patient = connect(&world).await;
    patient.write_all(login("expect: 100-continue\r\n", 2).as_bytes()).await.unwrap();
    let mut go_on = [0; 25];
    in_time("the service says to go on", patient.read_exact(&mut go_on)).await.unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    patient.write_all(b"{}").await.unwrap();
    let mut rest = String::new();
    patient.read_to_string(&mut rest).await.unwrap();
    Wire::read(&rest).refused(422, "body_invalid");
}

#[tokio::test]
async fn a_client_that_sends_everything_first_can_read_why_it_is_refused() {
    let world = World::new().await;
    for _ in 0..10 {
        let body = "x".repeat(3 * LIMIT);
        let request = head("POST /storefront/v1/customers/login", &format!("content-length: {}\r\n", body.len())) + &body;
        answer(&world, request).await.refused(413, "body_too_large");
    }
}

#[tokio::test]
async fn a_connection_whose_body_is_not_read_says_that_it_closes_or_goes_on() {
    let world = World::new().await;
    let key = |key: &str| format!("authorization: Bearer {key}\r\ncontent-type: application/json\r\n");
    let reading = world.key_of(world.company, &[Scope::Read]).await;
    let orders = "POST /fleet/int/v1/orders";
    for (line, headers, status) in [
        ("POST /nothing", String::new(), "404"),
        ("POST /healthz", String::new(), "405"),
        (orders, String::new(), "401"),
        (orders, key(&reading), "403"),
        ("POST /storefront/v1/customers/login", key("store_nobody"), "401"),
        ("POST /console/sign-in", "content-type: text/plain\r\n".to_owned(), "415"),
    ] {
        let head = format!("{line} HTTP/1.1\r\nhost: x\r\n{headers}content-length: 2\r\n\r\n");
        // The body does not come, or later.
        let mut stream = connect(&world).await;
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut read = String::new();
        in_time("the service ends the connection", stream.read_to_string(&mut read)).await.unwrap();
        let answer = Wire::read(&read);
        assert_eq!((answer.status.to_string().as_str(), answer.header("connection")), (status, Some("close")), "{line}: {answer:?}");
        // It is there with the head: the next request is answered too.
        let next = "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        let mut stream = connect(&world).await;
        stream.write_all(format!("{head}{{}}{next}").as_bytes()).await.unwrap();
        let mut read = String::new();
        in_time("the service ends the connection", stream.read_to_string(&mut read)).await.unwrap();
        assert_eq!(read.matches("HTTP/1.1 ").count(), 2, "{line}: {read}");
        assert!(read.starts_with(&format!("HTTP/1.1 {status}")), "{line}: {read}");
    }
}

#[tokio::test]
async fn a_body_that_is_cut_off_or_garbled_is_a_problem() {
    let world = World::new().await;
    let key = format!("authorization: Bearer {}\r\ncontent-type: application/json\r\n", world.store_key);
    let chunked = head("POST /storefront/v1/customers/login", &format!("{key}transfer-encoding: chunked\r\n"));
    answer(&world, chunked + "no number\r\n").await.refused(400, "bad_request");
    let mut stream = connect(&world).await;
    let cut = head("POST /storefront/v1/customers/login", &format!("{key}content-length: 100\r\n")) + "{";
    stream.write_all(cut.as_bytes()).await.unwrap();
    // The client has not finished, and the service waits for it.
    assert!(timeout(Duration::from_millis(50), stream.read(&mut [0; 1])).await.is_err());
    stream.shutdown().await.unwrap();
    let mut read = String::new();
    stream.read_to_string(&mut read).await.unwrap();
    assert!(read.is_empty() || Wire::read(&read).status == 400, "{read}");
}

#[tokio::test]
async fn every_line_of_the_common_formats_is_a_problem_document() {
    let world = World::new().await;
    let key = format!("authorization: Bearer {}\r\n", world.store_key);
    let post = |headers: &str, body: &str| {
        let headers = format!("{key}content-length: {}\r\n{headers}", body.len());
        head("POST /storefront/v1/customers/login", &headers) + body
    };
    let json = "content-type: application/json\r\n";
    for (request, status, code) in [
        (head("GET /nothing", ""), 404, "route_unknown"),
        (head("GET //", ""), 404, "route_unknown"),
        (head("OPTIONS *", ""), 404, "route_unknown"),
        (head("PATCH /storefront/v1/customers/login", &key), 405, "method_not_allowed"),
        (head("BREW /healthz", ""), 405, "method_not_allowed"),
        (head("GET /storefront/v1/customers/me", ""), 401, "store_key_invalid"),
        (head("GET /storefront/v1/customers/me", &key), 401, "customer_token_invalid"),
        (head("GET /fleet/int/v1/orders", ""), 401, "api_key_invalid"),
        (post(json, "{"), 400, "json_invalid"),
        (post(json, "{\"identity\":\"a\\u0000\",\"password\":\"b\"}"), 422, "body_invalid"),
        (post(json, "{\"identity\":\"a\",\"password\":1e999}"), 422, "body_invalid"),
        (post(json, "[\"ada@example.com\",\"secret\"]"), 422, "body_invalid"),
        (post("content-type: text/plain\r\n", "{}"), 415, "media_type_unsupported"),
        (post(json, ""), 422, "body_invalid"),
    ] {
        answer(&world, request).await.refused(status, code);
    }
    let headless = answer(&world, head("HEAD /nothing", "")).await;
    assert_eq!((headless.status, headless.body.as_str(), headless.header("content-type")), (404, "", Some("application/problem+json")));
}
