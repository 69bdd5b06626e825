//! How long events are kept: by the day, and as long as anybody needs them.

use chrono::{DateTime, NaiveDate, Utc};

use crate::kernel::daily_partitions::{DailyPartitions, HousekeepingError, IdsOfDay};
use crate::kernel::database::Connection;

const EVENTS: DailyPartitions = DailyPartitions { table: "events", key: "id" };

/// Creates the partitions of today and the coming days.
pub async fn create_partitions(conn: &mut Connection, today: NaiveDate) -> Result<(), HousekeepingError> {
    EVENTS.create_ahead(conn, today).await
}

/// Deletes the events of days that were over at `kept_since`, except those that wait in the outbox or have a delivery in the log.
pub async fn delete_expired(conn: &mut Connection, kept_since: DateTime<Utc>) -> Result<(), HousekeepingError> {
    let needed = |IdsOfDay { from, until }| {
        format!(
            "id in (select event_id from delivery_log where event_id >= '{from}' and event_id < '{until}'
                    union all select event_id from outbox)"
        )
    };
    EVENTS.drop_expired(conn, kept_since, needed).await?;
    // There are few in the default partition: what was written without a partition of its day.
    sqlx::query!(
        "delete from events_default
         where id < uuid_v7_floor($1) and not exists (select from delivery_log where delivery_log.event_id = events_default.id)
         and not exists (select from outbox where outbox.event_id = events_default.id)",
        kept_since,
    )
    .execute(conn)
    .await?;
    Ok(())
}
