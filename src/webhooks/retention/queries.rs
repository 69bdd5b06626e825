//! The SQL of housekeeping. Names of partitions cannot be bound: those statements are put together from constants of the program and days.

use chrono::{DateTime, Days, NaiveDate, Utc};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use uuid::Uuid;

use crate::webhooks::retention::{Table, beginning_of};

/// The advisory lock of whoever keeps house at this moment.
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

/// Makes the partition of a day, unless somebody did meanwhile, or rows of that day are in the default partition, even since it was looked
/// at: then they stay there.
///
/// It is made first and then attached: whoever reads or writes other days does not wait.
pub(super) async fn make_partition(conn: &mut PgConnection, table: Table, day: NaiveDate) -> Result<(), sqlx::Error> {
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
    in_one_message(conn, &make).await
}

/// Drops the partition of a day, after what is still needed of it has been moved to the default partition.
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
    // An open delivery of that day, which closes at this moment, waits until its place is the default partition.
    let drop = format!(
        "if {is_there} then
             lock table {partition} in share mode;
             create temp table needed on commit drop as select * from {partition} where {needed};
             alter table {name} detach partition {partition};
             insert into {name} select * from needed;
             drop table {partition};
         end if;"
    );
    in_one_message(conn, &drop).await
}

/// Deletes from the default partitions what has been kept long enough there: few rows, because whole days are dropped.
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

/// Does one step of housekeeping while nobody else does any. It is one message, which Postgres takes as one transaction: whatever becomes of
/// this program meanwhile, no lock on a table outlives the step. It would rather be tried again than hold up others by waiting for them.
async fn in_one_message(conn: &mut PgConnection, step: &str) -> Result<(), sqlx::Error> {
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

/// Where a day begins and ends among ids.
async fn ids_of(conn: &mut PgConnection, day: NaiveDate) -> Result<(Uuid, Uuid), sqlx::Error> {
    let (from, until) = (beginning_of(day), beginning_of(day + Days::new(1)));
    let ids = sqlx::query!(r#"select uuid_v7_floor($1) as "from!", uuid_v7_floor($2) as "until!""#, from, until).fetch_one(conn).await?;
    Ok((ids.from, ids.until))
}
