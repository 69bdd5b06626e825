//! How the program stops, and how it starts while its database is away: operating, "Starting and stopping".

use std::io::ErrorKind;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use portico::kernel::database::Pool;
use sqlx::{AssertSqlSafe, Executor};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::World;
use crate::support::own_postgres::OwnPostgres;
use crate::support::program::{Service, ask_to_stop, portico, refused};
use crate::support::waiting::{in_time, until};

const REQUEST: &str = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
const LAST_REQUEST: &str = "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
/// The time in which a client that is connected can send its first request.
const FIRST_REQUEST: Duration = Duration::from_millis(900);
/// The clients that connect one time after the other.
const CLIENTS: usize = 8;

/// Makes the last migration that creates an index missing, so that it waits for whoever writes.
async fn forget_a_migration(pool: &Pool) {
    for of_before in ["delete from _sqlx_migrations where version = 20261126121500", "drop index payments_by_text"] {
        pool.execute(of_before).await.unwrap();
    }
}

#[tokio::test]
async fn sigterm_ends_a_migration_that_takes_long_and_its_statement() {
    let world = World::new().await;
    forget_a_migration(&world.pool).await;
    let mut writer = world.hold().await;
    writer.execute("lock table payments in row exclusive mode").await.unwrap();
    // The service has stopped in order, and the migration is not complete.
    for (arguments, status) in [(["serve", "--migrate"].as_slice(), 0), (&["migrate"], 143)] {
        let mut migrating = portico(arguments, &[("database.url", world.database.as_str())]).stderr(Stdio::null()).spawn().unwrap();
        world.somebody_waits().await;
        ask_to_stop(&migrating);
        let ended = in_time("the program has ended", migrating.wait()).await.unwrap();
        assert_eq!(ended.code(), Some(status), "{arguments:?}");
        until("the statement has ended", async || world.waiting_for_a_lock().await == 0).await;
        // The lease of the migration that was given up runs out.
        world.pool.execute("update leases set held_until = clock_timestamp() - interval '1 second'").await.unwrap();
    }
    writer.commit().await.unwrap();
}

#[tokio::test]
async fn serve_with_migrate_starts_while_the_database_is_away_and_migrates_it_when_it_is_back() {
    let mut database = OwnPostgres::start().await;
    database.connect().await.execute("create database empty template template0").await.unwrap();
    let mut url = url::Url::parse(&database.url()).unwrap();
    url.set_path("empty");
    database.go_away().await;

    let settings = [("database.url", url.as_str())];
    let mut service = Service::start_with(&["--no-worker", "--migrate"], &settings).await;
    assert!(service.log().contains("the database is away, and will be migrated when it is back"), "{}", service.log());
    let readyz = format!("http://{}/readyz", service.address);
    assert_eq!(reqwest::get(&readyz).await.unwrap().status(), 503);

    database.come_back().await;
    until("the service is ready", async || reqwest::get(&readyz).await.unwrap().status() == 200).await;
    until("the log says so", async || service.log().contains("the database is back, and has all migrations")).await;
    assert!(service.terminate().await, "{}", service.log());
    database.go_away().await;
}

#[tokio::test]
async fn what_the_database_refuses_is_told_once() {
    let world = World::new().await;
    let mut url = url::Url::parse(&world.database).unwrap();
    // Roles are those of the whole server, which may have one of an earlier run.
    let stranger = format!("stranger_to_{}", url.path().trim_start_matches('/'));
    world.pool.execute(AssertSqlSafe(format!("create role {stranger} login connection limit 0"))).await.unwrap();
    url.set_username(&stranger).unwrap();
    let complaint = refused(&["migrate"], &[("database.url", url.as_str())]).await;
    assert_eq!(complaint.matches("too many connections").count(), 1, "{complaint}");
}

#[tokio::test]
async fn the_log_says_how_the_service_stops() {
    let world = World::new().await;
    let settings = [("database.url", world.database.as_str()), ("http.shutdown_delay", "10ms")];
    let mut service = Service::start_with(&[], &settings).await;
    assert!(service.terminate().await);
    let log = service.log();
    let said = ["shutting down in 10ms", "no further connections are accepted", "no request is left", "stopped"];
    let places: Vec<_> = said.iter().map(|words| log.find(words).unwrap_or_else(|| panic!("{words}: {log}"))).collect();
    assert!(places.is_sorted(), "{log}");
    for words in said {
        assert_eq!(log.matches(&format!(" {words}")).count(), 1, "{words}: {log}");
    }
}

/// Sends a request, and reads the answer.
async fn is_answered(mut client: TcpStream, request: &str) {
    client.write_all(request.as_bytes()).await.unwrap();
    reads_the_answer(client).await;
}

/// Reads the answer, with which the service closes the connection.
async fn reads_the_answer(mut client: TcpStream) {
    let mut answer = String::new();
    in_time("a client is answered", client.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("connection: close"), "{answer}");
}

#[tokio::test]
async fn who_is_connected_when_the_service_stops_is_answered() {
    loop {
        let world = World::new().await;
        let mut idle = TcpStream::connect(world.address).await.unwrap();
        idle.write_all(REQUEST.as_bytes()).await.unwrap();
        in_time("a client is answered", idle.read_exact(&mut [0; 15])).await.unwrap();
        // The system has connected these, and the service has not seen them.
        let [quick, mut held_up] = [(); 2].map(|()| {
            let client = std::net::TcpStream::connect(world.address).unwrap();
            client.set_nonblocking(true).unwrap();
            TcpStream::from_std(client).unwrap()
        });
        let begun = Instant::now();
        world.lifecycle.stopping().cancel();
        is_answered(quick, REQUEST).await;
        in_time("the client that was answered is let go", idle.read_to_end(&mut Vec::new())).await.unwrap();
        let sent = held_up.write_all(REQUEST.as_bytes()).await;
        // What was sent in time is answered, however long it takes the machine to go on from here.
        if begun.elapsed() < FIRST_REQUEST {
            sent.unwrap();
            reads_the_answer(held_up).await;
            return;
        }
        // The machine was too busy to hold a client up for less than a second.
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_connects_while_the_service_stops_is_answered_or_refused() {
    let world = World::new().await;
    let (address, connected) = (world.address, AtomicUsize::new(0));
    let connecting = async || {
        let refusal = loop {
            match TcpStream::connect(address).await {
                Ok(client) => is_answered(client, LAST_REQUEST).await,
                Err(refusal) => break refusal,
            }
            connected.fetch_add(1, Ordering::Relaxed);
        };
        assert_eq!(refusal.kind(), ErrorKind::ConnectionRefused);
    };
    let stopping = async {
        until("clients are answered", async || connected.load(Ordering::Relaxed) > 10 * CLIENTS).await;
        world.lifecycle.stopping().cancel();
    };
    tokio::join!(join_all((0..CLIENTS).map(|_| connecting())), stopping);
}
