//! Event streams: decisions, section 7, events/stream.

use chrono::TimeDelta;
use futures::future::{join, join_all};
use portico::callers::Scope;
use portico::events;
use reqwest::{Method, StatusCode};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::support::streams::next_chunk;
use crate::support::waiting::{in_time, until};
use crate::support::{Answer, World};

#[tokio::test]
async fn a_stream_tells_what_happens_from_now_on_as_it_is_sent_to_endpoints() {
    let world = World::new().await;
    let (receiver, _) = world.subscriber("shop.test").await;
    world.publish("driver.online").await;
    world.everything_is_fanned_out().await;
    let mut stream = world.stream("", None).await;
    let event = world.publish("order.created").await;
    let streamed = stream.next().await.unwrap();
    assert_eq!((streamed.id, streamed.event), (event.to_string(), "order.created".to_owned()));
    world.deliver().await;
    assert!(receiver.received().iter().any(|post| post.body == streamed.data.as_bytes()));
}

#[tokio::test]
async fn a_stream_tells_one_company_what_it_wants() {
    let world = World::new().await;
    let (other, _) = world.another_company(&[]).await;
    let mut stream = world.stream("?events=order.*,driver.online", None).await;
    world.publish_for(other, "order.created").await;
    for event in ["driver.offline", "order.created", "driver.online", "vehicle.created", "order.updated"] {
        world.publish(event).await;
    }
    assert_eq!(stream.names(3).await, ["order.created", "driver.online", "order.updated"]);
}

#[tokio::test]
async fn streams_of_many_companies_look_together_whether_there_is_anything_to_read() {
    let world = World::new().await;
    let mut streams = Vec::new();
    for _ in 0..5 {
        let (company, key) = world.another_company(&[Scope::Read]).await;
        streams.push((company, world.stream_of(&key, "", None).await));
    }
    for (company, stream) in &mut streams {
        world.publish_for(*company, "order.created").await;
        next_chunk(stream).await.unwrap();
    }
    // The stream polls once more after a commit; wait until it has.
    let quiet = "select count(*) from pg_stat_activity where datname = current_database() and query like 'with scanned%' \
                 and (state = 'active' or state_change > clock_timestamp() - interval '300 ms') and pid <> pg_backend_pid()";
    until("the streams poll no more", async || world.count(quiet).await == 0).await;

    let mut busy = world.hold().await;
    sqlx::query("lock table feed_heads").execute(&mut *busy).await.unwrap();
    sqlx::query("select pg_notify($1, '')").bind(events::PUBLISHED).execute(&world.pool).await.unwrap();
    world.somebody_waits().await;
    for _ in 0..200 {
        let waiting = world.waiting_for_a_lock().await;
        assert!(waiting <= 2, "{waiting}: one for all streams, and the fan-out");
    }
    busy.rollback().await.unwrap();
    for (company, stream) in &mut streams {
        world.publish_for(*company, "order.updated").await;
        next_chunk(stream).await.unwrap();
    }
}

#[tokio::test]
async fn a_test_event_of_a_webhook_is_not_streamed() {
    let world = World::new().await;
    let (_receiver, webhook) = world.subscriber("shop.test").await;
    world.everything_is_fanned_out().await;
    let mut stream = world.stream("", None).await;
    let path = format!("webhooks/{}/test", webhook["id"].as_str().unwrap());
    world.developers(Method::POST, &path, json!({ "event": "payment.succeeded" })).await.ok(201);
    world.publish("order.created").await;
    assert_eq!(stream.names(1).await, ["order.created"]);
}

#[tokio::test]
async fn a_stream_goes_on_behind_the_last_event_its_client_saw() {
    let world = World::new().await;
    let first = world.publish("order.created").await.to_string();
    for event in ["order.updated", "order.dispatched", "order.started"] {
        world.publish(event).await;
    }
    let expected = ["order.updated", "order.dispatched", "order.started"];
    assert_eq!(world.stream(&format!("?after={first}"), None).await.names(3).await, expected);
    let mut stream = world.stream("", Some(&first)).await;
    assert_eq!(stream.names(1).await, expected[..1]);
    let second = stream.next().await.unwrap().id;
    // The `Last-Event-ID` of a reconnecting client takes precedence over `after` in its URL.
    assert_eq!(world.stream(&format!("?after={first}"), Some(&second)).await.names(1).await, expected[2..]);
}

#[tokio::test]
async fn a_client_that_saw_nothing_yet_knows_where_to_go_on() {
    let world = World::new().await;
    let last = world.publish("order.created").await.to_string();
    world.everything_is_fanned_out().await;
    let mut response = world.stream_of(&world.api_key, "", None).await;
    let greeting = next_chunk(&mut response).await.unwrap();
    assert_eq!(std::str::from_utf8(&greeting).unwrap(), format!("id: {last}\n\n"));
}

