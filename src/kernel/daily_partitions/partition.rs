//! What the tables of a day are called.

use chrono::NaiveDate;

use crate::kernel::daily_partitions::DailyPartitions;

/// What the partition of a day contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Everything: `events_20260521`.
    All,
    /// What is needed although the day has expired: `events_20260521_kept`.
    Kept,
}

/// The partition of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    pub day: NaiveDate,
    pub content: Content,
}

impl DailyPartitions {
    pub(super) fn name(&self, day: NaiveDate) -> String {
        format!("{}_{}", self.table, day.format("%Y%m%d"))
    }

    pub(super) fn name_of_kept(&self, day: NaiveDate) -> String {
        format!("{}_kept", self.name(day))
    }

    /// The table of a day that is no partition any more. A name of its own tells it from what an operator has detached.
    pub(super) fn name_of_expired(&self, day: NaiveDate) -> String {
        format!("{}_expired", self.name(day))
    }

    pub(super) fn default_partition(&self) -> String {
        format!("{}_default", self.table)
    }

    /// The partition with this name; `None` for the default partition.
    pub(super) fn partition_called(&self, name: &str) -> Option<Partition> {
        let (name, content) = name.strip_suffix("_kept").map_or((name, Content::All), |name| (name, Content::Kept));
        Some(Partition { day: self.day(name)?, content })
    }

    /// The day whose detached table has this name.
    pub(super) fn day_of_expired(&self, name: &str) -> Option<NaiveDate> {
        self.day(name.strip_suffix("_expired")?)
    }

    fn day(&self, name: &str) -> Option<NaiveDate> {
        let day = name.strip_prefix(self.table)?.strip_prefix('_')?;
        NaiveDate::parse_from_str(day, "%Y%m%d").ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_named_after_its_day() {
        let day = NaiveDate::from_ymd_opt(2026, 5, 21).unwrap();
        let events = DailyPartitions { table: "events", key: "id", erasable: None };
        assert_eq!(events.name(day), "events_20260521");
        assert_eq!(events.partition_called("events_20260521"), Some(Partition { day, content: Content::All }));
        assert_eq!(events.partition_called(&events.name_of_kept(day)), Some(Partition { day, content: Content::Kept }));
        assert_eq!(events.day_of_expired(&events.name_of_expired(day)), Some(day));
        for other in ["events_default", "deliveries_20260521", "events_20260521_expired", "events_20260521_archive"] {
            assert_eq!(events.partition_called(other), None, "{other}");
        }
        assert_eq!(events.day_of_expired("events_20260521"), None);
    }
}
