//! How long deliveries and their attempts are kept: by the day, and longer where somebody may look for them.

use chrono::{DateTime, NaiveDate, Utc};

use crate::kernel::daily_partitions::{DailyPartitions, Erasable, HousekeepingError, IdsOfDay};
use crate::kernel::database::Connection;

const DELIVERIES: DailyPartitions = DailyPartitions { table: "deliveries", key: "id", erasable: None };
const RESPONSE: Erasable = Erasable {
    same: "(kept.delivery_id, kept.number) = (expired.delivery_id, expired.number)",
    only_expired: "(kept.response_headers is not null or kept.response_body is not null)
                   and expired.response_headers is null and expired.response_body is null",
    erase: "response_headers = null, response_body = null",
};
const ATTEMPTS: DailyPartitions = DailyPartitions { table: "attempts", key: "delivery_id", erasable: Some(RESPONSE) };

/// Creates the partitions of today and the coming days.
pub async fn create_partitions(conn: &mut Connection, today: NaiveDate) -> Result<(), HousekeepingError> {
    DELIVERIES.create_ahead(conn, today).await?;
    ATTEMPTS.create_ahead(conn, today).await
}

/// Creates the partitions of the days that another database has, for deliveries from there.
pub async fn create_partitions_as_in(other: &mut Connection, conn: &mut Connection) -> Result<(), HousekeepingError> {
    DELIVERIES.create_as_in(other, conn).await?;
    ATTEMPTS.create_as_in(other, conn).await
}

/// Deletes the deliveries of days that were over at `kept_since`, except failed ones, which are kept since `failed_since`; and the
/// attempts of deliveries that are no longer in the log.
pub async fn delete_expired(
    conn: &mut Connection,
    kept_since: DateTime<Utc>,
    failed_since: DateTime<Utc>,
) -> Result<(), HousekeepingError> {
    let failed = format!("state = 'failed' and id >= uuid_v7_floor('{}')", failed_since.to_rfc3339());
    DELIVERIES.drop_expired(conn, kept_since, |_| failed.clone()).await?;
    delete_deliveries_from_default(conn, kept_since, failed_since).await?;
    let needed = |IdsOfDay { from, until }| format!("delivery_id in (select id from delivery_log where id >= '{from}' and id < '{until}')");
    ATTEMPTS.drop_expired(conn, kept_since, needed).await?;
    Ok(delete_attempts_from_default(conn, kept_since).await?)
}

/// Deletes what has expired from the default partition. There are few rows: what was written without a partition of its day.
async fn delete_deliveries_from_default(
    conn: &mut Connection,
    kept_since: DateTime<Utc>,
    failed_since: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "delete from deliveries_default
         where id < uuid_v7_floor($2) or (id < uuid_v7_floor($1) and state <> 'failed')",
        kept_since,
        failed_since,
    )
    .execute(conn)
    .await?;
    Ok(())
}

async fn delete_attempts_from_default(conn: &mut Connection, kept_since: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "delete from attempts_default
         where delivery_id < uuid_v7_floor($1) and not exists (select from delivery_log where delivery_log.id = attempts_default.delivery_id)",
        kept_since,
    )
    .execute(conn)
    .await?;
    Ok(())
}