#[tokio::test]
async fn nothing_is_missed_or_repeated_while_many_publish_and_the_client_reconnects() {
    let world = World::new().await;
    let start = world.publish("driver.online").await.to_string();
    let publishing = join_all((0..8).map(|_| async {
        let mut ids = Vec::new();
        for _ in 0..25 {
            ids.push(world.publish("order.created").await.to_string());
        }
        ids
    }));
    let reading = async {
        let (mut seen, mut last) = (Vec::new(), start);
        while seen.len() < 200 {
            let mut stream = world.stream("", Some(&last)).await;
            for _ in 0..17.min(200 - seen.len()) {
                last = stream.next().await.unwrap().id;
                seen.push(last.clone());
            }
        }
        seen
    };
    let (published, mut seen) = join(publishing, reading).await;
    let mut published = published.concat();
    published.sort_unstable();
    seen.sort_unstable();
    assert_eq!(seen, published);
}

#[tokio::test]
async fn a_large_backlog_comes_in_pages() {
    let world = World::new().await;
    let start = world.publish("driver.online").await.to_string();
    let mut data = world.state.developers.catalogue.find("order.created").unwrap().sample.clone();
    data["meta"] = json!({ "text": "x".repeat(100 * 1024) });
    let large = json!({ "event": "order.created", "data": data });
    let small = json!({ "event": "driver.online", "data": world.state.developers.catalogue.find("driver.online").unwrap().sample });
    for _ in 0..3 {
        world.developers(Method::POST, "events", json!({ "events": vec![&large; 5] })).await.ok(201);
    }
    for _ in 0..2 {
        world.developers(Method::POST, "events", json!({ "events": vec![&small; 500] })).await.ok(201);
    }
    world.publish("order.updated").await;
    let mut names = vec!["order.created"; 15];
    names.push("order.updated");
    assert_eq!(world.stream("?events=order.*", Some(&start)).await.names(16).await, names);
}

