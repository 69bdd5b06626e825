//! How long deliveries and their attempts are kept: by the day, and longer where somebody may look for them.

use chrono::{DateTime, NaiveDate, Utc};

use crate::kernel::daily_partitions::{DailyPartitions, IdsOfDay};
use crate::kernel::database::Connection;

const DELIVERIES: DailyPartitions = DailyPartitions { table: "deliveries", key: "id" };
const ATTEMPTS: DailyPartitions = DailyPartitions { table: "attempts", key: "delivery_id" };

/// Creates the partitions of today and the coming days.
pub async fn create_partitions(conn: &mut Connection, today: NaiveDate) -> Result<(), sqlx::Error> {
    DELIVERIES.create_ahead(conn, today).await?;
    ATTEMPTS.create_ahead(conn, today).await
}

/// Deletes the deliveries of days that were over at `kept_since`, except failed ones, which are kept since `failed_since`; and the
/// attempts of deliveries that are no longer in the log.
pub async fn delete_expired(conn: &mut Connection, kept_since: DateTime<Utc>, failed_since: DateTime<Utc>) -> Result<(), sqlx::Error> {
    DELIVERIES.drop_expired(conn, kept_since, |_| "state = 'failed'".to_owned()).await?;
    let needed = |IdsOfDay { from, until }| format!("delivery_id in (select id from delivery_log where id >= '{from}' and id < '{until}')");
    ATTEMPTS.drop_expired(conn, kept_since, needed).await?;
    delete_kept(conn, kept_since, failed_since).await
}

/// Deletes what has expired from the default partitions. There are few rows, because whole days are dropped.
async fn delete_kept(conn: &mut Connection, kept_since: DateTime<Utc>, failed_since: DateTime<Utc>) -> Result<(), sqlx::Error> {
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
    transaction.commit().await
}
