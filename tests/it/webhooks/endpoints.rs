//! Misbehaving endpoints: each costs its own delivery an attempt and does not affect other endpoints.

use std::time::Duration;

use axum::http::Version;
use chrono::{DateTime, TimeDelta, Utc};
use portico::webhooks::Resolver;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::support::World;
use crate::support::http2::{Refusal, refusing, taking};
use crate::support::nameserver::Nameserver;
use crate::support::receiver::{Receiver, Reply};
use crate::support::subscribers::{last_attempt, will_be_retried_after, will_be_retried_after_tls};
use crate::support::waiting::until;

/// Delivers one event to one endpoint that responds with `reply`, with this timeout in seconds.
async fn answered_within(timeout: u32, reply: Reply) -> (World, Value) {
    let world = World::new().await;
    let receiver = world.endpoint("shop.test").await;
    world.subscribe(&receiver, json!({ "timeout": timeout })).await;
    receiver.will([reply]);
    world.publish("order.created").await;
    assert_eq!(world.deliver().await, 1);
    let delivery = world.last_delivery().await;
    (world, delivery)
}

/// Delivers to an endpoint that responds soon.
async fn answered_with(reply: Reply) -> (World, Value) {
    answered_within(30, reply).await
}

/// The milliseconds of the last attempt of a delivery.
fn took(delivery: &Value) -> i64 {
    delivery["attempts"].as_array().unwrap().last().unwrap()["duration_ms"].as_i64().unwrap()
}

/// Delivers to an endpoint whose response does not end in time.
async fn timed_out_with(reply: Reply) -> Value {
    answered_within(3, reply).await.1
}

/// Delivers to an endpoint whose response does not end in time; there is enough time for its beginning, on a busy machine too.
async fn too_slow_with(reply: Reply) -> (World, Value) {
    answered_within(10, reply).await
}

#[tokio::test]
async fn no_answer_by_the_deadline_is_a_failure() {
    let delivery = timed_out_with(Reply::Silence).await;
    assert_eq!(last_attempt(&delivery), (None, Some("timeout")));
    // Its own deadline, and not the longest that a webhook may have.
    assert!((3_000..30_000).contains(&took(&delivery)), "{delivery}");
    assert_eq!(delivery["status"], "retrying");
}

/// Delivers one event to this port, where nobody answers.
async fn not_answered_at(port: u16, timeout: u32) -> Value {
    let world = World::new().await;
    world.resolver.insert("shop.test", &["127.0.0.1".parse().unwrap()]);
    let url = format!("https://shop.test:{port}/");
    world.developers(Method::POST, "webhooks", json!({ "url": url, "timeout": timeout })).await.ok(201);
    world.publish("order.created").await;
    assert_eq!(world.deliver().await, 1);
    world.last_delivery().await
}

/// Delivers one event to an endpoint that says nothing, so the TLS handshake does not end.
async fn not_greeted_with(timeout: u32) -> Value {
    let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
    not_answered_at(mute.local_addr().unwrap().port(), timeout).await
}

