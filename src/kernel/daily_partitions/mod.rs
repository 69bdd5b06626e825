//! Tables that are partitioned by the day of their ids, which begin with a timestamp.
//!
//! A row without a partition goes into the default partition, so inserts never wait for housekeeping. When a day has expired, its
//! partition is exchanged for a small one with the rows that are still needed, `events_20260521_kept`, or for nothing:
//!
//! 1. The rows are copied, beside all who read and write.
//! 2. In one transaction, the day is detached and the copy is attached in its place. Whoever reads sees each row once, before and after.
//! 3. What became needed after it was copied is added, what was erased since is erased of the copy as well, and the day's table is dropped.
//!    Nobody uses it any more.
//!
//! Only the second step locks the table that everybody uses, and so does a partition that is added. It never waits for a transaction that
//! lasts, because everybody would wait behind it ([`brief_lock`]). PostgreSQL can detach without that lock, but not where there is a
//! default partition; and until the last reader has ended, which may be hours, it would hide the day with the rows that are kept.
//!
//! One instance keeps house at a time ([`keep_house`]). Each step is a transaction that sees what is already done, so whatever interrupts it,
//! the next run goes on; and a second instance at the same time finds that a step is done, or fails and goes on the next time. The names of partitions cannot be bound as parameters, so these statements are formatted from constants and days.

mod brief_lock;
mod partition;

use std::time::Duration;

use chrono::{DateTime, Days, NaiveDate, NaiveTime, Utc};
use sqlx::{AssertSqlSafe, Executor};
use uuid::Uuid;

use crate::kernel::daily_partitions::partition::{Content, Partition};
use crate::kernel::database::{Connection, Pool};
use crate::kernel::leases::Lease;

/// Number of days for which partitions exist in advance, including today.
const DAYS_AHEAD: usize = 4;
/// Lets a statement read whole tables, which connections of background work never do otherwise. Without that, each row of a day was compared
/// with each that is kept: half a million with 25,000 took more than five minutes.
const PLANNED_FOR_A_DAY: &str = "set local enable_seqscan = on;";
/// How long whoever wants to keep house waits for another instance that does.
const PATIENCE: Duration = Duration::from_secs(5);

/// A table with a partition for each day, and one for everything else: `events_20260521` and `events_default`.
#[derive(Clone, Copy, Debug)]
pub struct DailyPartitions {
    /// The table: `events`.
    pub table: &'static str,
    /// The column of the id that decides on the day.
    pub key: &'static str,
    /// What may be erased of a row at any time. Rows change in no other way.
    pub erasable: Option<Erasable>,
}

/// Columns that are erased when a person asks for it, in SQL about a row of the table, `kept`, and the same row of the day's table, `expired`.
#[derive(Clone, Copy, Debug)]
pub struct Erasable {
    /// The rows are the same: `kept.id = expired.id`.
    pub same: &'static str,
    /// Only the second row was erased: `kept.note is not null and expired.note is null`.
    pub only_expired: &'static str,
    /// Erases the first: `note = null`.
    pub erase: &'static str,
}

/// The ids that were made on one day: from the first on, and less than the second.
#[derive(Clone, Copy, Debug)]
pub struct IdsOfDay {
    /// The least of them.
    pub from: Uuid,
    /// The least of the next day.
    pub until: Uuid,
}

