//! How many callbacks wait to be processed again, for the metrics.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;

/// No more callbacks are counted.
const MOST_COUNTED: i64 = 10_000;

/// The callbacks that failed and are tried again.
#[derive(Clone, Copy, Debug)]
pub struct CallbackBacklog {
    /// How many there are, at most 10,000.
    pub waiting: i64,
    /// When the first of them is due.
    pub first_due: Option<DateTime<Utc>>,
}

impl CallbackBacklog {
    /// Reads it.
    pub async fn read(conn: &mut Connection) -> Result<Self, sqlx::Error> {
        sqlx::query_as!(
            Self,
            r#"select (select count(*) from (select from callbacks where due_at is not null limit $1) as found) as "waiting!",
                      (select due_at from callbacks where due_at is not null order by due_at limit 1) as first_due"#,
            MOST_COUNTED,
        )
        .fetch_one(conn)
        .await
    }
}
