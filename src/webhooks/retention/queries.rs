//! The SQL of housekeeping. Partition names cannot be bound as parameters, so these statements are formatted from constants and
//! days.

use chrono::{DateTime, Days, NaiveDate, Utc};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use uuid::Uuid;

use crate::webhooks::retention::{Table, beginning_of};

/// The key of the advisory lock that a housekeeping step holds.
const KEEPING_HOUSE: i64 = 0x0070_6f72_7469_636d;

/// The partitions of a table.
pub(super) async fn list_partitions(conn: &mut PgConnection, table: Table) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select relname::text as "name!" from pg_inherits join pg_class on pg_class.oid = inhrelid
           where inhparent = to_regclass($1) order by relname"#,
        table.name(),
    )
    .fetch_all(conn)
    .await
}

/// Creates the partition of a day. Does nothing if it exists already, or if the default partition contains rows of that day,
/// including rows inserted after the check; these rows stay there.
///
/// The table is created first and then attached, so reads and writes of other days do not wait.
pub(super) async fn create_partition(conn: &mut PgConnection, table: Table, day: NaiveDate) -> Result<(), sqlx::Error> {
    let (name, partition) = (table.name(), table.partition(day));
    let key = if table == Table::Attempts { "delivery_id" } else { "id" };
    let (from, until) = ids_of(conn, day).await?;
    let is_there = is_there(&partition);
    let make = format!(
        "if not {is_there} and not exists (select from {name}_default where {key} >= '{from}' and {key} < '{until}') then
             begin
                 create table {partition} (like {name} including all);
                 alter table {name} attach partition {partition} for values from ('{from}') to ('{until}');
             exception when check_violation then null;
             end;
         end if;"
    );
    run_step(conn, &make).await
}

/// Drops the partition of a day, after moving the rows that are still needed to the default partition.
pub(super) async fn drop_partition(conn: &mut PgConnection, table: Table, day: NaiveDate) -> Result<(), sqlx::Error> {
    let (name, partition) = (table.name(), table.partition(day));
    let (from, until) = ids_of(conn, day).await?;
    let needed = match table {
        Table::Deliveries => "state = 'failed'".to_owned(),
        Table::Attempts => format!("delivery_id in (select id from delivery_log where id >= '{from}' and id < '{until}')"),
        Table::Events => format!(
            "id in (select event_id from delivery_log where event_id >= '{from}' and event_id < '{until}'
                    union all select event_id from outbox)"
        ),
    };
    let is_there = is_there(&partition);
    // An open delivery of that day that closes at this moment waits until its row can go to the default partition.
    let drop = format!(
        "if {is_there} then
             lock table {partition} in share mode;
             create temp table needed on commit drop as select * from {partition} where {needed};
             alter table {name} detach partition {partition};
             insert into {name} select * from needed;
             drop table {partition};
         end if;"
    );
    run_step(conn, &drop).await
}

/// Deletes rows past their retention from the default partitions. There are few of them, because whole days are dropped.
pub(super) async fn sweep_default(
    conn: &mut PgConnection,
    kept_since: DateTime<Utc>,
    failed_since: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let mut transaction = conn.begin().await?;
    sqlx::query!(
        "delete from deliveries_default
         where id < uuid_v7_floor($2) or (id < uuid_v7_floor($1) and state <> 'failed')",
        kept_since,
        failed_since,
    )
    .execute(&mut *transaction)
    .await?;
    sqlx::query!(
        "delete from attempts_default
         where delivery_id < uuid_v7_floor($1) and not exists (select from delivery_log where delivery_log.id = attempts_default.delivery_id)",
        kept_since,
    )
    .execute(&mut *transaction)
    .await?;
    sqlx::query!(
        "delete from events_default
         where id < uuid_v7_floor($1) and not exists (select from delivery_log where delivery_log.event_id = events_default.id)
         and not exists (select from outbox where outbox.event_id = events_default.id)",
        kept_since,
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await
}

/// Deletes the replays that ended before `before`. There are few of them, because each was requested individually.
pub(super) async fn delete_replays(conn: &mut PgConnection, before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from replays where finished_at < $1", before).execute(conn).await?;
    Ok(())
}

/// Runs one step of housekeeping under the advisory lock. The step is one message, which PostgreSQL runs as one transaction, so no
/// table lock outlives the step even if this program dies. The lock timeout makes the step fail, to be retried later, rather than
/// block other transactions while it waits.
async fn run_step(conn: &mut PgConnection, step: &str) -> Result<(), sqlx::Error> {
    let message = format!(
        "set local lock_timeout = '5s';
         select pg_advisory_xact_lock({KEEPING_HOUSE});
         do $$ begin {step} end $$"
    );
    conn.execute(AssertSqlSafe(message)).await?;
    Ok(())
}

fn is_there(partition: &str) -> String {
    format!("exists (select from pg_inherits join pg_class on pg_class.oid = inhrelid where relname = '{partition}')")
}

/// The first id of a day and the first id after it.
async fn ids_of(conn: &mut PgConnection, day: NaiveDate) -> Result<(Uuid, Uuid), sqlx::Error> {
    let (from, until) = (beginning_of(day), beginning_of(day + Days::new(1)));
    let ids = sqlx::query!(r#"select uuid_v7_floor($1) as "from!", uuid_v7_floor($2) as "until!""#, from, until).fetch_one(conn).await?;
    Ok((ids.from, ids.until))
}
