//! Retention: which events, deliveries and attempts are kept, and for how long (`docs/specification/decisions.md`, section 7).
//!
//! The three tables are partitioned by the day of the id, which begins with a timestamp. Housekeeping creates the partitions of the
//! coming days. A row without a partition goes into the default partition, so inserts never wait for housekeeping. When a day has
//! been over for longer than `webhooks.retention`, housekeeping drops its partitions. Rows that are still needed move to the
//! default partition first: failed deliveries, which are kept for `webhooks.failed_retention`, and the attempts and events of
//! deliveries that are still in the log. Every delivery in the log therefore has its event, and an event is deleted with the last
//! of its deliveries. Finished replays are deleted when nothing is left that they could have replayed.
//!
//! Any number of instances can run housekeeping concurrently: each step is a transaction of its own, which sees what is already
//! done.

mod queries;

use std::time::Duration;

use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, Utc};

use crate::kernel::lifecycle::Lifecycle;
use crate::webhooks::{Webhooks, replays};

/// Number of days for which partitions exist in advance, including today.
const DAYS_AHEAD: usize = 4;
/// The interval of housekeeping.
const HOUSEKEEPING_INTERVAL: Duration = Duration::from_secs(3600);

/// The partitioned tables, in the order in which a day is dropped: an event is needed as long as a delivery of it is in the log.
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

    /// The day of a partition; `None` for the default partition.
    fn day(self, partition: &str) -> Option<NaiveDate> {
        let day = partition.strip_prefix(self.name())?.strip_prefix('_')?;
        NaiveDate::parse_from_str(day, "%Y%m%d").ok()
    }
}

fn beginning_of(day: NaiveDate) -> DateTime<Utc> {
    day.and_time(NaiveTime::MIN).and_utc()
}

impl Webhooks {
    /// Creates the partitions of today and the coming days. A row that is written at the very moment at which the partition of its
    /// day is created is refused, so this happens before the first event of a program's life.
    pub async fn create_partitions(&self) -> Result<(), sqlx::Error> {
        let today = self.clock.now().date_naive();
        let mut conn = self.worker_pool.acquire().await?;
        for table in Table::ALL {
            let partitions = queries::list_partitions(&mut conn, table).await?;
            for day in today.iter_days().take(DAYS_AHEAD) {
                if !partitions.contains(&table.partition(day)) {
                    queries::create_partition(&mut conn, table, day).await?;
                }
            }
        }
        Ok(())
    }

    /// Creates the partitions of the coming days and deletes what is past its retention.
    pub async fn maintain_partitions(&self) -> Result<(), sqlx::Error> {
        self.create_partitions().await?;
        let now = self.clock.now();
        let mut conn = self.worker_pool.acquire().await?;
        let before = |retention| now - TimeDelta::from_std(retention).unwrap_or(TimeDelta::days(36_500));
        let (kept_since, failed_since) = (before(self.settings.retention), before(self.settings.failed_retention));
        for table in Table::ALL {
            for partition in queries::list_partitions(&mut conn, table).await? {
                let Some(day) = table.day(&partition) else { continue };
                if beginning_of(day + Days::new(1)) <= kept_since {
                    queries::drop_partition(&mut conn, table, day).await?;
                    tracing::info!(partition, "the expired log partition of a day was dropped");
                }
            }
        }
        queries::sweep_default(&mut conn, kept_since, failed_since).await?;
        queries::delete_replays(&mut conn, failed_since).await?;
        replays::delete_expired_keys(&mut conn, now).await
    }
}

/// Runs housekeeping at start-up and every hour.
pub(super) async fn maintain_partitions(webhooks: Webhooks, lifecycle: Lifecycle) {
    lifecycle.every(HOUSEKEEPING_INTERVAL, "housekeeping of the delivery log failed", || webhooks.maintain_partitions()).await;
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
