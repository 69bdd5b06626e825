//! The program of a developer is killed and started again, or stopped: reliability, "An instance starts or stops".

use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use portico::dev::postgres::{DATABASE, PrivatePostgres};
use portico::dev::temporary::TemporaryDirectory;
use reqwest::{Client, StatusCode};
use sqlx::{Connection, PgConnection};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::support::database;
use crate::support::own_postgres::Frozen;
use crate::support::program::Service;
use crate::support::waiting::until_or_say;

/// Longer than a program waits for a process of which it knows nothing.
const LONG: Duration = Duration::from_secs(7);

/// What `cargo run` does with nothing but a data directory.
fn development(directory: &TemporaryDirectory) -> [(&'static str, &str); 2] {
    [("environment", "development"), ("dev.data_dir", directory.path().to_str().unwrap())]
}

async fn becomes_ready(service: &Service) {
    let http = Client::builder().no_proxy().build().unwrap();
    let asked = async || http.get(format!("http://{}/readyz", service.address)).send().await.unwrap().status();
    until_or_say("the program is ready", async || asked().await == StatusCode::OK, async || service.log()).await;
}

#[tokio::test]
async fn in_development_a_killed_program_can_be_started_again_at_once_six_times_in_a_row() {
    let directory = TemporaryDirectory::make("portico-it-killed").unwrap();
    let settings = development(&directory);
    for _ in 0..=6 {
        let service = Service::start_with(&[], &settings).await;
        becomes_ready(&service).await;
        service.kill().await;
    }
    // The kernel ends the server of the last one as well. Its files are removed when it has gone.
    let mut last = Service::start_with(&[], &settings).await;
    assert!(last.stop(Signal::SIGTERM).await, "{}", last.log());
}

#[tokio::test]
async fn a_database_of_development_that_takes_long_to_end_is_waited_for() {
    let directory = TemporaryDirectory::make("portico-it-slow-end").unwrap();
    let (settings, data_dir) = (development(&directory), directory.path().to_owned());
    let killed = Service::start_with(&[], &settings).await;
    let url = spawn_blocking(move || PrivatePostgres::running(&data_dir, DATABASE)).await.unwrap().unwrap();
    let mut conn = PgConnection::connect(&url).await.unwrap();
    let sql = "select pid from pg_stat_activity where backend_type = 'checkpointer'";
    // It writes down what the server has in memory. Before that, the server does not end.
    let writer: i32 = sqlx::query_scalar(sql).fetch_one(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    let standstill = Frozen::process(Pid::from_raw(writer));
    killed.kill().await;
    let goes_on = async {
        sleep(LONG).await;
        drop(standstill);
    };
    let (mut service, ()) = tokio::join!(Service::start_with(&[], &settings), goes_on);
    becomes_ready(&service).await;
    assert!(service.terminate().await, "{}", service.log());
}

#[tokio::test]
async fn stopping_says_nothing_of_connections_that_the_program_closed_itself() {
    let directory = TemporaryDirectory::make("portico-it-stopped").unwrap();
    let (development, url) = (development(&directory), database::fresh().await);
    let external = [("database.url", url.as_str())];
    for settings in [&development[..], &external[..]] {
        for signal in [Signal::SIGTERM, Signal::SIGINT] {
            let mut service = Service::start_with(&[], settings).await;
            becomes_ready(&service).await;
            let before = service.log().len();
            assert!(service.stop(signal).await, "{}", service.log());
            // A busy machine is slow at a statement before, which is worth a warning.
            let log = service.log().split_off(before);
            assert!(!log.contains("WARN") && !log.contains("ERROR"), "{signal}: {log}");
        }
    }
}
