//! A pooler in front of the database (`docs/operating.md`, "Poolers").

use std::collections::BTreeSet;
use std::pin::pin;

use futures::future::{join_all, try_join_all};
use portico::events;
use portico::kernel::database::{Notifications, Pool, pooler_leads_there, took_too_long};
use reqwest::Method;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row};

use crate::platform::schemas::schema;
use crate::support::customers::PHONE;
use crate::support::pooler::{Mode, Pooler};
use crate::support::program::{finding, portico};
use crate::support::skipping::skipped;
use crate::support::waiting::{in_time, until};
use crate::support::{World, database};

/// The settings of the session or transaction that a statement runs in.
const SETTINGS: &str = "select string_agg(current_setting(name), ' ') from unnest(array['statement_timeout', 'timezone', 'jit']) as name";
/// How many sessions the pooler has for a database.
const SESSIONS: u32 = 2;

fn pooler(database: &str, mode: Mode) -> Option<Pooler> {
    let pooler = Pooler::start(database, mode);
    if pooler.is_none() {
        skipped("PgBouncer is not installed (Debian: apt-get install pgbouncer)");
    }
    pooler
}

async fn settings(pool: &Pool) -> String {
    sqlx::query_scalar(SETTINGS).fetch_one(pool).await.unwrap()
}

/// The session that answers after so many seconds.
async fn session(pool: &Pool, seconds: f64) -> Result<i32, sqlx::Error> {
    sqlx::query_scalar("select pg_backend_pid() from pg_sleep($1)").bind(seconds).fetch_one(pool).await
}

/// A world on a database of its own whose requests are served by a pooler in transaction mode, with these other settings.
async fn pooled(changes: &[(&str, &str)]) -> Option<(World, Pooler)> {
    let database = database::fresh().await;
    let pooler = pooler(&database, Mode::Transaction(Some(SESSIONS)))?;
    let url = pooler.url(&database);
    Some((World::on(&database, &[&[("database.pooler_url", url.as_str())], changes].concat()).await, pooler))
}

#[tokio::test]
async fn behind_a_pooler_in_session_mode_sessions_have_their_settings_and_hear_notifications() {
    let database = database::fresh().await;
    let Some(pooler) = pooler(&database, Mode::Session) else { return };
    let here = World::on(&pooler.url(&database), &[]).await;
    assert_eq!(settings(&here.pool).await, "5s UTC off");

    let there = here.another_instance();
    let (receiver, _) = here.subscriber("shop.test").await;
    let mut heard = Notifications::listen(&here.pool, &[events::PUBLISHED]).await.unwrap();
    here.state.webhooks.start_worker(&here.lifecycle);
    there.register(PHONE).await;
    in_time("the notification arrives", heard.next()).await.unwrap();
    receiver.waits_for(1).await;
}

#[tokio::test]
async fn behind_a_pooler_in_transaction_mode_many_requests_share_a_few_sessions() {
    let Some((world, _pooler)) = pooled(&[]).await else { return };
    let (receiver, _) = world.subscriber("shop.test").await;
    world.state.webhooks.start_worker(&world.lifecycle);
    // On a busy machine the first session has answered all of them before there is another one.
    until("they share all sessions", async || {
        let answered = join_all((0..20).map(|_| session(&world.pool, 0.02))).await;
        let sessions: BTreeSet<_> = answered.into_iter().map(Result::unwrap).collect();
        assert!(sessions.len() <= SESSIONS as usize, "{sessions:?}");
        sessions.len() == SESSIONS as usize
    })
    .await;

    let signed_in = world.register(PHONE).await;
    let orders = try_join_all((0..20).map(|number| {
        let (world, token) = (&world, signed_in["token"].as_str().unwrap());
        async move {
            let order = world.order(json!({ "status": "created", "internal_id": format!("order {number}") })).await;
            world.storefront_get("customers/me").token(token).send().await.ok(200);
            world.change_order(&order, json!({ "status": "cancelled" })).await;
            world.api(Method::GET, "/fleet/int/v1/orders?query=order").send().await.ok(200);
            Ok::<_, ()>(order)
        }
    }));
    let orders = orders.await.unwrap();
    // customer.created, and two events for each order.
    receiver.waits_for(1 + 2 * orders.len()).await;
}

#[tokio::test]
async fn behind_a_pooler_in_transaction_mode_settings_hold_for_each_transaction_and_for_nobody_else() {
    let Some((world, pooler)) = pooled(&[("database.statement_timeout", "5s")]).await else { return };
    assert_eq!(settings(&world.pool).await, "5s UTC off");
    let mut transaction = world.pool.begin().await.unwrap();
    let within: String = sqlx::query_scalar(SETTINGS).fetch_one(&mut *transaction).await.unwrap();
    assert_eq!(within, "5s UTC off");
    transaction.rollback().await.unwrap();
    assert!(settings(world.pool.owner()).await.starts_with("5s"));

    // Whoever else uses the sessions of the pooler, such as another program.
    let mut other = PgConnection::connect(&pooler.url(&world.database)).await.unwrap();
    for _ in 0..2 * SESSIONS {
        let timeout = sqlx::raw_sql("show statement_timeout").fetch_one(&mut other).await.unwrap();
        assert_eq!(timeout.get::<&str, _>(0), "0");
    }
    // What may take long has the session that it needs.
    let mut patient = world.pool.acquire_patient().await.unwrap();
    assert_eq!(sqlx::query_scalar::<_, String>("show statement_timeout").fetch_one(&mut patient).await.unwrap(), "1h");
}

