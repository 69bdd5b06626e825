//! Readiness: what `/readyz` says, and that asking costs nothing (reliability, "An instance starts or stops").

use std::time::{Duration, Instant};

use futures::future::join_all;
use portico::kernel::lifecycle::Lifecycle;
use reqwest::Method;
use sqlx::{Connection, Executor, PgConnection};

use crate::support::own_postgres::OwnPostgres;
use crate::support::waiting::until;
use crate::support::{Answer, World};

async fn ready(world: &World) -> Answer {
    world.request(Method::GET, "/readyz").send().await
}

#[tokio::test]
async fn a_thousand_questions_cause_no_more_statements_than_one() {
    let world = World::new().await;
    ready(&world).await.ok(200);
    let asked = Instant::now();
    for _ in 0..10 {
        join_all((0..100).map(|_| ready(&world))).await.into_iter().for_each(|answer| drop(answer.ok(200)));
    }
    // Every statement of the check is a transaction of its own, and the server tells a second late at most.
    let checks = i64::try_from(asked.elapsed().as_secs()).unwrap() + 2;
    let sessions = "select count(*) from pg_stat_activity where datname = current_database() and query like '%generate_series(1, 10000)%'
                    and pid <> pg_backend_pid()";
    assert_eq!(world.count(sessions).await, 1, "the checks have one connection");
    let files = "select temp_files from pg_stat_database where datname = current_database()";
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let written = world.count(files).await;
    assert!((1..=2 * (checks + 2)).contains(&written), "{written} files for {checks} checks");
}

#[tokio::test]
async fn a_database_that_stands_still_is_reported_and_never_waited_for() {
    let database = OwnPostgres::start().await;
    let world = World::on(&database.url(), &[]).await;
    ready(&world).await.ok(200);
    let frozen = database.freeze();
    let mut slowest = Duration::ZERO;
    until("the check has failed", async || {
        let asked_at = Instant::now();
        let answer = ready(&world).await;
        slowest = slowest.max(asked_at.elapsed());
        answer.status == 503 && answer.body["code"] == "database_unavailable"
    })
    .await;
    assert!(slowest < Duration::from_secs(1), "the slowest answer came after {slowest:?}");
    drop(frozen);
    until("it is ready again", async || ready(&world).await.status == 200).await;
    database.end(world).await;
}

#[tokio::test]
async fn an_instance_whose_worker_stands_still_is_not_ready() {
    let world = World::new().await;
    let lifecycle = Lifecycle::default();
    world.state.webhooks.start_worker(&lifecycle);
    ready(&world).await.ok(200);
    let mut other = PgConnection::connect(&world.database).await.unwrap();
    other.execute("begin; lock table outbox in access exclusive mode").await.unwrap();
    until("the standstill is noticed", async || ready(&world).await.status == 503).await;
    let refusal = ready(&world).await.refused(503, "not_ready");
    assert!(refusal["detail"].as_str().unwrap().starts_with("The worker of this instance has passed on nothing for "), "{refusal}");
    other.execute("rollback").await.unwrap();
    until("the worker goes on", async || ready(&world).await.status == 200).await;
    lifecycle.stop().await;
}

#[tokio::test]
async fn an_instance_that_is_about_to_stop_says_so_at_once() {
    let world = World::new().await;
    ready(&world).await.ok(200);
    world.lifecycle.leave();
    ready(&world).await.refused(503, "not_ready");
    world.request(Method::GET, "/healthz").send().await.ok(200);
}
