//! Work that one instance at a time does (`docs/architecture.md`, "One at a time").

use std::future::pending;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::join_all;
use portico::kernel::leases::{Lease, TERM};
use portico::kernel::migrations;
use sqlx::Executor;

use crate::support::waiting::{in_time, until};
use crate::support::{World, database};

const NAME: &str = "a story";
/// So short that a story sees it renewed, and so long that it is renewed in time on a busy machine: a third of it is for the statement.
const SHORT: Duration = Duration::from_secs(9);

async fn held_until(world: &World) -> DateTime<Utc> {
    sqlx::query_scalar("select held_until from leases where name = $1").bind(NAME).fetch_one(&world.pool).await.unwrap()
}

#[tokio::test]
async fn a_lease_is_renewed_while_the_work_lasts_and_free_after_it() {
    let world = World::new().await;
    let lease = Lease::take(&world.pool, NAME, SHORT).await.unwrap().unwrap();
    let first = held_until(&world).await;
    let work = async {
        until("the lease is renewed after its first term", async || held_until(&world).await > first + SHORT).await;
        assert!(Lease::take(&world.pool, NAME, TERM).await.unwrap().is_none(), "it is another one's");
        Ok::<_, sqlx::Error>(7)
    };
    assert_eq!(lease.during(work).await.unwrap(), 7);
    assert!(Lease::take(&world.pool, NAME, TERM).await.unwrap().is_some(), "it is free");
}

#[tokio::test]
async fn a_lease_that_has_run_out_is_taken_over_and_whoever_lost_it_gives_the_work_up() {
    let world = World::new().await;
    let lost = Lease::take(&world.pool, NAME, SHORT).await.unwrap().unwrap();
    world.pool.execute("update leases set held_until = clock_timestamp() - interval '1 second'").await.unwrap();
    let next = Lease::take(&world.pool, NAME, TERM).await.unwrap().unwrap();
    let until_then = held_until(&world).await;
    let given_up = in_time("the loss is noticed", lost.during(pending::<Result<(), sqlx::Error>>())).await.unwrap_err();
    assert!(given_up.to_string().contains("another instance may do this work now"), "{given_up}");
    assert_eq!(held_until(&world).await, until_then, "it is the next one's still");
    next.during(async { Ok::<_, sqlx::Error>(()) }).await.unwrap();
}

#[tokio::test]
async fn work_that_is_done_once_in_a_period_is_nobodys_until_it_has_passed() {
    let world = World::new().await;
    for done in [Ok(7), Err(sqlx::Error::RowNotFound)] {
        let is_done = done.is_ok();
        let lease = Lease::take(&world.pool, NAME, TERM).await.unwrap().unwrap();
        assert_eq!(lease.once_in(Duration::from_secs(3_600), async { done }).await.is_ok(), is_done);
        assert!(Lease::take(&world.pool, NAME, TERM).await.unwrap().is_none(), "also if it has failed");
        let next = "update leases set held_until = held_until - interval '1 hour 1 second'";
        world.pool.execute(next).await.unwrap();
    }
    assert!(Lease::take(&world.pool, NAME, TERM).await.unwrap().is_some());
}

#[tokio::test]
async fn instances_that_migrate_an_empty_database_at_once_migrate_it_once() {
    let url = database::empty().await;
    let pools: Vec<_> = (0..3).map(|_| database::pool(&url)).collect();
    for migrated in join_all(pools.iter().map(migrations::apply)).await {
        assert_eq!(migrated.unwrap().newer, 0);
    }
    assert_eq!(migrations::difference(&pools[0]).await.unwrap().missing, 0);
    let held: i64 = sqlx::query_scalar("select count(*) from leases").fetch_one(&pools[0]).await.unwrap();
    assert_eq!(held, 0);
}
