//! At-least-once delivery despite faults of the worker and the database (architecture, An event). `endpoints.rs` tests faults of
//! endpoints.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use portico::kernel::crypto::random_bytes;
use portico::kernel::database::Connection;
use portico::kernel::lifecycle::Lifecycle;
use reqwest::Method;
use serde_json::json;
use sqlx::{AssertSqlSafe, Executor};
use tokio::process::Child;
use tokio::time::sleep;

use crate::support::own_postgres::OwnPostgres;
use crate::support::program::{ask_to_stop, portico};
use crate::support::proxy::Proxy;
use crate::support::receiver::{Receiver, authority, event_ids};
use crate::support::waiting::{in_time, until, until_or_say};
use crate::support::{World, database};

/// In which deliveries that may be there are looked for more than once.
const SOME_LOOKS: Duration = Duration::from_secs(4);

/// A worker on the world's database, in its own process.
fn worker(world: &World) -> Child {
    let settings = [
        ("application_key", world.application_key_setting.as_str()),
        ("database.url", &world.database),
        ("webhooks.allowed_networks", "127.0.0.0/8"),
        ("webhooks.extra_root_certificates", authority().certificate_path().to_str().unwrap()),
    ];
    portico(&["serve"], &settings).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The sessions of the program and of this world.
async fn sessions(world: &World) -> BTreeSet<i32> {
    let sql = "select pid from pg_stat_activity where datname = current_database() and application_name like 'portico%'";
    sqlx::query_scalar::<_, i32>(sql).fetch_all(&world.pool).await.unwrap().into_iter().collect()
}

/// What has not been delivered yet, and why.
async fn left(world: &World) -> String {
    let sql = "select coalesce(string_agg(row::text, ', '), 'nothing else') from (
                   select 'in flight', in_flight.worker in (select id from workers), to_jsonb(in_flight) from in_flight
                   union all select 'waiting', null, to_jsonb(waiting) from waiting
                   union all select 'closed', null, to_jsonb(deliveries) from deliveries where state <> 'delivered'
                   union all select 'attempted', null, to_jsonb(attempts) - 'request_headers' from attempts where error <> 'interrupted'
                   union all select 'endpoint', null, to_jsonb(endpoints) from endpoints
                   union all select 'lease', null, to_jsonb(leases) from leases
                   union all select 'outbox', null, to_jsonb(count(*)) from outbox
                   union all select 'now', null, to_jsonb(clock_timestamp())
               ) as row";
    sqlx::query_scalar(sql).fetch_one(&world.pool).await.unwrap()
}

#[tokio::test]
async fn a_worker_killed_eight_times_in_a_drain_delivers_everything_and_claims_nothing_that_did_not_arrive() {
    const EVENTS: usize = 1_000;
    let world = World::new().await;
    world.resolver.insert("localhost", &["127.0.0.1".parse().unwrap()]);
    let receiver = Receiver::start_for_many("localhost").await;
    world.subscribe(&receiver, json!({})).await;
    let published = world.publish_many(EVENTS).await;
    for _ in 0..8 {
        let ([more], others) = (random_bytes(), sessions(&world).await);
        let mut killed = worker(&world);
        receiver.waits_for((receiver.count() + 50 + usize::from(more % 50)).min(EVENTS)).await;
        killed.kill().await.unwrap();
        // A statement that was under way may still commit.
        let ended = async || sessions(&world).await.is_subset(&others);
        until("the sessions of the killed worker have ended", ended).await;
        // A minute passes, so its leases expire: those of its deliveries, and that of the instance that keeps house.
        let minute = "update in_flight set claimed_at = claimed_at - interval '1 minute'; update leases set held_until = held_until - interval '1 minute'";
        sqlx::raw_sql(minute).execute(&world.pool).await.unwrap();
    }
    let mut last = worker(&world);
    // What arrived just before a kill was not recorded, and is sent again.
    let delivered = async || world.count("select count(*) from deliveries where state = 'delivered'").await;
    let all = async || delivered().await >= EVENTS as i64;
    until_or_say("everything is recorded as delivered", all, async || left(&world).await).await;
    assert_eq!(event_ids(&receiver.received()), published);
    ask_to_stop(&last);
    assert!(in_time("the worker exits", last.wait()).await.unwrap().success(), "the worker finishes the deliveries in flight and exits");

    let delivered: Vec<uuid::Uuid> =
        sqlx::query_scalar("select event_id from deliveries where state = 'delivered'").fetch_all(&world.pool).await.unwrap();
    assert_eq!(delivered.len(), EVENTS, "each event has exactly one delivered delivery");
    let interrupted = world.count("select count(*) from attempts where error = 'interrupted'").await;
    let duplicates = receiver.count() - EVENTS;
    assert!(interrupted > 0, "at least one kill interrupted an attempt");
    assert!(duplicates as i64 <= interrupted, "{duplicates} duplicates, {interrupted} interrupted attempts");
    assert_eq!(world.count("select count(*) from attempts where error is distinct from 'interrupted' and status <> 200").await, 0);
    assert_eq!(world.count("select sum(in_flight) from endpoints").await, 0);
}

