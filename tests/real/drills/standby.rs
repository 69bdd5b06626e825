//! Lists are read from a standby: scaling, "Reading from a standby".

use std::sync::atomic::{AtomicU32, Ordering};

use futures::future::join_all;
use portico::app::Metrics;
use portico::callers::Scope;
use portico::kernel::database::{Comparison, Standing};
use reqwest::Method;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::support::World;
use crate::support::own_postgres::OwnPostgres;
use crate::support::waiting::{in_time, until};

/// So long that no story waits for it.
const LONG: &str = "10m";

/// A primary and its standby, and the service that uses both.
struct Pair {
    world: World,
    primary: OwnPostgres,
    standby: OwnPostgres,
    /// A key of the company with which nothing was written.
    stranger: String,
}

impl Pair {
    async fn start(max_lag: &str) -> Self {
        let (primary, standby) = OwnPostgres::start_pair().await;
        // Nothing waits for a standby that the story stops.
        for sql in ["alter system reset synchronous_standby_names", "select pg_reload_conf()"] {
            primary.connect().await.execute(sql).await.unwrap();
        }
        let replica = standby.url();
        let settings = [("database.replica_url", &*replica), ("database.replica_max_lag", max_lag), ("database.statement_timeout", LONG)];
        let world = World::on(&primary.url(), &settings).await;
        let stranger = world.key_of(world.company, &Scope::ALL).await;
        let this = Self { world, primary, standby, stranger };
        this.is_used().await;
        // On a connection that the next readers find open: they wait for a new one for half a second, and ask the primary then.
        until("lists are read from the standby", async || {
            this.listed_for_stranger().await;
            this.read("standby") > 0.0
        })
        .await;
        this
    }

    /// What the service has found of the standby.
    fn standing(&self) -> Standing {
        self.world.pool.replica().unwrap().standing()
    }

    /// The value of a series of the metrics; 0 if there is none.
    fn series(&self, name: &str) -> f64 {
        let text = Metrics::new(self.world.state.clone()).render();
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok()).unwrap_or_default()
    }

    /// How often something was read with this outcome.
    fn read(&self, outcome: &str) -> f64 {
        self.series(&format!("portico_database_replica_reads_total{{outcome=\"{outcome}\"}}"))
    }

    async fn is_used(&self) {
        until("the standby is used", async || self.standing() == Standing::Used).await;
    }

    async fn at_standby(&self, statements: &[&str]) {
        let mut conn = PgConnection::connect(&self.standby.url()).await.unwrap();
        for sql in statements {
            conn.execute(AssertSqlSafe((*sql).to_owned())).await.unwrap();
        }
    }

    /// Whether a statement sleeps at the standby.
    async fn reads_slowly(&self) -> bool {
        let mut conn = PgConnection::connect(&self.standby.url()).await.unwrap();
        sqlx::query_scalar("select exists (select from pg_stat_activity where wait_event = 'PgSleep')").fetch_one(&mut conn).await.unwrap()
    }

    async fn listed_for(&self, key: &str) -> usize {
        listed_for(&self.world, key).await
    }

    async fn listed_for_stranger(&self) -> usize {
        self.listed_for(&self.stranger).await
    }

    async fn end(mut self) {
        self.world.pool.close().await;
        self.standby.go_away().await;
        self.primary.end(self.world).await;
    }
}

/// How many drivers the list has that is shown to this key.
async fn listed_for(world: &World, key: &str) -> usize {
    let list = world.request(Method::GET, "/fleet/int/v1/drivers").key(key).send().await.ok(200);
    list["drivers"].as_array().unwrap().len()
}

