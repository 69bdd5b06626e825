//! Removing what has expired: each kind of row by itself, in one instance at a time.

use chrono::TimeDelta;
use sqlx::Executor;

use crate::support::World;
use crate::support::waiting::until;

/// Counts something that has expired long ago.
async fn expire_a_limit(world: &World) {
    world.pool.execute("insert into rate_limits (bucket, hits, expires_at) values ('old', '{}', '2020-01-01')").await.unwrap();
}

async fn limits(world: &World) -> i64 {
    world.count("select count(*) from rate_limits where bucket = 'old'").await
}

#[tokio::test]
async fn what_cannot_be_deleted_keeps_nothing_else_and_all_of_it_is_named() {
    let world = World::new().await;
    expire_a_limit(&world).await;
    for sql in [
        "insert into wrong_codes (store_id, identity, wrong, last_wrong_at) select id, 'ada', 1, '2020-01-01' from stores",
        "insert into wrong_codes (store_id, identity, wrong, lockouts, last_wrong_at) select id, 'eve', 1, 1, '2020-01-01' from stores",
        "insert into verification_codes (id, store_id, purpose, identity, sent_to, channel, digest, issued_at, expires_at)
         select gen_random_uuid(), id, 'create_account', 'ada', 'ada', 'sms', '\\x00', '2020-01-01', '2020-01-01' from stores",
    ] {
        world.pool.execute(sql).await.unwrap();
    }
    world.pass(TimeDelta::days(366));
    let changes = world.count("select count(*) from changes").await;
    assert!(changes > 0);
    for table in ["verification_codes", "changes"] {
        world.refuse_deletes(table).await;
    }
    // One before, and two behind.
    let unfinished = world.state.sweep().await.unwrap_err().to_string();
    assert!(unfinished.starts_with("storefront: verification_codes: ") && unfinished.contains("; changes: "), "{unfinished}");
    assert_eq!(unfinished.matches("; ").count(), 1, "{unfinished}");
    assert_eq!(limits(&world).await, 0);
    assert_eq!(world.count("select count(*) from wrong_codes").await, 0);
    assert_eq!(world.count("select count(*) from verification_codes").await, 1);
    assert_eq!(world.count("select count(*) from changes").await, changes);

    world.accept_deletes().await;
    world.state.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from verification_codes").await + world.count("select count(*) from changes").await, 0);
}

#[tokio::test]
async fn a_connection_that_breaks_keeps_nothing_else() {
    let world = World::new().await;
    expire_a_limit(&world).await;
    for sql in [
        "insert into wrong_codes (store_id, identity, wrong, last_wrong_at) select id, 'ada', 1, '2020-01-01' from stores",
        "create function hang_up() returns trigger language plpgsql as
         $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$",
        "create trigger hang_up before delete on rate_limits for each statement execute function hang_up()",
    ] {
        world.pool.execute(sql).await.unwrap();
    }
    let unfinished = world.state.sweep().await.unwrap_err().to_string();
    assert!(unfinished.starts_with("storefront: rate_limits: ") && !unfinished.contains(';'), "{unfinished}");
    assert_eq!((limits(&world).await, world.count("select count(*) from wrong_codes").await), (1, 0));
}

#[tokio::test]
async fn of_several_instances_one_sweeps_the_database() {
    let here = World::new().await;
    let there = here.another_instance();
    expire_a_limit(&here).await;
    here.state.sweep_in_turn().await.unwrap();
    assert_eq!(limits(&here).await, 0);
    expire_a_limit(&here).await;
    // However long the story takes.
    let prolonged =
        "update leases set held_until = held_until + interval '1 day' where name = 'sweeping' and held_until > clock_timestamp()";
    assert_eq!(here.pool.execute(prolonged).await.unwrap().rows_affected(), 1);
    for instance in [&there, &here] {
        instance.state.sweep_in_turn().await.unwrap();
        assert_eq!(limits(&here).await, 1, "it was done a moment ago");
    }
    // When its time has passed, whoever comes first does it.
    here.pool.execute("update leases set held_until = clock_timestamp() - interval '1 second'").await.unwrap();
    there.state.sweep_in_turn().await.unwrap();
    assert_eq!(limits(&here).await, 0);
}

#[tokio::test]
async fn the_program_sweeps_as_long_as_it_runs() {
    let world = World::new().await;
    expire_a_limit(&world).await;
    world.state.start_sweeping(&world.lifecycle);
    until("the limit is removed", async || limits(&world).await == 0).await;
}