/// The reason why a step of housekeeping was not done.
#[derive(Debug, thiserror::Error)]
pub enum HousekeepingError {
    /// A transaction that uses the table has been open for a while.
    #[error("a transaction that lasts uses `{0}`, so its partitions cannot be exchanged now")]
    InUse(&'static str),
    /// A database error.
    #[error("a statement of housekeeping failed")]
    Database(#[from] sqlx::Error),
}

/// The lease of the instance that keeps house from now on, unless another one does.
pub async fn keep_house(pool: &Pool) -> Result<Option<Lease>, sqlx::Error> {
    Lease::wait_for(pool, "keeping house", PATIENCE).await
}

impl DailyPartitions {
    /// Creates the partitions of today and the coming days. A row that is written at the very moment at which the partition of its
    /// day is created takes another try, so this happens before the first row of a program's life.
    pub async fn create_ahead(&self, conn: &mut Connection, today: NaiveDate) -> Result<(), HousekeepingError> {
        self.create_missing(conn, today.iter_days().take(DAYS_AHEAD)).await
    }

    /// Creates the partitions of the days that the same table of another database has, for rows that come from there.
    pub async fn create_as_in(&self, other: &mut Connection, conn: &mut Connection) -> Result<(), HousekeepingError> {
        let days = self.attached(other).await?.into_iter().map(|partition| partition.day);
        self.create_missing(conn, days).await
    }

    async fn create_missing(&self, conn: &mut Connection, days: impl Iterator<Item = NaiveDate>) -> Result<(), HousekeepingError> {
        let partitions = self.attached(conn).await?;
        for day in days.filter(|day| !partitions.iter().any(|partition| partition.day == *day)) {
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
    ) -> Result<(), HousekeepingError> {
        for day in self.detached(conn).await? {
            let needed = needed(ids_of(conn, day).await?);
            self.finish(conn, day, &needed).await?;
        }
        for partition in self.attached(conn).await? {
            if beginning_of(partition.day + Days::new(1)) > kept_since {
                continue;
            }
            let needed = needed(ids_of(conn, partition.day).await?);
            match partition.content {
                Content::All => self.exchange(conn, partition.day, &needed).await?,
                Content::Kept => self.thin_out(conn, partition.day, &needed).await?,
            }
        }
        Ok(())
    }

    /// The partitions of days.
    async fn attached(&self, conn: &mut Connection) -> Result<Vec<Partition>, sqlx::Error> {
        let names = sqlx::query_scalar!(
            r#"select relname::text as "name!" from pg_inherits join pg_class on pg_class.oid = inhrelid
               where inhparent = to_regclass($1) order by relname"#,
            self.table,
        );
        let names = names.fetch_all(conn).await?;
        Ok(names.iter().filter_map(|name| self.partition_called(name)).collect())
    }

    /// The days whose tables were detached and not dropped yet.
    async fn detached(&self, conn: &mut Connection) -> Result<Vec<NaiveDate>, sqlx::Error> {
        let names = sqlx::query_scalar!(
            r#"select relname::text as "name!" from pg_class
               where relnamespace = (select relnamespace from pg_class where oid = to_regclass($1)) and relkind = 'r'
               and relname like $1 || '\_%\_expired' order by relname"#,
            self.table,
        );
        let names = names.fetch_all(conn).await?;
        Ok(names.iter().filter_map(|name| self.day_of_expired(name)).collect())
    }

    /// Creates the partition of a day. Does nothing if the default partition contains rows of that day, including rows inserted after the
    /// check; these rows stay there.
    ///
    /// The table is created first and then attached, so reads and writes of other days do not wait; only the default partition is locked.
    async fn create(&self, conn: &mut Connection, day: NaiveDate) -> Result<(), HousekeepingError> {
        let (Self { table, key, .. }, partition) = (self, self.name(day));
        let IdsOfDay { from, until } = ids_of(conn, day).await?;
        let create = format!(
            "do $$ begin
                 if not exists (select from {table}_default where {key} >= '{from}' and {key} < '{until}') then
                     begin
                         create table {partition} (like {table} including all);
                         alter table {table} attach partition {partition} for values from ('{from}') to ('{until}');
                     exception when check_violation then null;
                     end;
                 end if;
             end $$"
        );
        self.run_briefly(conn, &[&self.default_partition()], &create).await
    }

    /// Puts the rows of a day that are needed in the place of the whole day.
    async fn exchange(&self, conn: &mut Connection, day: NaiveDate, needed: &str) -> Result<(), HousekeepingError> {
        let (Self { table, key, .. }, all, kept, expired) = (self, self.name(day), self.name_of_kept(day), self.name_of_expired(day));
        let IdsOfDay { from, until } = ids_of(conn, day).await?;
        // The check saves reading the copy again when it is attached. What is needed of the next table is planned with the copy's statistics.
        let copy = format!(
            "{PLANNED_FOR_A_DAY}
             drop table if exists {kept};
             create table {kept} (like {table} including all, constraint {kept}_of_day check ({key} >= '{from}' and {key} < '{until}'));
             insert into {kept} select * from {all} where {needed};
             analyze {kept}"
        );
        conn.execute(AssertSqlSafe(copy)).await?;
        let replacement = match self.is_empty(conn, &kept).await? {
            true => format!("drop table {kept}"),
            false => format!("alter table {table} attach partition {kept} for values from ('{from}') to ('{until}')"),
        };
        let exchange = format!("alter table {table} detach partition {all}; alter table {all} rename to {expired}; {replacement}");
        self.run_briefly(conn, &[table, &self.default_partition(), &all], &exchange).await?;
        tracing::info!(partition = all, "the expired log partition of a day was dropped");
        self.finish(conn, day, needed).await
    }

    /// Deletes what is no longer needed of an expired day, and the partition with the last of it. These are few rows.
    async fn thin_out(&self, conn: &mut Connection, day: NaiveDate, needed: &str) -> Result<(), HousekeepingError> {
        let (table, kept, expired) = (self.table, self.name_of_kept(day), self.name_of_expired(day));
        conn.execute(AssertSqlSafe(format!("{PLANNED_FOR_A_DAY} delete from {kept} where not ({needed})"))).await?;
        if !self.is_empty(conn, &kept).await? {
            return Ok(());
        }
        let detach = format!("alter table {table} detach partition {kept}; alter table {kept} rename to {expired}");
        self.run_briefly(conn, &[table, &self.default_partition(), &kept], &detach).await?;
        self.finish(conn, day, needed).await
    }

    /// Drops the table of a day that was detached, after erasing and adding what was erased and has become needed since it was copied.
    async fn finish(&self, conn: &mut Connection, day: NaiveDate, needed: &str) -> Result<(), HousekeepingError> {
        let (Self { table, key, .. }, expired) = (self, self.name_of_expired(day));
        let IdsOfDay { from, until } = ids_of(conn, day).await?;
        let erase = self.erasable.map_or_else(String::new, |Erasable { same, only_expired, erase }| {
            format!(
                "update {table} as kept set {erase} from {expired} as expired
                 where kept.{key} >= '{from}' and kept.{key} < '{until}' and {same} and {only_expired};"
            )
        });
        let drop = format!(
            "{PLANNED_FOR_A_DAY}
             {erase}
             insert into {table} select * from {expired} where {needed} on conflict do nothing;
             drop table {expired}"
        );
        conn.execute(AssertSqlSafe(drop)).await?;
        Ok(())
    }

    async fn is_empty(&self, conn: &mut Connection, partition: &str) -> Result<bool, sqlx::Error> {
        let is_empty = AssertSqlSafe(format!("select not exists (select from {partition})"));
        sqlx::query_scalar(is_empty).fetch_one(conn).await
    }

    /// Runs a step that locks `relations`, so that nobody notices.
    async fn run_briefly(&self, conn: &mut Connection, relations: &[&str], step: &str) -> Result<(), HousekeepingError> {
        match brief_lock::run(conn, relations, step).await? {
            true => Ok(()),
            false => Err(HousekeepingError::InUse(self.table)),
        }
    }
}

fn beginning_of(day: NaiveDate) -> DateTime<Utc> {
    day.and_time(NaiveTime::MIN).and_utc()
}

async fn ids_of(conn: &mut Connection, day: NaiveDate) -> Result<IdsOfDay, sqlx::Error> {
    let (from, until) = (beginning_of(day), beginning_of(day + Days::new(1)));
    sqlx::query_as!(IdsOfDay, r#"select uuid_v7_floor($1) as "from!", uuid_v7_floor($2) as "until!""#, from, until).fetch_one(conn).await
}
