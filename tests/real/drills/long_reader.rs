//! Somebody reads the log for hours, such as a backup, while its expired days are dropped: nobody waits for it, and nothing is lost.

use std::cell::Cell;
use std::error::Error;

use chrono::TimeDelta;
use portico::kernel::database::Transaction;
use portico::kernel::steps::Unfinished;
use sqlx::Executor;

use crate::support::World;
use crate::support::database;
use crate::support::receiver::Receiver;
use crate::support::waiting::in_time;

/// A transaction that has read all three tables and sees them as they were.
async fn reader(world: &World) -> Transaction<'static> {
    let mut reader = database::pool(&world.database).begin().await.unwrap();
    reader.execute("set transaction isolation level repeatable read").await.unwrap();
    reader.execute("set local idle_in_transaction_session_timeout = 0").await.unwrap();
    log(&mut reader).await;
    reader
}

/// What the log has for this transaction: its failed deliveries, their attempts and events.
async fn log(conn: &mut Transaction<'_>) -> [i64; 3] {
    let counts = "select count(distinct deliveries.id), count(*), count(distinct events.id)
                  from deliveries join attempts on delivery_id = deliveries.id join events on events.id = event_id
                  where state = 'failed'";
    let (deliveries, attempts, events) = sqlx::query_as(counts).fetch_one(&mut **conn).await.unwrap();
    [deliveries, attempts, events]
}

const ONE_FAILED: [i64; 3] = [1, 5, 1];

/// A world in whose log a day has expired, with one delivery that failed and one that did not, and a later day has begun.
async fn world_with_an_expired_day() -> (World, Receiver) {
    let world = World::new().await;
    world.state.webhooks.create_partitions().await.unwrap();
    let (receiver, _) = world.subscriber("shop.test").await;
    world.fail(&receiver, "order.updated").await;
    world.publish("order.created").await;
    world.deliver().await;
    world.pass(TimeDelta::days(31));
    world.state.webhooks.create_partitions().await.unwrap();
    (world, receiver)
}

/// Runs `housekeeping` while events are published and delivered, and checks all the time that nobody waits for a table, and that every
/// row that is kept is seen once.
async fn beside_traffic<T>(world: &World, housekeeping: impl Future<Output = T>) -> T {
    let done = Cell::new(false);
    let traffic = async {
        loop {
            world.publish("order.created").await;
            assert_eq!(world.deliver().await, 1);
            let waiting = "select count(*) from pg_locks where locktype = 'relation' and not granted
                           and database = (select oid from pg_database where datname = current_database())";
            assert_eq!(world.count(waiting).await, 0, "somebody waits for a table");
            assert_eq!(log(&mut world.pool.begin().await.unwrap()).await, ONE_FAILED);
            if done.get() {
                break;
            }
        }
    };
    let housekeeping = async {
        let result = housekeeping.await;
        done.set(true);
        result
    };
    futures::join!(housekeeping, traffic).0
}

/// The first run of housekeeping that finds its moment: on a busy machine each transaction of the traffic lasts, and so may put it off.
async fn maintained(world: &World) -> Result<(), Unfinished> {
    let maintaining = async {
        loop {
            match world.state.webhooks.maintain_partitions().await {
                Err(unfinished) if unfinished.to_string().contains("a transaction that lasts uses") => {}
                ended => return ended,
            }
        }
    };
    in_time("housekeeping finds its moment", maintaining).await
}

fn is_put_off(result: Result<(), impl Error>, table: &str) -> bool {
    result.is_err_and(|error| error.to_string().contains(&format!("a transaction that lasts uses `{table}`")))
}

/// The tables of the day that has expired.
async fn tables(world: &World) -> Vec<String> {
    let tables = "select relname::text from pg_class where relkind = 'r' and relname ~ '_20260521' order by 1";
    sqlx::query_scalar(tables).fetch_all(&world.pool).await.unwrap()
}