#[tokio::test]
async fn an_event_whose_publisher_lost_its_connection_at_the_commit_does_not_wait_for_the_end_of_its_lease() {
    let direct = database::fresh().await;
    let (proxy, url) = Proxy::of(&direct);
    let world = World::on(&url, &[]).await;
    world.sends_at_once(&world.lifecycle).await;
    let (receiver, beside) = (world.endpoint("shop.test").await, database::pool(&direct));
    world.subscribe(&receiver, json!({ "events": ["order.created"] })).await;
    let mut held = beside.begin().await.unwrap();
    held.execute("lock table in_flight in exclusive mode").await.unwrap();
    let waiting = "select count(*) from pg_stat_activity
                   where datname = current_database() and wait_event_type = 'Lock' and query like 'with head as materialized%'";
    let losing = async {
        let stands_still = async || sqlx::query_scalar::<_, i64>(waiting).fetch_one(&beside).await.unwrap() == 1;
        until("the publisher's statement stands still", stands_still).await;
        // The statement goes on, and its answer is lost.
        proxy.swallow_established();
        held.rollback().await.unwrap();
    };
    let publishing = world.developers(Method::POST, "events", world.sample_of("order.created"));
    let (answer, ()) = tokio::join!(publishing, losing);
    answer.refused(503, "database_unavailable");
    // The clock of the story stands still, so no lease ends.
    receiver.waits_for(1).await;
    let delivered = async || world.count("select count(*) from deliveries where state = 'delivered' and attempts = 1").await == 1;
    until("it is recorded", delivered).await;
    assert_eq!((receiver.count(), world.count("select sum(in_flight) from endpoints").await), (1, 0));
    beside.close().await;
}

#[tokio::test]
async fn an_event_whose_commit_lasts_longer_than_its_publisher_waits_does_not_wait_for_the_end_of_its_lease() {
    let database = OwnPostgres::start().await;
    let world = World::on(&database.url(), &[]).await;
    world.sends_at_once(&world.lifecycle).await;
    let receiver = world.endpoint("shop.test").await;
    world.subscribe(&receiver, json!({ "events": ["order.created"] })).await;
    let mut administrator = database.connect().await;
    administrator.execute("set synchronous_commit = local").await.unwrap();
    // A standby that commits wait for, and that is away.
    administrator.execute("alter system set synchronous_standby_names = 'away'").await.unwrap();
    administrator.execute("select pg_reload_conf()").await.unwrap();
    let mut probe = database.connect().await;
    let probing = async { while probe.execute("create table if not exists probe (); drop table probe").await.is_ok() {} };
    let probes = "select count(*) from pg_stat_activity where wait_event = 'SyncRep' and query like '%probe%'";
    let has_the_setting = async || sqlx::query_scalar::<_, i64>(probes).fetch_one(&mut administrator).await.unwrap() == 1;
    tokio::select! {
        () = until("a commit waits for the standby", has_the_setting) => {}
        () = probing => panic!("a commit of the probe was refused"),
    }
    let waiting = "select count(*) from pg_stat_activity where wait_event = 'SyncRep' and query like 'with head as materialized%'";
    let lasts = async |conn: &mut Connection| sqlx::query_scalar::<_, i64>(waiting).fetch_one(conn).await.unwrap() == 1;
    world.developers(Method::POST, "events", world.sample_of("order.created")).await.refused(503, "database_unavailable");
    assert!(lasts(&mut administrator).await, "the commit has not ended");
    // Its deliveries have been looked for meanwhile, and are not to be seen.
    sleep(SOME_LOOKS).await;
    assert_eq!(receiver.count(), 0);
    administrator.execute("alter system reset synchronous_standby_names").await.unwrap();
    administrator.execute("select pg_reload_conf()").await.unwrap();
    // The clock of the story stands still, so no lease ends.
    receiver.waits_for(1).await;
    drop(administrator);
    database.end(world).await;
}

#[tokio::test]
async fn a_full_disk_and_serialization_failures_hold_up_deliveries_and_lose_none() {
    for code in ["53100", "40001"] {
        let world = World::with(&[("webhooks.endpoint_concurrency", "15")]).await;
        let (receiver, _) = world.subscriber("shop.test").await;
        let published = world.publish_many(30).await;
        // The database refuses every third batch of fan-out, claiming and recording, beginning with the first.
        let refuse = format!(
            "create sequence refused_in_outbox;
             create sequence refused_in_in_flight;
             create sequence refused_in_attempts;
             create function refuse() returns trigger language plpgsql as $$
             begin
                 if nextval(('refused_in_' || tg_table_name)::regclass) % 3 = 1 then raise exception 'refused' using errcode = '{code}'; end if;
                 return null;
             end $$;
             create trigger refuse before delete on outbox for each statement execute function refuse();
             create trigger refuse before insert on in_flight for each statement execute function refuse();
             create trigger refuse before insert on attempts for each statement execute function refuse();"
        );
        sqlx::raw_sql(AssertSqlSafe(refuse)).execute(&world.pool).await.unwrap();
        let lifecycle = Lifecycle::default();
        world.state.webhooks.start_worker(&lifecycle);
        receiver.waits_until(|posts| event_ids(posts) == published).await;
        lifecycle.stop().await;
        for table in ["outbox", "in_flight", "attempts"] {
            let query = AssertSqlSafe(format!("select last_value from refused_in_{table}"));
            let executions: i64 = sqlx::query_scalar(query).fetch_one(&world.pool).await.unwrap();
            assert!(executions > 1, "the refused statement on {table} was retried");
        }
        sqlx::query("drop function refuse() cascade").execute(&world.pool).await.unwrap();
        // Attempts that could not be recorded before the shutdown are still leased.
        world.pass(chrono::TimeDelta::minutes(1));
        world.deliver().await;
        assert_eq!(world.count("select count(*) from deliveries where state = 'delivered'").await, 30, "{code}");
    }
}
