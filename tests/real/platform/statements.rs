//! No statement lasts for ever, and what is not committed is rolled back: reliability, "The database goes away silently".

use std::time::Duration;

use portico::kernel::database::{Connection, Limits, Notifications, Pool, is_unavailable, took_too_long};
use sqlx::Executor;

use crate::support::database;
use crate::support::proxy::Proxy;
use crate::support::waiting::{in_time, until};

/// A pool whose statements may take half a second, of the database at this URL.
fn hurried(url: &str) -> Pool {
    let limits = Limits { connections: 2, acquire_timeout: Duration::from_secs(5), statement_timeout: Duration::from_millis(500) };
    Pool::new(url.parse().unwrap(), limits)
}

async fn names(conn: &mut Connection) -> Vec<String> {
    sqlx::query_scalar("select name from companies order by name collate \"C\"").fetch_all(conn).await.unwrap()
}

async fn add(conn: &mut Connection, name: &str) {
    let sql = "insert into companies (id, name, created_at) values (gen_random_uuid(), $1, now())";
    sqlx::query(sql).bind(name).execute(conn).await.unwrap();
}

/// The statements of this text that the server runs.
async fn running(pool: &Pool, text: &str) -> i64 {
    sqlx::query_scalar("select count(*) from pg_stat_activity where datname = current_database() and state = 'active' and query = $1")
        .bind(text)
        .fetch_one(pool)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_ended_and_its_connection_used_again() {
    let pool = hurried(&database::fresh().await);
    let mut conn = pool.acquire().await.unwrap();
    let process = async |conn: &mut Connection| sqlx::query_scalar::<_, i32>("select pg_backend_pid()").fetch_one(conn).await.unwrap();
    let before = process(&mut conn).await;
    let error = conn.execute("select pg_sleep(30)").await.unwrap_err();
    assert!(took_too_long(&error) && !is_unavailable(&error), "{error}");
    assert_eq!(process(&mut conn).await, before);
    drop(conn);
    assert_eq!(process(&mut pool.acquire().await.unwrap()).await, before);
}

#[tokio::test]
async fn who_does_not_wait_has_a_connection_only_if_one_is_free() {
    let pool = hurried(&database::fresh().await);
    let [first, second, third] = [pool.acquire_free().await, pool.acquire_free().await, pool.acquire_free().await].map(Result::unwrap);
    assert!(first.is_some() && second.is_some() && third.is_none());
    drop(second);
    assert!(pool.acquire_free().await.unwrap().is_some());
}

#[tokio::test]
async fn a_patient_statement_takes_its_time_and_its_connection_is_not_kept() {
    let pool = hurried(&database::fresh().await);
    let mut patient = pool.acquire_patient().await.unwrap();
    patient.execute("select pg_sleep(0.7)").await.unwrap();
    drop(patient);
    for _ in 0..2 {
        assert!(took_too_long(&pool.execute("select pg_sleep(30)").await.unwrap_err()));
    }
}

#[tokio::test]
async fn a_statement_that_outlives_its_caller_ends_at_the_server() {
    const SLEEP: &str = "select pg_sleep(600)";
    let url = database::fresh().await;
    let limits = Limits { connections: 2, acquire_timeout: Duration::from_secs(600), statement_timeout: Duration::from_secs(600) };
    let (pool, observer) = (Pool::new(url.parse().unwrap(), limits), database::pool(&url));
    let mut conn = pool.acquire().await.unwrap();
    tokio::select! {
        slept = conn.execute(SLEEP) => panic!("nobody sleeps so long: {slept:?}"),
        () = until("the server runs it", async || running(&observer, SLEEP).await == 1) => {}
    }
    assert!(is_unavailable(&conn.execute("select 1").await.unwrap_err()), "its answer could be taken for that of the next statement");
    assert_eq!(running(&observer, SLEEP).await, 1);
    drop(conn);
    until("the server has noticed", async || running(&observer, SLEEP).await == 0).await;
    pool.execute("select 1").await.unwrap();
}

#[tokio::test]
async fn what_is_not_committed_is_rolled_back_at_once() {
    let pool = database::pool(&database::fresh().await);
    let mut transaction = pool.begin().await.unwrap();
    add(&mut transaction, "Kept").await;
    let mut savepoint = transaction.begin().await.unwrap();
    add(&mut savepoint, "Given up").await;
    drop(savepoint);
    let mut savepoint = transaction.begin().await.unwrap();
    add(&mut savepoint, "Kept too").await;
    savepoint.commit().await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(names(&mut pool.acquire().await.unwrap()).await, ["Kept", "Kept too"]);

    let mut given_up = pool.begin().await.unwrap();
    given_up.execute("delete from companies").await.unwrap();
    drop(given_up);
    // The rows are locked until the rollback.
    in_time("the transaction has been rolled back", pool.execute("update companies set name = name || '!'")).await.unwrap();
    let mut conn = pool.acquire().await.unwrap();
    let mut borrowed = conn.begin().await.unwrap();
    add(&mut borrowed, "Given up").await;
    drop(borrowed);
    assert_eq!(names(&mut conn).await, ["Kept too!", "Kept!"]);
    let rolled_back = conn.begin().await.unwrap();
    rolled_back.rollback().await.unwrap();
    let failed = conn.begin().await.unwrap().execute("select 1 / 0").await;
    assert!(!is_unavailable(&failed.unwrap_err()));
    assert_eq!(names(&mut conn).await.len(), 2);
}

#[tokio::test]
async fn a_listener_notices_that_its_connection_is_swallowed() {
    let (proxy, url) = Proxy::of(&database::fresh().await);
    let pool = database::pool(&url);
    let mut notifications = Notifications::listen(&pool, &["drill"]).await.unwrap();
    pool.execute("notify drill, 'one'").await.unwrap();
    assert_eq!(notifications.next().await.unwrap().payload, "one");
    proxy.swallow_established();
    assert!(is_unavailable(&in_time("the listener has noticed", notifications.next()).await.unwrap_err()));
}
