//! Tests of a real private server.

use std::fs;

use super::*;

use sqlx::{Connection, PgConnection};

fn settings(directory: &TemporaryDirectory) -> Settings {
    Settings { data_dir: directory.path().join("data"), durable: true, max_connections: 10 }
}

async fn connect(postgres: &PrivatePostgres) -> PgConnection {
    PgConnection::connect(&postgres.url(DATABASE)).await.unwrap()
}

async fn ask(postgres: &PrivatePostgres, sql: &'static str) -> String {
    sqlx::query_scalar(sql).fetch_one(&mut connect(postgres).await).await.unwrap()
}

#[tokio::test]
async fn written_data_survives_a_restart() {
    let directory = TemporaryDirectory::make("portico-postgres").unwrap();
    let first = PrivatePostgres::start(&settings(&directory)).unwrap();
    sqlx::raw_sql("create table notes as select 'kept' as note").execute(&mut connect(&first).await).await.unwrap();
    first.stop().await;

    let second = PrivatePostgres::start(&settings(&directory)).unwrap();
    assert_eq!(ask(&second, "select note from notes").await, "kept");
    second.stop().await;
}

#[tokio::test]
async fn a_server_that_dies_is_started_again_if_it_is_to_keep_running() {
    let directory = TemporaryDirectory::make("portico-postgres").unwrap();
    let postgres = PrivatePostgres::start(&settings(&directory)).unwrap();
    let process = || postgres.cluster.postmaster().filter(|postmaster| postmaster.is_ready).map(|postmaster| postmaster.process);
    postgres.keep_running();
    sqlx::raw_sql("create table notes as select 'kept' as note").execute(&mut connect(&postgres).await).await.unwrap();
    for _ in 0..2 {
        let killed = process().unwrap();
        kill(killed, Signal::SIGKILL).unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while process().is_none_or(|process| process == killed) {
            assert!(Instant::now() < deadline, "it was not started again");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        assert_eq!(ask(&postgres, "select note from notes").await, "kept");
    }
    postgres.stop().await;
}

#[tokio::test]
async fn a_server_whose_process_was_killed_is_not_adopted_while_it_dies() {
    let directory = TemporaryDirectory::make("portico-postgres").unwrap();
    let settings = settings(&directory);
    let postgres = PrivatePostgres::start(&settings).unwrap();
    assert_eq!(PrivatePostgres::running(&settings.data_dir, DATABASE), Some(postgres.url(DATABASE)));
    let PrivatePostgres { server, cluster, socket, _claim, .. } = postgres;
    drop(_claim);
    assert!(socket.is_answered() && PrivatePostgres::running(&settings.data_dir, DATABASE).is_none());
    drop((server, cluster, socket));
}

#[tokio::test]
async fn data_that_is_set_aside_is_kept_beside_the_new() {
    let directory = TemporaryDirectory::make("portico-postgres").unwrap();
    let settings = settings(&directory);
    for number in 1..=2 {
        let former = PrivatePostgres::start(&settings).unwrap();
        assert_eq!(ask(&former, "select coalesce(to_regclass('notes')::text, 'empty')").await, "empty");
        sqlx::raw_sql("create table notes as select 'kept' as note").execute(&mut connect(&former).await).await.unwrap();
        let aside = former.set_aside().await.unwrap();
        assert_eq!(aside, settings.data_dir.canonicalize().unwrap().join(format!("postgres-set-aside-{number}")));
    }
    fs::rename(settings.data_dir.join("postgres-set-aside-1"), settings.data_dir.join("postgres")).unwrap();
    let brought_back = PrivatePostgres::start(&settings).unwrap();
    assert_eq!(ask(&brought_back, "select note from notes").await, "kept");
    brought_back.stop().await;
}

#[tokio::test]
async fn a_temporary_server_is_set_up_and_leaves_no_files() {
    let postgres = PrivatePostgres::start_temporary(17).unwrap();
    let facts = "select concat_ws(' ', current_user, current_database(),
                 current_setting('timezone'), current_setting('server_encoding'),
                 current_setting('max_connections'), current_setting('fsync'))";
    assert_eq!(ask(&postgres, facts).await, "portico portico UTC UTF8 17 off");
    let data_dir = postgres.socket.path().parent().unwrap().to_owned();
    assert!(data_dir.exists());
    postgres.stop().await;
    assert!(!data_dir.exists());
}

#[test]
fn a_server_that_does_not_come_up_says_why() {
    let directory = TemporaryDirectory::make("portico-postgres").unwrap();
    let settings = settings(&directory);
    drop(PrivatePostgres::start(&settings).unwrap());
    fs::write(settings.data_dir.join("postgres/postgresql.conf"), "colour = green").unwrap();
    let refusal = PrivatePostgres::start(&settings).unwrap_err().to_string();
    assert!(refusal.contains("unrecognized configuration parameter \"colour\""), "{refusal}");
}

#[test]
fn data_of_a_missing_version_are_not_changed() {
    let directory = TemporaryDirectory::make("portico-postgres").unwrap();
    let settings = settings(&directory);
    fs::create_dir_all(settings.data_dir.join("postgres")).unwrap();
    fs::write(settings.data_dir.join("postgres/PG_VERSION"), "9.1\n").unwrap();
    let refusal = PrivatePostgres::start(&settings);
    assert!(matches!(&refusal, Err(PostgresError::OtherVersion { version }) if version == "9.1"), "{refusal:?}");
}