#[tokio::test]
async fn a_stream_that_cannot_begin_where_it_should_says_so() {
    let world = World::new().await;
    let (other, theirs) = world.another_company(&[Scope::Read]).await;
    let event = world.publish_for(other, "order.created").await.to_string();
    let refused = async |query: &str, id: Option<&str>| Answer::read(world.stream_of(&world.api_key, query, id).await).await;
    refused(&format!("?after={event}"), None).await.refused(404, "record_not_found");
    refused("", Some("event_01h455vb4pex5vsknk084sn02q")).await.refused(404, "record_not_found");
    for query in ["?after=yesterday", "?events=order.made", "?events=order.*,shelf.*", "?evnets=order.*"] {
        refused(query, None).await.refused(422, "parameter_invalid");
    }
    let response = world.stream_of(&theirs, &format!("?after={event}"), None).await;
    assert_eq!(response.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_company_has_twenty_streams_one_key_leaves_some_to_others_and_one_that_ends_makes_room() {
    let world = World::new().await;
    world.publish("order.created").await;
    let mut open = Vec::new();
    for _ in 0..16 {
        open.push(world.stream("", None).await);
    }
    let refused = Answer::read(world.stream_of(&world.api_key, "", None).await).await;
    refused.refused(429, "rate_limited");
    let second = world.key_of(world.company, &[Scope::Read]).await;
    assert_eq!(world.stream_of(&second, "", None).await.status(), StatusCode::OK);
    let (_, theirs) = world.another_company(&[Scope::Read]).await;
    assert_eq!(world.stream_of(&theirs, "", None).await.status(), StatusCode::OK);
    open.clear();
    until("one of the closed streams has made room", async || {
        // The service notices that a client is gone when it next writes to it.
        world.publish("order.created").await;
        world.stream_of(&world.api_key, "", None).await.status() == StatusCode::OK
    })
    .await;
}

#[tokio::test]
async fn streams_end_when_the_service_stops() {
    let world = World::new().await;
    let mut stream = world.stream("", None).await;
    let ending = futures::future::join(stream.next(), world.lifecycle.stop());
    let (next, ()) = in_time("the stream and the service end", ending).await;
    assert_eq!(next, None);
}

#[tokio::test]
async fn a_stream_ends_with_its_api_key() {
    let world = World::new().await;
    // The clock of the story stands still, so the key is good while the stream lasts.
    let guest = json!({ "name": "Guest", "scopes": ["read"], "expires_at": world.clock.now() + TimeDelta::seconds(1) });
    let key = world.api(Method::POST, "/developers/int/v1/api-keys").json(&guest).send().await.ok(201)["api_key"]["key"].take();
    let mut response = world.stream_of(key.as_str().unwrap(), "", None).await;
    assert_eq!(response.status(), StatusCode::OK);
    in_time("the stream ends", async { while response.chunk().await.unwrap().is_some() {} }).await;
}

#[tokio::test]
async fn a_silent_stream_says_that_it_is_there_and_ends_after_a_while() {
    let world = World::with(&[("streams.heartbeat", "50ms"), ("streams.lifetime", "2s")]).await;
    let last = world.publish("order.created").await.to_string();
    world.everything_is_fanned_out().await;
    let mut response = world.stream_of(&world.api_key, "", None).await;
    // The loop ends because the service closes the stream.
    let whole = async {
        let mut whole = String::new();
        while let Some(chunk) = response.chunk().await.unwrap() {
            whole.push_str(std::str::from_utf8(&chunk).unwrap());
        }
        whole
    };
    let whole = in_time("the stream ends", whole).await;
    let heartbeats = whole.strip_prefix(&format!("id: {last}\n\n")).unwrap();
    assert!(heartbeats.split_inclusive("\n\n").all(|heartbeat| heartbeat.starts_with(':')), "{heartbeats:?}");
    assert!(heartbeats.matches("\n\n").count() >= 2, "{heartbeats:?}");
    // A client that reconnects has missed nothing.
    world.publish("order.updated").await;
    // The next stream has the same short lifetime.
    world.everything_is_fanned_out().await;
    assert_eq!(world.stream("", Some(&last)).await.names(1).await, ["order.updated"]);
}

#[tokio::test]
async fn a_stream_ends_after_its_lifetime_even_while_events_arrive() {
    let world = World::with(&[("streams.lifetime", "300ms")]).await;
    let mut stream = world.stream("", None).await;
    let reading = async { while stream.next().await.is_some() {} };
    let publishing = async {
        loop {
            world.publish("driver.online").await;
        }
    };
    let ended = async {
        tokio::select! { () = reading => {}, () = publishing => {} }
    };
    in_time("the stream ends", ended).await;
}

/// Opens a stream after this event and reads nothing of it.
async fn unread_stream(world: &World, after: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(world.address).await.unwrap();
    let (path, key) = (format!("/developers/int/v1/events/stream?after={after}"), &world.api_key);
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\r\n").as_bytes()).await.unwrap();
    stream
}

/// Publishes more events than the buffers of the system take; returns the one before them.
async fn backlog(world: &World) -> String {
    let start = world.publish("driver.online").await.to_string();
    let mut data = world.state.developers.catalogue.find("order.created").unwrap().sample.clone();
    data["meta"] = json!({ "text": "x".repeat(200 * 1024) });
    for _ in 0..40 {
        world.developers(Method::POST, "events", json!({ "event": "order.created", "data": data })).await.ok(201);
    }
    world.everything_is_fanned_out().await;
    start
}

#[tokio::test]
async fn streams_that_nobody_reads_end_after_their_lifetime_and_make_room() {
    let world = World::with(&[("streams.lifetime", "10s"), ("http.write_timeout", "10m")]).await;
    let start = backlog(&world).await;
    let mut unread = join_all((0..16).map(|_| unread_stream(&world, &start))).await;
    for stream in &mut unread {
        let mut status = [0; 12];
        stream.read_exact(&mut status).await.unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
    }
    let opened = async || world.stream_of(&world.api_key, "?events=driver.offline", None).await.status() == StatusCode::OK;
    until("all streams are open", async || !opened().await).await;
    until("one of them has ended", opened).await;
}

/// The bytes that the system keeps for a client that does not read them.
#[cfg(target_os = "linux")]
fn kept_for(client: &TcpStream) -> u64 {
    let [service, client] = [client.peer_addr(), client.local_addr()].map(|address| match address.unwrap() {
        std::net::SocketAddr::V4(address) => format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port()),
        std::net::SocketAddr::V6(address) => panic!("{address}"),
    });
    let connections = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let of_this = connections.lines().find_map(|line| {
        let columns: Vec<_> = line.split_whitespace().collect();
        (columns[1..3] == [&*service, &*client]).then(|| columns[4].split_once(':').unwrap().0)
    });
    of_this.map_or(0, |kept| u64::from_str_radix(kept, 16).unwrap())
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_stream_that_nobody_reads_does_not_hold_up_the_end_of_the_service() {
    let world = World::with(&[("http.write_timeout", "10m")]).await;
    let start = backlog(&world).await;
    let mut unread = unread_stream(&world, &start).await;
    unread.read_exact(&mut [0; 12]).await.unwrap();
    // The next event finds no room any more.
    until("the buffers are full", async || kept_for(&unread) > 64 * 1024).await;
    in_time("the service ends", world.lifecycle.stop()).await;
    // Whoever reads gets the rest until the end of the time that requests in flight have.
    let cut_off = unread.read_to_end(&mut Vec::new()).await.unwrap_err();
    assert_eq!(cut_off.kind(), std::io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_key_that_was_revoked_comes_back_to_no_stream() {
    let world = World::with(&[("streams.lifetime", "300ms")]).await;
    let key = world.key_of(world.company, &[Scope::Read]).await;
    let mut open = world.stream_of(&key, "", None).await;
    sqlx::query("update api_keys set revoked_at = $1").bind(world.clock.now()).execute(&world.pool).await.unwrap();
    in_time("the stream ends", async { while open.chunk().await.unwrap().is_some() {} }).await;
    // Looked-up rows are cached for one second.
    world.pass(TimeDelta::seconds(1));
    Answer::read(world.stream_of(&key, "", None).await).await.refused(401, "api_key_invalid");
}