const OF_WHAT_IS_KEPT: [&str; 4] = ["attempts_20260521_kept", "deliveries_20260521_kept", "events_20260521_kept", "feed_20260521_kept"];

#[tokio::test]
async fn nobody_waits_while_a_reader_keeps_expired_days_from_being_dropped() {
    let (world, _receiver) = world_with_an_expired_day().await;
    let mut reader = reader(&world).await;
    let put_off = beside_traffic(&world, world.state.webhooks.maintain_partitions()).await;
    assert!(is_put_off(put_off, "deliveries"));
    assert_eq!(log(&mut reader).await, ONE_FAILED);
    assert_eq!(world.count("select count(*) from events where id < uuid_v7_floor('2026-05-22')").await, 2, "nothing is dropped yet");

    reader.rollback().await.unwrap();
    world.state.webhooks.maintain_partitions().await.unwrap();
    assert_eq!(tables(&world).await, OF_WHAT_IS_KEPT);
    assert_eq!(world.count("select count(*) from events where id < uuid_v7_floor('2026-05-22')").await, 1);
}

#[tokio::test]
async fn nobody_waits_while_a_reader_keeps_new_days_from_being_added() {
    let (world, _receiver) = world_with_an_expired_day().await;
    world.pass(TimeDelta::days(1));
    let _reader = reader(&world).await;
    let put_off = beside_traffic(&world, world.state.webhooks.create_partitions()).await;
    assert!(is_put_off(put_off, "deliveries"));
}

#[tokio::test]
async fn what_is_kept_is_seen_once_at_every_moment_while_its_day_is_dropped() {
    let (world, _receiver) = world_with_an_expired_day().await;
    beside_traffic(&world, maintained(&world)).await.unwrap();
    assert_eq!(tables(&world).await, OF_WHAT_IS_KEPT);
}

#[tokio::test]
async fn what_is_interrupted_after_a_day_was_detached_is_finished_by_the_next_run() {
    let (world, _receiver) = world_with_an_expired_day().await;
    // Only the table that was detached is dropped after the transaction that detaches it.
    let interruption = "create function interrupt() returns event_trigger language plpgsql as $$
                            begin if to_regclass('deliveries_20260521') is null then raise 'interrupted'; end if; end $$;
                        create event trigger interruption on ddl_command_start when tag in ('DROP TABLE') execute function interrupt()";
    world.pool.execute(sqlx::raw_sql(interruption)).await.unwrap();
    let interrupted = beside_traffic(&world, maintained(&world)).await;
    assert!(interrupted.unwrap_err().to_string().contains("expired days: a statement of housekeeping failed"));
    let left = ["attempts_20260521", "deliveries_20260521_expired", "deliveries_20260521_kept", "events_20260521", "feed_20260521"];
    assert_eq!(tables(&world).await, left);

    world.pool.execute("drop event trigger interruption").await.unwrap();
    // It was needed by the time it was detached, and had not been when it was copied.
    world.pool.execute("delete from deliveries_20260521_kept").await.unwrap();
    world.state.webhooks.maintain_partitions().await.unwrap();
    assert_eq!(log(&mut world.pool.begin().await.unwrap()).await, ONE_FAILED);
    assert_eq!(tables(&world).await, OF_WHAT_IS_KEPT);
}

#[tokio::test]
async fn what_becomes_needed_while_its_day_waits_to_be_dropped_is_kept() {
    let (world, _receiver) = world_with_an_expired_day().await;
    let reader = reader(&world).await;
    assert!(is_put_off(world.state.webhooks.maintain_partitions().await, "deliveries"));
    world.pool.execute("update deliveries_20260521 set state = 'failed'").await.unwrap();
    reader.rollback().await.unwrap();
    world.state.webhooks.maintain_partitions().await.unwrap();
    assert_eq!(log(&mut world.pool.begin().await.unwrap()).await, [2, 6, 2]);
}