#[tokio::test]
async fn a_handshake_that_does_not_end_within_five_seconds_is_a_failure_of_tls() {
    let delivery = not_greeted_with(30).await;
    // At the deadline of the delivery it would be one of time.
    will_be_retried_after_tls(&delivery, "timeout");
    assert!(took(&delivery) >= 5_000, "{delivery}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_connection_that_is_not_made_within_five_seconds_is_a_failure() {
    // A full queue: the system ignores further connections.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(1).unwrap();
    let address = full.local_addr().unwrap();
    let queued = futures::future::join_all((0..4).map(|_| timeout(Duration::from_millis(200), TcpStream::connect(address)))).await;
    assert!(queued.iter().any(Result::is_err), "the queue is full");
    let delivery = not_answered_at(address.port(), 30).await;
    will_be_retried_after(&delivery, "connect");
    assert!(took(&delivery) >= 5_000, "{delivery}");
}

#[tokio::test]
async fn the_deadline_covers_the_beginning_of_the_connection() {
    will_be_retried_after(&not_greeted_with(1).await, "timeout");
}

#[tokio::test]
async fn a_body_that_is_too_slow_or_breaks_off_changes_nothing_about_the_status() {
    let states = [(200, "delivered"), (410, "failed"), (503, "retrying")];
    let too_slow = futures::future::join_all(states.map(|(status, _)| too_slow_with(Reply::Trickle(status)))).await;
    for ((status, state), (_, delivery)) in states.into_iter().zip(too_slow) {
        assert_eq!((delivery["status"].as_str(), last_attempt(&delivery)), (Some(state), (Some(status.into()), Some("too_slow"))));
        assert!(delivery["attempts"][0]["response_body"].as_str().unwrap().starts_with(".."), "the received part of the body is kept");
    }
    for (status, state) in states {
        let (world, delivery) = answered_with(Reply::BreakOff(status)).await;
        assert_eq!((delivery["status"].as_str(), last_attempt(&delivery)), (Some(state), (Some(status.into()), Some("closed"))));
        assert_eq!(delivery["attempts"][0]["response_body"], "half");
        if status == 503 {
            let next = delivery["next_attempt_at"].as_str().unwrap().parse::<DateTime<Utc>>().unwrap();
            assert!(next - world.clock.now() > TimeDelta::minutes(25), "what the endpoint asks for holds too: {next}");
        }
    }
}

#[tokio::test]
async fn header_lines_that_break_off_or_are_too_slow_change_nothing_about_the_status() {
    let (_, broken_off) = answered_with(Reply::BreakOffEarly).await;
    let (_, too_slow) = too_slow_with(Reply::TrickleEarly).await;
    for (delivery, error) in [(broken_off, "closed"), (too_slow, "too_slow")] {
        assert_eq!((delivery["status"].as_str(), last_attempt(&delivery)), (Some("delivered"), (Some(200), Some(error))));
        assert_eq!(delivery["attempts"][0]["response_headers"], json!({}));
    }
}

#[tokio::test]
async fn the_status_line_decides_however_many_headers_there_are() {
    for (status, state) in [(200, "delivered"), (410, "failed"), (500, "retrying")] {
        let headers = (0..101).map(|_| ("x-more", "x".to_owned())).collect();
        let (_, delivery) = answered_with(Reply::Answer(status, headers, Vec::new())).await;
        let expected = (Some(state), (Some(status.into()), Some("too_many_headers")));
        assert_eq!((delivery["status"].as_str(), last_attempt(&delivery)), expected);
    }
}

#[tokio::test]
async fn the_status_line_decides_whatever_the_header_lines_look_like() {
    for (answer, error) in [
        (&b"HTTP/1.1 200 OK\r\nX-Powered-By : php\r\ncontent-length: 2\r\n\r\nok"[..], None),
        (b"HTTP/1.1 200 OK\r\nx-folded: one\r\n two\r\ncontent-length: 2\r\n\r\nok", None),
        (b"HTTP/1.1 200 OK\r\nWarning, no colon\r\nx-\xfcml\xe4ut: \xfc\r\ncontent-length: 2\r\n\r\nok", None),
        (b"HTTP/1.1 200 OK\r\nx-nul: \0\r\ncontent-length: 2\r\n\r\nok", Some("bad_headers")),
        (b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\nok", Some("bad_headers")),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok", Some("bad_headers")),
    ] {
        let (_, delivery) = answered_with(Reply::Bytes(answer)).await;
        let told = String::from_utf8_lossy(answer);
        assert_eq!((delivery["status"].as_str(), last_attempt(&delivery)), (Some("delivered"), (Some(200), error)), "{told}");
        let attempt = &delivery["attempts"][0];
        assert_eq!(attempt["response_body"], if error.is_none() { "ok" } else { "" }, "{told}");
        assert_eq!(attempt["response_headers"]["content-length"].is_null(), error.is_some(), "{told}");
    }
    let (_, delivery) = answered_with(Reply::Bytes(b"HTTP/1.1 200 OK\r\nX-Powered-By : php\r\n\r\n")).await;
    assert_eq!(delivery["attempts"][0]["response_headers"]["x-powered-by"], "php");
}

#[tokio::test]
async fn of_a_huge_body_16_kib_are_kept() {
    let body = "é".repeat(5_000_000).into_bytes();
    let (world, delivery) = answered_with(Reply::Answer(200, Vec::new(), body)).await;
    assert_eq!((delivery["status"].as_str(), last_attempt(&delivery)), (Some("delivered"), (Some(200), None)));
    assert_eq!(world.count("select length(response_body)::bigint from attempts").await, 16 * 1024);
}

#[tokio::test]
async fn bytes_that_are_no_text_are_kept_and_shown_as_well_as_can_be() {
    let (world, delivery) = answered_with(Reply::Answer(400, Vec::new(), vec![b'a', 0, 0xff, b'b'])).await;
    assert_eq!(delivery["attempts"][0]["response_body"], "a\0\u{fffd}b");
    assert_eq!(world.count("select count(*) from attempts where response_body = '\\x6100ff62'").await, 1);
}

#[tokio::test]
async fn a_connection_that_ends_early_is_a_failure() {
    for reply in [Reply::Close, Reply::Nonsense] {
        let (_, delivery) = answered_with(reply).await;
        will_be_retried_after(&delivery, "closed");
    }
}

#[tokio::test]
async fn a_certificate_that_cannot_be_trusted_ends_the_attempt_before_anything_is_said() {
    let world = World::new().await;
    world.resolver.insert("shop.test", &["127.0.0.1".parse().unwrap()]);
    let wrong_name = Receiver::start("shop.test", Some("another.test")).await;
    world.subscribe(&wrong_name, json!({ "events": ["order.created"] })).await;
    let no_tls = Receiver::start("shop.test", None).await;
    world.subscribe(&no_tls, json!({ "events": ["order.updated"] })).await;
    for (event, reason) in [("order.created", "wrong_name"), ("order.updated", "not_tls")] {
        world.pass(TimeDelta::seconds(1));
        world.publish(event).await;
        world.deliver().await;
        will_be_retried_after_tls(&world.last_delivery().await, reason);
    }
    assert!(wrong_name.received().is_empty() && no_tls.received().is_empty());
}

#[tokio::test]
async fn a_certificate_that_has_expired_is_not_trusted() {
    let world = World::new().await;
    let receiver = Receiver::start_expired("shop.test").await;
    world.resolver.insert("shop.test", &["127.0.0.1".parse().unwrap()]);
    world.subscribe(&receiver, json!({})).await;
    world.publish("order.created").await;
    world.deliver().await;
    will_be_retried_after_tls(&world.last_delivery().await, "certificate_expired");
    assert!(receiver.received().is_empty());
}

#[tokio::test]
async fn an_endpoint_that_wants_a_client_certificate_is_told_from_one_that_only_closes() {
    let h2: &[&[u8]] = &[b"h2"];
    for (version, protocols) in [(&rustls::version::TLS12, &[][..]), (&rustls::version::TLS13, &[]), (&rustls::version::TLS13, h2)] {
        let world = World::new().await;
        world.resolver.insert("shop.test", &["127.0.0.1".parse().unwrap()]);
        let receiver = Receiver::start_wanting_certificate("shop.test", version, protocols).await;
        world.subscribe(&receiver, json!({ "timeout": 30 })).await;
        world.publish("order.created").await;
        world.deliver().await;
        will_be_retried_after_tls(&world.last_delivery().await, "client_certificate");
        assert!(receiver.received().is_empty());
    }
}

#[tokio::test]
async fn an_endpoint_that_speaks_only_old_versions_of_tls_is_told_so() {
    let world = World::new().await;
    world.resolver.insert("shop.test", &["127.0.0.1".parse().unwrap()]);
    let receiver = Receiver::start_too_old("shop.test").await;
    world.subscribe(&receiver, json!({})).await;
    world.publish("order.created").await;
    world.deliver().await;
    will_be_retried_after_tls(&world.last_delivery().await, "protocol_too_old");
}

#[tokio::test]
async fn an_authority_nobody_named_is_not_trusted() {
    let world = World::with(&[("webhooks.extra_root_certificates", "")]).await;
    let (receiver, _) = world.subscriber("shop.test").await;
    world.publish("order.created").await;
    world.deliver().await;
    will_be_retried_after_tls(&world.last_delivery().await, "unknown_authority");
    assert!(receiver.received().is_empty());
}

#[tokio::test]
async fn an_authority_that_has_only_the_name_of_a_trusted_one_is_not_trusted() {
    let world = World::new().await;
    let receiver = Receiver::start_from_namesake("shop.test").await;
    world.resolver.insert("shop.test", &["127.0.0.1".parse().unwrap()]);
    world.subscribe(&receiver, json!({})).await;
    world.publish("order.created").await;
    world.deliver().await;
    will_be_retried_after_tls(&world.last_delivery().await, "unknown_authority");
    assert!(receiver.received().is_empty());
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_tried_twice_at_the_first_attempt_and_then_once() {
    let names = Nameserver::start(0).await;
    let world = World::resolving_by(Resolver::asking(names.address)).await;
    let receiver = Receiver::start("shop.test", Some("shop.test")).await;
    world.subscribe(&receiver, json!({})).await;
    sqlx::query("update subscriptions set url = 'https://shop.test:1024/'").execute(&world.pool).await.unwrap();
    world.publish("order.created").await;
    // Two seconds are between the two tries, and each begins with a look-up of the name.
    for (passed, tries, least) in [(0, 2, 2_000), (5, 1, 0)] {
        world.pass(TimeDelta::minutes(passed));
        let asked = names.asked("shop.test");
        world.deliver().await;
        let delivery = world.last_delivery().await;
        will_be_retried_after(&delivery, "connect");
        assert_eq!(names.asked("shop.test") - asked, tries, "{delivery}");
        assert!(took(&delivery) >= least, "{delivery}");
    }
    assert!(receiver.received().is_empty());
}

#[tokio::test]
async fn an_endpoint_that_is_there_again_within_seconds_costs_no_attempt() {
    let names = Nameserver::start(0).await;
    let world = World::resolving_by(Resolver::asking(names.address)).await;
    let receiver = Receiver::start("shop.test", Some("shop.test")).await;
    world.subscribe(&receiver, json!({})).await;
    world.publish("order.created").await;
    names.forget("shop.test");
    let asked = names.asked("shop.test");
    let appearing = async {
        until("it was looked for in vain", async || names.asked("shop.test") > asked).await;
        names.know();
    };
    futures::future::join(world.deliver(), appearing).await;
    let delivery = world.last_delivery().await;
    assert_eq!((delivery["status"].as_str(), last_attempt(&delivery)), (Some("delivered"), (Some(200), None)));
    assert_eq!((delivery["attempts"].as_array().unwrap().len(), receiver.count()), (1, 1));
}

#[tokio::test]
async fn ten_gigabytes_of_an_answer_are_not_read() {
    let (_, delivery) = answered_with(Reply::Flood).await;
    assert_eq!((delivery["status"].as_str(), last_attempt(&delivery)), (Some("delivered"), (Some(200), None)), "before its deadline");
    assert_eq!(delivery["attempts"][0]["response_body"].as_str().unwrap().len(), 16 * 1024);
}

#[tokio::test]
async fn an_answer_is_never_unpacked() {
    // 10 MiB of zeros compress to ten kilobytes; the service does not request compression and does not decompress responses.
    let packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xed, 0xc1, 1, 1];
    let (_, delivery) = answered_with(Reply::Answer(200, vec![("content-encoding", "gzip".to_owned())], packed.clone())).await;
    assert_eq!(last_attempt(&delivery), (Some(200), None));
    assert_eq!(delivery["attempts"][0]["response_body"], String::from_utf8_lossy(&packed).as_ref());
    assert_eq!(delivery["attempts"][0]["request_headers"].get("accept-encoding"), None);
}

#[tokio::test]
async fn interim_answers_are_waited_out_until_the_deadline() {
    let (_, delivery) = answered_with(Reply::Interim(Some(3))).await;
    assert_eq!((delivery["status"].as_str(), last_attempt(&delivery)), (Some("delivered"), (Some(200), None)));
    let delivery = timed_out_with(Reply::Interim(None)).await;
    assert_eq!((delivery["status"].as_str(), last_attempt(&delivery)), (Some("retrying"), (None, Some("timeout"))));
}

#[tokio::test]
async fn switching_protocols_is_a_failure() {
    let (_, delivery) = answered_with(Reply::status(101)).await;
    assert_eq!((delivery["status"].as_str(), last_attempt(&delivery)), (Some("retrying"), (Some(101), None)));
}

#[tokio::test]
async fn a_stream_that_is_reset_and_a_connection_that_is_sent_away_are_failures() {
    for refusal in [Refusal::Reset, Refusal::GoAway] {
        let world = World::new().await;
        world.resolver.insert("shop.test", &["127.0.0.1".parse().unwrap()]);
        let url = refusing("shop.test", refusal).await;
        world.developers(Method::POST, "webhooks", json!({ "url": url, "timeout": 30 })).await.ok(201);
        world.publish("order.created").await;
        assert_eq!(world.deliver().await, 1);
        let delivery = world.last_delivery().await;
        assert_eq!((delivery["status"].as_str(), last_attempt(&delivery)), (Some("retrying"), (None, Some("closed"))), "{refusal:?}");
    }
}

/// Delivers `count` events to an endpoint that refuses some requests before it has processed them; the error of each attempt.
async fn unprocessed_by(refusal: Refusal, count: usize) -> Vec<Option<String>> {
    let world = World::new().await;
    world.resolver.insert("shop.test", &["127.0.0.1".parse().unwrap()]);
    let url = refusing("shop.test", refusal).await;
    world.developers(Method::POST, "webhooks", json!({ "url": url, "timeout": 30 })).await.ok(201);
    // One delivery opens the connection that the others find.
    world.publish("order.created").await;
    world.deliver().await;
    world.publish_many(count - 1).await;
    world.deliver().await;
    sqlx::query_scalar("select error from attempts").fetch_all(&world.pool).await.unwrap()
}

#[tokio::test]
async fn what_an_endpoint_has_not_processed_is_sent_again_within_the_attempt() {
    for refusal in [Refusal::AwayAfter(5), Refusal::Refused(2)] {
        assert_eq!(unprocessed_by(refusal, 60).await, vec![None; 60], "{refusal:?}");
    }
}

#[tokio::test]
async fn an_endpoint_that_never_processes_anything_costs_an_attempt() {
    assert_eq!(unprocessed_by(Refusal::Refused(u32::MAX), 1).await, [Some("closed".to_owned())]);
}

#[tokio::test]
async fn an_endpoint_that_speaks_http2_gets_its_deliveries_on_one_connection() {
    let world = World::new().await;
    world.resolver.insert("shop.test", &["127.0.0.1".parse().unwrap()]);
    let (url, taken) = taking("shop.test");
    world.developers(Method::POST, "webhooks", json!({ "url": url })).await.ok(201);
    let mut published = 0;
    // A connection is kept for a moment only: on a slow machine the next delivery may need another one.
    until("three deliveries in a row came from one port", async || {
        world.publish("order.created").await;
        published += 1;
        assert_eq!(world.deliver().await, 1);
        let delivery = world.last_delivery().await;
        assert_eq!((delivery["status"].as_str(), last_attempt(&delivery)), (Some("delivered"), (Some(204), None)));
        taken.lock().unwrap().last_chunk::<3>().is_some_and(|last| last.iter().all(|request| *request == last[0]))
    })
    .await;
    let taken = taken.lock().unwrap();
    assert_eq!(taken.len(), published);
    assert!(taken.iter().all(|(_, version)| *version == Version::HTTP_2), "{taken:?}");
}

#[tokio::test]
async fn an_endpoint_that_hangs_does_not_delay_another() {
    let world = World::with(&[("webhooks.concurrency", "4"), ("webhooks.endpoint_concurrency", "2")]).await;
    let hanging = world.endpoint("hanging.test").await;
    world.subscribe(&hanging, json!({ "timeout": 30 })).await;
    hanging.will(std::iter::repeat_n(Reply::Silence, 40));
    let (prompt, _) = world.subscriber("prompt.test").await;
    for _ in 0..20 {
        world.publish("order.created").await;
    }
    world.state.webhooks.start_worker(&world.lifecycle);
    prompt.waits_for(20).await;
    // Nobody has waited for the end of these two, or others would have followed them.
    assert_eq!(hanging.received().len(), 2, "it has only its own two deliveries in flight");
}

#[tokio::test]
async fn a_crowd_at_one_endpoint_keeps_nobody_waiting() {
    let world = World::with(&[("webhooks.endpoint_concurrency", "5")]).await;
    let (_crowded, _) = world.subscriber("crowded.test").await;
    for _ in 0..20 {
        world.publish("order.created").await;
    }
    world.fan_out().await;
    world.pass(TimeDelta::seconds(1));
    let (_lone, lone) = world.subscriber("lone.test").await;
    world.publish("order.updated").await;
    world.fan_out().await;
    let claimed = world.state.webhooks.claim(3).await.unwrap();
    let of_lone = claimed.iter().filter(|claimed| lone["id"] == claimed.subscription.to_string()).count();
    assert_eq!((claimed.len(), of_lone), (3, 1), "the endpoint with a single delivery is among the first");
    assert_eq!(world.claim().await.len(), 3, "up to five in flight at the crowded endpoint");
}
