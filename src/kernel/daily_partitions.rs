//! Tables that are partitioned by the day of their ids, which begin with a timestamp.
//!
//! A row without a partition goes into the default partition, so inserts never wait for housekeeping. When a day has expired, its
//! partition is dropped; rows that are still needed move to the default partition first.
//!
//! Any number of instances can run this concurrently: each step is a transaction of its own, which sees what is already done. The names
//! of partitions cannot be bound as parameters, so these statements are formatted from constants and days.

use chrono::{DateTime, Days, NaiveDate, NaiveTime, Utc};
use sqlx::{AssertSqlSafe, Executor};
use uuid::Uuid;

use crate::kernel::database::Connection;

/// Number of days for which partitions exist in advance, including today.
const DAYS_AHEAD: usize = 4;
/// The key of the advisory lock that a step holds.
const KEEPING_HOUSE: i64 = 0x0070_6f72_7469_636d;

/// A table with a partition for each day, and one for everything else: `events_20260521` and `events_default`.
#[derive(Clone, Copy, Debug)]
pub struct DailyPartitions {
    /// The table: `events`.
    pub table: &'static str,
    /// The column of the id that decides on the day.
    pub key: &'static str,
}

/// The ids that were made on one day: from the first on, and less than the second.
#[derive(Clone, Copy, Debug)]
pub struct IdsOfDay {
    /// The least of them.
    pub from: Uuid,
    /// The least of the next day.
    pub until: Uuid,
}

impl DailyPartitions {
    /// Creates the partitions of today and the coming days. A row that is written at the very moment at which the partition of its
    /// day is created is refused, so this happens before the first row of a program's life.
    pub async fn create_ahead(&self, conn: &mut Connection, today: NaiveDate) -> Result<(), sqlx::Error> {
        let partitions = self.list(conn).await?;
        for day in today.iter_days().take(DAYS_AHEAD).filter(|day| !partitions.contains(&self.partition(*day))) {
            self.create(conn, day).await?;
        }
        Ok(())
    }

    /// Drops the partitions of days that were over at `kept_since`. `needed` is the condition for rows of a day that are kept.
    pub async fn drop_expired(
        &self,
        conn: &mut Connection,
        kept_since: DateTime<Utc>,
        needed: impl Fn(IdsOfDay) -> String,
    ) -> Result<(), sqlx::Error> {
        for partition in self.list(conn).await? {
            let Some(day) = self.day(&partition) else { continue };
            if beginning_of(day + Days::new(1)) <= kept_since {
                let ids = ids_of(conn, day).await?;
                self.drop(conn, day, &needed(ids)).await?;
                tracing::info!(partition, "the expired log partition of a day was dropped");
            }
        }
        Ok(())
    }

    async fn list(&self, conn: &mut Connection) -> Result<Vec<String>, sqlx::Error> {
        sqlx::query_scalar!(
            r#"select relname::text as "name!" from pg_inherits join pg_class on pg_class.oid = inhrelid
               where inhparent = to_regclass($1) order by relname"#,
            self.table,
        )
        .fetch_all(conn)
        .await
    }

    /// Creates the partition of a day. Does nothing if it exists already, or if the default partition contains rows of that day,
    /// including rows inserted after the check; these rows stay there.
    ///
    /// The table is created first and then attached, so reads and writes of other days do not wait.
    async fn create(&self, conn: &mut Connection, day: NaiveDate) -> Result<(), sqlx::Error> {
        let (Self { table, key }, partition) = (self, self.partition(day));
        let IdsOfDay { from, until } = ids_of(conn, day).await?;
        let is_there = is_there(&partition);
        let make = format!(
            "if not {is_there} and not exists (select from {table}_default where {key} >= '{from}' and {key} < '{until}') then
                 begin
                     create table {partition} (like {table} including all);
                     alter table {table} attach partition {partition} for values from ('{from}') to ('{until}');
                 exception when check_violation then null;
                 end;
             end if;"
        );
        run_step(conn, &make).await
    }

    /// Drops the partition of a day, after moving the rows that are still needed to the default partition. A row that is written at this
    /// moment waits until it can go to the default partition.
    async fn drop(&self, conn: &mut Connection, day: NaiveDate, needed: &str) -> Result<(), sqlx::Error> {
        let (table, partition) = (self.table, self.partition(day));
        let is_there = is_there(&partition);
        let drop = format!(
            "if {is_there} then
                 lock table {partition} in share mode;
                 create temp table needed on commit drop as select * from {partition} where {needed};
                 alter table {table} detach partition {partition};
                 insert into {table} select * from needed;
                 drop table {partition};
             end if;"
        );
        run_step(conn, &drop).await
    }

    fn partition(&self, day: NaiveDate) -> String {
        format!("{}_{}", self.table, day.format("%Y%m%d"))
    }

    /// The day of a partition; `None` for the default partition.
    fn day(&self, partition: &str) -> Option<NaiveDate> {
        let day = partition.strip_prefix(self.table)?.strip_prefix('_')?;
        NaiveDate::parse_from_str(day, "%Y%m%d").ok()
    }
}

fn beginning_of(day: NaiveDate) -> DateTime<Utc> {
    day.and_time(NaiveTime::MIN).and_utc()
}

async fn ids_of(conn: &mut Connection, day: NaiveDate) -> Result<IdsOfDay, sqlx::Error> {
    let (from, until) = (beginning_of(day), beginning_of(day + Days::new(1)));
    sqlx::query_as!(IdsOfDay, r#"select uuid_v7_floor($1) as "from!", uuid_v7_floor($2) as "until!""#, from, until).fetch_one(conn).await
}

fn is_there(partition: &str) -> String {
    format!("exists (select from pg_inherits join pg_class on pg_class.oid = inhrelid where relname = '{partition}')")
}

/// Runs one step under the advisory lock. The step is one message, which PostgreSQL runs as one transaction, so no table lock outlives
/// the step even if this program dies. The lock timeout makes the step fail, to be retried later, rather than block other transactions
/// while it waits.
async fn run_step(conn: &mut Connection, step: &str) -> Result<(), sqlx::Error> {
    let message = format!(
        "set local lock_timeout = '5s';
         select pg_advisory_xact_lock({KEEPING_HOUSE});
         do $$ begin {step} end $$"
    );
    conn.execute(AssertSqlSafe(message)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_named_after_its_day() {
        let day = NaiveDate::from_ymd_opt(2026, 5, 21).unwrap();
        let events = DailyPartitions { table: "events", key: "id" };
        assert_eq!(events.partition(day), "events_20260521");
        assert_eq!(events.day("events_20260521"), Some(day));
        assert_eq!(events.day("events_default"), None);
        assert_eq!(events.day("deliveries_20260521"), None);
    }
}
