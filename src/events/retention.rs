//! How long events are kept: by the day, and as long as anybody needs them.

use chrono::{DateTime, NaiveDate, Utc};

use crate::kernel::daily_partitions::{DailyPartitions, Erasable, HousekeepingError, IdsOfDay};
use crate::kernel::database::Connection;

/// An erased body is shorter, because its texts are empty.
const BODY: Erasable = Erasable {
    same: "kept.id = expired.id",
    only_expired: "octet_length(expired.body) < octet_length(kept.body)",
    erase: "body = expired.body",
};
const EVENTS: DailyPartitions = DailyPartitions { table: "events", key: "id", erasable: Some(BODY) };
const FEED: DailyPartitions = DailyPartitions { table: "feed", key: "event_id", erasable: None };

/// Creates the partitions of today and the coming days.
pub async fn create_partitions(conn: &mut Connection, today: NaiveDate) -> Result<(), HousekeepingError> {
    EVENTS.create_ahead(conn, today).await?;
    FEED.create_ahead(conn, today).await
}

/// Creates the partitions of the days that another database has, for events from there.
pub async fn create_partitions_as_in(other: &mut Connection, conn: &mut Connection) -> Result<(), HousekeepingError> {
    EVENTS.create_as_in(other, conn).await?;
    FEED.create_as_in(other, conn).await
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
    .execute(&mut *conn)
    .await?;
    let needed = |IdsOfDay { from, until }| format!("event_id in (select id from events where id >= '{from}' and id < '{until}')");
    FEED.drop_expired(conn, kept_since, needed).await?;
    sqlx::query!(
        "delete from feed_default where event_id < uuid_v7_floor($1) and not exists (select from events where events.id = feed_default.event_id)",
        kept_since,
    )
    .execute(conn)
    .await?;
    Ok(())
}