#[tokio::test]
async fn behind_a_pooler_in_transaction_mode_what_fails_or_is_given_up_leaves_nothing_behind() {
    let Some((world, _pooler)) = pooled(&[]).await else { return };
    let count = async || sqlx::query_scalar::<_, i64>("select count(*) from companies").fetch_one(&world.pool).await.unwrap();
    let before = count().await;
    assert!(took_too_long(&session(&world.pool, 600.0).await.unwrap_err()));
    for sql in ["delete from companies where 1 / (length(name) - length(name)) = 1", "select from nothing"] {
        world.pool.execute(AssertSqlSafe(sql.to_owned())).await.unwrap_err();
        sqlx::query(AssertSqlSafe(sql.to_owned())).execute(&world.pool).await.unwrap_err();
    }
    for _ in 0..2 * SESSIONS {
        let mut transaction = world.pool.begin().await.unwrap();
        sqlx::query("update companies set name = $1").bind("given up").execute(&mut *transaction).await.unwrap();
        drop(transaction);
    }
    let renamed = "select count(*) from companies where name = 'given up'";
    assert_eq!(sqlx::query_scalar::<_, i64>(renamed).fetch_one(&world.pool).await.unwrap(), 0);
    assert_eq!(count().await, before);
    world.register(PHONE).await;
}

#[tokio::test]
async fn behind_a_pooler_in_transaction_mode_a_statement_that_nobody_waits_for_ends() {
    let Some((world, _pooler)) = pooled(&[("database.statement_timeout", "10m")]).await else { return };
    let direct = database::pool(&world.database);
    let sql = "select count(*) from pg_stat_activity
               where datname = current_database() and query like '%from pg_sleep%' and pid <> pg_backend_pid() and state = 'active'";
    let running = async || sqlx::query_scalar::<_, i64>(sql).fetch_one(&direct).await.unwrap();
    tokio::select! {
        answered = session(&world.pool, 600.0) => panic!("nobody waits for it: {answered:?}"),
        () = until("the server runs it", async || running().await == 1) => {}
    }
    until("the server has noticed", async || running().await == 0).await;
    world.register(PHONE).await;
}

#[tokio::test]
async fn behind_a_pooler_in_transaction_mode_statements_have_the_schema_of_the_url() {
    let database = database::empty().await;
    let Some(pooler) = pooler(&database, Mode::Transaction(Some(SESSIONS))) else { return };
    let schema = schema(&database, "shop_a").await;
    let world = World::on(&schema, &[("database.pooler_url", &pooler.url(&database))]).await;
    let signed_in = world.register(PHONE).await;
    world.storefront_get("customers/me").token(signed_in["token"].as_str().unwrap()).send().await.ok(200);
    assert_eq!(pooler_leads_there(&world.pool).await.unwrap(), Some(true));
}

/// What is not PostgreSQL's own is looked up by the driver, between the two parts in which it sends a statement.
#[tokio::test]
async fn the_schema_has_no_types_of_its_own() {
    let pool = database::pool(&database::fresh().await);
    let own = "select count(*) from pg_type where typnamespace = 'public'::regnamespace and typtype in ('e', 'd', 'r', 'm')";
    assert_eq!(sqlx::query_scalar::<_, i64>(own).fetch_one(&pool).await.unwrap(), 0);
}

#[tokio::test]
async fn an_instance_is_ready_while_its_pooler_is_busy_and_not_while_it_is_away() {
    let Some((world, mut pooler)) = pooled(&[("database.statement_timeout", "1m")]).await else { return };
    let ready = async || world.request(Method::GET, "/readyz").send().await;
    ready().await.ok(200);
    // Longer than a check waits.
    let mut busy = pin!(join_all((0..SESSIONS).map(|_| session(&world.pool, 4.0))));
    let answered = loop {
        tokio::select! {
            answered = &mut busy => break answered,
            answer = ready() => drop(answer.ok(200)),
        }
    };
    assert!(answered.iter().all(Result::is_ok));

    let url = pooler.url(&world.database);
    let doctor = async |what: &str| doctor(&[("database.url", &world.database), ("database.pooler_url", &url)], what).await;
    assert!(doctor("pooler").await.starts_with("ok"));
    pooler.stop();
    until("the instance is not ready", async || ready().await.status == 503).await;
    ready().await.refused(503, "database_unavailable");
    assert!(doctor("pooler").await.starts_with("BAD"));
    assert!(doctor("database").await.starts_with("ok"));
}

#[tokio::test]
async fn the_doctor_says_whether_the_pooler_leads_to_the_database() {
    let Some((world, pooler)) = pooled(&[]).await else { return };
    let elsewhere = pooler.url(&database::fresh().await);
    let said = doctor(&[("database.url", &world.database), ("database.pooler_url", &elsewhere)], "pooler").await;
    assert!(said.starts_with("BAD") && said.contains("another schema or database"), "{said}");
}

/// What `portico doctor` says of `what`.
async fn doctor(settings: &[(&str, &str)], what: &str) -> String {
    let report = portico(&["doctor"], settings).output().await.unwrap().stdout;
    finding(&String::from_utf8(report).unwrap(), &format!("{what}  ")).to_owned()
}
