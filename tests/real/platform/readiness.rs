//! Readiness: what `/readyz` says, and that asking costs nothing (reliability, "An instance starts or stops").

use std::time::Instant;

use futures::future::join_all;
use portico::app::Metrics;
use portico::kernel::lifecycle::Lifecycle;
use reqwest::Method;
use sqlx::{Connection, Executor, PgConnection};

use crate::support::own_postgres::OwnPostgres;
use crate::support::waiting::{in_time, until};
use crate::support::{Answer, World};

async fn ready(world: &World) -> Answer {
    world.request(Method::GET, "/readyz").send().await
}

/// The statements that the instance has sent so far.
fn statements(world: &World) -> u64 {
    let counted = Metrics::new(world.state.clone()).render();
    let counts = counted.lines().filter(|line| line.starts_with("portico_statement_seconds_count{"));
    counts.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
}

#[tokio::test]
async fn a_thousand_questions_cause_no_more_statements_than_one() {
    let world = World::new().await;
    let before = statements(&world);
    ready(&world).await.ok(200);
    let (one, asked) = (statements(&world) - before, Instant::now());
    assert!(one > 0);
    for _ in 0..10 {
        join_all((0..100).map(|_| ready(&world))).await.into_iter().for_each(|answer| drop(answer.ok(200)));
    }
    // Between two checks there is a second.
    let (all, checks) = (statements(&world) - before, asked.elapsed().as_secs() + 2);
    assert!(all <= one * checks, "{all} statements, of which a check has {one}, and {checks} checks at most");
    let sessions = "select count(*) from pg_stat_activity where datname = current_database() and query like '%generate_series(1, 10000)%'
                    and pid <> pg_backend_pid()";
    until("the checks have one connection", async || world.count(sessions).await == 1).await;
    // The server tells of it somewhat later.
    let files = "select temp_files from pg_stat_database where datname = current_database()";
    until("a check has written something", async || world.count(files).await > 0).await;
}

#[tokio::test]
async fn a_database_that_stands_still_is_reported_and_never_waited_for() {
    let database = OwnPostgres::start().await;
    let world = World::on(&database.url(), &[]).await;
    ready(&world).await.ok(200);
    let frozen = database.freeze();
    // A check takes three seconds now: if each of them waited for one, they would take longer than anybody waits for them.
    let answers = async {
        for _ in 0..50 {
            ready(&world).await;
        }
    };
    in_time("what is known already is told", answers).await;
    until("the check has failed", async || {
        let answer = ready(&world).await;
        answer.status == 503 && answer.body["code"] == "database_unavailable"
    })
    .await;
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
