//! The queue is vacuumed beside transactions that last long: decisions, section 7, Retention.

use portico::kernel::database::Transaction;
use sqlx::Executor;

use crate::support::World;
use crate::support::database;
use crate::support::waiting::until;

/// A transaction that still sees the database of this world as it is now.
async fn reader(world: &World) -> Transaction<'static> {
    let mut reader = database::pool(&world.database).begin().await.unwrap();
    reader.execute("set transaction isolation level repeatable read").await.unwrap();
    reader.execute("set local idle_in_transaction_session_timeout = 0").await.unwrap();
    reader.execute("select count(*) from companies").await.unwrap();
    reader
}

/// Waits until a transaction of this world's database has been open for longer than the worker puts up with.
async fn has_long_been_open(world: &World) {
    let open = "select count(*) from pg_stat_activity
                where datname = current_database() and backend_xmin is not null and xact_start < now() - interval '6 seconds'";
    until("the transaction has long been open", async || world.count(open).await == 1).await;
}

#[tokio::test]
async fn a_long_transaction_of_another_database_holds_up_no_vacuum() {
    let (world, neighbour) = (World::new().await, World::new().await);
    let elsewhere = reader(&neighbour).await;
    has_long_been_open(&neighbour).await;
    let here = reader(&world).await;
    has_long_been_open(&world).await;

    let crowd = "insert into outbox (event_id, company_id, name) select gen_random_uuid(), gen_random_uuid(), 'order.created'
                 from generate_series(1, 20000)";
    sqlx::query(crowd).execute(&world.pool).await.unwrap();
    sqlx::query("delete from outbox").execute(&world.pool).await.unwrap();
    let dead = "select count(*) from pg_stat_user_tables where relname = 'outbox' and n_dead_tup >= 20000";
    until("the server has counted the rows", async || world.count(dead).await == 1).await;
    world.state.webhooks.vacuum_queue().await.unwrap();
    let vacuumed = "select count(*) from pg_stat_user_tables where relname = 'outbox' and vacuum_count > 0";
    assert_eq!(world.count(vacuumed).await, 0, "the transaction of its own database still sees the rows");

    here.rollback().await.unwrap();
    until("the outbox is vacuumed", async || {
        world.state.webhooks.vacuum_queue().await.unwrap();
        world.count(vacuumed).await == 1
    })
    .await;
    elsewhere.rollback().await.unwrap();
}
