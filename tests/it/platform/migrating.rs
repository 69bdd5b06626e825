//! Migrations of a database that is in use.

use portico::kernel::migrations;
use sqlx::Executor;

use crate::support::World;

const INDEXES: &str =
    "select count(*) from pg_index where indexrelid in (to_regclass('customers_by_text'), to_regclass('payments_by_text'))
                       and indisvalid";

#[tokio::test]
async fn search_indexes_are_made_beside_those_who_write_and_again_after_an_interruption() {
    let world = World::new().await;
    for of_before in [
        "delete from _sqlx_migrations where version = 20261126121500",
        "drop index payments_by_text",
        // One that was interrupted.
        "update pg_index set indisvalid = false where indexrelid = 'customers_by_text'::regclass",
    ] {
        world.pool.execute(of_before).await.unwrap();
    }
    assert_eq!(world.count(INDEXES).await, 0);

    let mut writer = world.hold().await;
    for table in ["customers", "payments"] {
        writer.execute(sqlx::AssertSqlSafe(format!("lock table {table} in row exclusive mode"))).await.unwrap();
    }
    let beside = async {
        world.somebody_waits().await;
        let mut other = world.pool.begin().await.unwrap();
        other.execute("set local lock_timeout = '1s'").await.unwrap();
        for written in ["update customers set name = name", "update payments set updated_at = updated_at"] {
            other.execute(written).await.expect("nobody waits for the index");
        }
        other.commit().await.unwrap();
        writer.commit().await.unwrap();
    };
    let (migrated, ()) = futures::join!(migrations::apply(&world.pool), beside);
    assert_eq!(migrated.unwrap().missing, 1);
    assert_eq!(world.count(INDEXES).await, 2);
}
