//! How much waits to be fanned out, for the metrics.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::EventId;

/// No more entries are counted: reading as many takes some milliseconds, however many there are.
const MOST_COUNTED: i64 = 100_000;

/// The outbox at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Outbox {
    /// Events that wait, at most 100,000.
    pub waiting: i64,
    /// When the one was published that waits first.
    pub oldest: Option<DateTime<Utc>>,
    /// The events that were ever published, with the few whose transactions were rolled back.
    pub published: i64,
}

impl Outbox {
    /// Reads it. The published events are those that the sequence of positions has numbered, also if they were fanned out at once and never here.
    pub async fn read(conn: &mut Connection) -> Result<Self, sqlx::Error> {
        let row = sqlx::query!(
            r#"select (select count(*) from (select from outbox order by position limit $1) as found) as "waiting!",
                      (select event_id from outbox order by position limit 1) as "first?: EventId",
                      (select case when is_called then last_value else 0 end from outbox_position_seq) as "published!""#,
            MOST_COUNTED,
        )
        .fetch_one(conn)
        .await?;
        Ok(Self { waiting: row.waiting, oldest: row.first.and_then(EventId::made_at), published: row.published })
    }
}
