//! What has left the queue does not stay in its tables, even where autovacuum comes late: decisions, section 7, Retention.

use crate::support::World;
use crate::support::waiting::until;

#[tokio::test]
async fn what_has_left_the_queue_is_vacuumed() {
    let world = World::new().await;
    let crowd = "insert into outbox (event_id, company_id, name) select gen_random_uuid(), gen_random_uuid(), 'order.created' from generate_series(1, 20000)";
    sqlx::query(crowd).execute(&world.pool).await.unwrap();
    sqlx::query("delete from outbox").execute(&world.pool).await.unwrap();
    let vacuumed = "select count(*) from pg_stat_user_tables where relname = 'outbox' and vacuum_count > 0 and n_dead_tup = 0";
    until("the outbox is vacuumed", async || {
        world.state.webhooks.vacuum_queue().await.unwrap();
        world.count(vacuumed).await == 1
    })
    .await;
    let others = "select count(*) from pg_stat_user_tables where relname in ('waiting', 'in_flight') and vacuum_count > 0";
    assert_eq!(world.count(others).await, 0, "few rows have left them");
}

#[tokio::test]
async fn a_server_that_has_no_such_statistics_is_left_to_itself() {
    let world = World::new().await;
    // It is found before that of the server.
    let fewer = "create view pg_stat_user_tables as select relid, relname from pg_catalog.pg_stat_user_tables";
    sqlx::query(fewer).execute(&world.pool).await.unwrap();
    assert!(!world.state.webhooks.vacuum_queue().await.unwrap());
    sqlx::query("drop view pg_stat_user_tables").execute(&world.pool).await.unwrap();
    assert!(world.state.webhooks.vacuum_queue().await.unwrap());
}