#[tokio::test]
async fn lists_are_read_from_the_standby_and_whoever_has_written_finds_it() {
    let pair = Pair::start(LONG).await;
    let writer = pair.world.api_key.clone();
    pair.at_standby(&["select pg_wal_replay_pause()"]).await;
    pair.world.driver("Ann").await;
    // A standby that is too busy to answer at once is not asked for some moments, and then everybody finds it.
    let told_apart = async || {
        let before = pair.read("own_write");
        assert_eq!(pair.listed_for(&writer).await, 1);
        let others = pair.listed_for_stranger().await;
        others == 0 && pair.read("own_write") > before && pair.series("portico_database_replica_used") == 1.0
    };
    until("the writer finds it and others do not", async || told_apart().await).await;
    // However often the servers have been looked at since.
    until("the standby is behind", async || pair.series("portico_database_replica_lag_seconds") >= 1.0).await;
    until("the writer finds it and others do not", async || told_apart().await).await;
    let now = pair.world.request(Method::GET, "/fleet/int/v1/drivers").key(&pair.stranger).header("cache-control", "no-cache");
    assert_eq!(now.send().await.ok(200)["drivers"].as_array().unwrap().len(), 1);
    pair.at_standby(&["select pg_wal_replay_resume()"]).await;
    // A third caller, who has not asked for what is there now.
    let another = pair.world.key_of(pair.world.company, &Scope::ALL).await;
    until("everybody sees it at the standby", async || pair.listed_for(&another).await == 1).await;
    until("the writer reads at the standby again", async || {
        let before = pair.read("standby");
        pair.listed_for(&writer).await == 1 && pair.read("standby") > before
    })
    .await;
    until("the standby is near", async || {
        let compared = pair.world.pool.replica().unwrap().compare().await;
        matches!(compared, Ok(Comparison::Behind { bytes }) if bytes < 1_000_000)
    })
    .await;
    pair.end().await;
}

#[tokio::test]
async fn a_standby_that_is_too_far_behind_is_not_asked() {
    let pair = Pair::start("1s").await;
    pair.at_standby(&["select pg_wal_replay_pause()"]).await;
    pair.world.driver("Ann").await;
    until("the primary is read", async || pair.listed_for_stranger().await == 1).await;
    until("the standby counts as behind", async || pair.standing() == Standing::Behind).await;
    pair.at_standby(&["select pg_wal_replay_resume()"]).await;
    pair.is_used().await;
    assert_eq!(pair.listed_for_stranger().await, 1);
    pair.end().await;
}

#[tokio::test]
async fn a_standby_that_is_killed_fails_no_list() {
    let mut pair = Pair::start(LONG).await;
    pair.world.driver("Ann").await;
    until("the standby has it", async || pair.listed_for_stranger().await == 1).await;
    let (world, stranger) = (&pair.world, &pair.stranger);
    let rounds = AtomicU32::new(0);
    let lists = async {
        while rounds.fetch_add(1, Ordering::Relaxed) < 40 {
            assert_eq!(join_all((0..6).map(|_| listed_for(world, stranger))).await, [1; 6]);
        }
    };
    let fault = async {
        until("lists are read", async || rounds.load(Ordering::Relaxed) > 5).await;
        pair.standby.crash().await;
    };
    in_time("the lists are read", async { tokio::join!(lists, fault) }).await;
    until("the standby counts as away", async || matches!(pair.standing(), Standing::Away(_))).await;
    pair.standby.come_back().await;
    pair.is_used().await;
    pair.end().await;
}

#[tokio::test]
async fn a_standby_that_was_promoted_is_not_used() {
    let pair = Pair::start(LONG).await;
    pair.standby.promote().await;
    pair.world.driver("Ann").await;
    // Not even by those who have a connection to it already.
    assert_eq!(pair.listed_for_stranger().await, 1);
    until("it counts as none", async || pair.standing() != Standing::Used).await;
    assert_eq!(pair.listed_for_stranger().await, 1);
    pair.end().await;
}

#[tokio::test]
async fn what_the_standby_cancels_because_it_has_to_go_on_is_read_from_the_primary() {
    let pair = Pair::start(LONG).await;
    pair.at_standby(&["alter system set max_standby_streaming_delay = 0", "select pg_reload_conf()"]).await;
    pair.world.pool.execute("create table scratch as select generate_series(1, 1000) as number").await.unwrap();
    let asked = AtomicU32::new(0);
    let slow = pair.world.pool.read(None, |mut conn| {
        asked.fetch_add(1, Ordering::Relaxed);
        async move {
            let sql = "select pg_is_in_recovery() from (select case when pg_is_in_recovery() then pg_sleep(600) end offset 0) as slept";
            sqlx::query_scalar::<_, bool>(sql).fetch_one(&mut conn).await
        }
    });
    let fault = async {
        until("the standby reads", async || pair.reads_slowly().await).await;
        pair.world.pool.execute("delete from scratch").await.unwrap();
        // Rows stay as long as a statement of before goes on at the primary.
        until("the standby has to go on", async || {
            pair.world.pool.execute("vacuum scratch").await.unwrap();
            !pair.reads_slowly().await
        })
        .await;
    };
    let (at_standby, ()) = in_time("it is read", async { tokio::join!(slow, fault) }).await;
    assert_eq!((at_standby.unwrap(), asked.into_inner()), (false, 2));
    pair.is_used().await;
    pair.end().await;
}
