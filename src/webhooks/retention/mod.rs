//! Retention: what is kept of events, deliveries and attempts, and for how long (decisions, section 7).
//!
//! The three tables are partitioned by the day in the id, which begins with its time. Housekeeping makes the partitions of the days to
//! come; a row for which there is none goes into the default partition, so nothing ever waits for housekeeping. A day that is over for
//! longer than `webhooks.retention` is forgotten by dropping its tables. The few rows of it that are still needed go into the default
//! partition first: deliveries that failed, which stay for `webhooks.failed_retention`, and the attempts and events of whatever is still
//! in the log. So every delivery in the log has its event, and an event goes with the last of its deliveries. Replays that are finished go
//! when nothing is left that they could have repeated.
//!
//! Any number of instances may keep house at once: each step is a transaction of its own, which sees what has been done already.

mod queries;

use std::time::Duration;

use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, Utc};

use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::telemetry::chain;
use crate::webhooks::{Webhooks, replays};

/// Days for which partitions are made ahead, today among them.
const DAYS_AHEAD: usize = 4;
/// How often the worker keeps house.
const EVERY: Duration = Duration::from_secs(3600);

/// The tables of a day. A day is forgotten in this order: an event is needed as long as a delivery of it is in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Table {
    Deliveries,
    Attempts,
    Events,
}

impl Table {
    const ALL: [Self; 3] = [Self::Deliveries, Self::Attempts, Self::Events];

    fn name(self) -> &'static str {
        match self {
            Self::Deliveries => "deliveries",
            Self::Attempts => "attempts",
            Self::Events => "events",
        }
    }

    fn partition(self, day: NaiveDate) -> String {
        format!("{}_{}", self.name(), day.format("%Y%m%d"))
    }

    /// The day of a partition, unless it is the default one.
    fn day(self, partition: &str) -> Option<NaiveDate> {
        let day = partition.strip_prefix(self.name())?.strip_prefix('_')?;
        NaiveDate::parse_from_str(day, "%Y%m%d").ok()
    }
}

fn beginning_of(day: NaiveDate) -> DateTime<Utc> {
    day.and_time(NaiveTime::MIN).and_utc()
}

impl Webhooks {
    /// Makes the partitions of the days to come and forgets what has been kept long enough.
    pub async fn keep_house(&self) -> Result<(), sqlx::Error> {
        let now = self.clock.now();
        let mut conn = self.engine.acquire().await?;
        for table in Table::ALL {
            let partitions = queries::list_partitions(&mut conn, table).await?;
            for day in now.date_naive().iter_days().take(DAYS_AHEAD) {
                if !partitions.contains(&table.partition(day)) {
                    queries::make_partition(&mut conn, table, day).await?;
                }
            }
        }
        let before = |retention| now - TimeDelta::from_std(retention).unwrap_or(TimeDelta::days(36_500));
        let (kept_since, failed_since) = (before(self.settings.retention), before(self.settings.failed_retention));
        for table in Table::ALL {
            for partition in queries::list_partitions(&mut conn, table).await? {
                let Some(day) = table.day(&partition) else { continue };
                if beginning_of(day + Days::new(1)) <= kept_since {
                    queries::drop_partition(&mut conn, table, day).await?;
                    tracing::info!(partition, "a day was forgotten");
                }
            }
        }
        queries::sweep_default(&mut conn, kept_since, failed_since).await?;
        queries::forget_replays(&mut conn, failed_since).await?;
        replays::forget_keys(&mut conn, now).await
    }
}

/// Keeps house at the start and every hour.
pub(super) async fn keep_house(webhooks: Webhooks, lifecycle: Lifecycle) {
    let hour = || async {
        if let Err(error) = webhooks.keep_house().await {
            tracing::warn!(error = chain(&error), "the log of deliveries was not tidied up; the next hour will do it");
        }
    };
    lifecycle.every(EVERY, hour).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_named_after_its_day() {
        let day = NaiveDate::from_ymd_opt(2026, 5, 21).unwrap();
        for table in Table::ALL {
            assert_eq!(table.day(&table.partition(day)), Some(day));
            assert_eq!(table.day(&format!("{}_default", table.name())), None);
        }
        assert_eq!(Table::Events.partition(day), "events_20260521");
        assert_eq!(Table::Events.day("deliveries_20260521"), None);
    }
}
