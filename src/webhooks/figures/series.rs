//! The counts of a period, step by step, with their sums.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use crate::kernel::clock::timestamp;
use crate::members;
use crate::webhooks::engine::figures::Count;
use crate::webhooks::figures::period::Period;
use crate::webhooks::latency::{BUCKETS, Histogram, begins_at};

/// Attempts by outcome, with their durations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    succeeded: u64,
    failed: u64,
    durations: Histogram,
    of_failed: Histogram,
}

#[derive(Clone, Debug)]
struct Step {
    at: DateTime<Utc>,
    tally: Tally,
    events: u64,
}

/// What was sent in a period.
#[derive(Clone, Debug)]
pub struct Figures {
    period: Period,
    steps: Vec<Step>,
    /// The sum of all steps.
    pub total: Tally,
    /// The number of events, where it is told.
    events: Option<u64>,
}

impl Tally {
    fn add(&mut self, count: &Count) {
        let (succeeded, failed) = (count.succeeded.unsigned_abs(), count.failed.unsigned_abs());
        let bucket = usize::from(count.bucket.unsigned_abs());
        self.succeeded += succeeded;
        self.failed += failed;
        self.durations.add(bucket, succeeded + failed);
        self.of_failed.add(bucket, failed);
    }

    /// The number of attempts.
    pub fn attempts(&self) -> u64 {
        self.succeeded + self.failed
    }

    /// From 0 to 1, in thousandths, rounded down so that one failure among many is never a whole success; `None` without attempts.
    pub fn success_rate(&self) -> Option<f64> {
        let thousandths = (self.succeeded * 1000).checked_div(self.attempts())?;
        u32::try_from(thousandths).ok().map(|thousandths| f64::from(thousandths) / 1000.0)
    }

    /// The duration that `part` of the attempts did not exceed, in whole milliseconds.
    pub fn quantile_ms(&self, part: f64) -> Option<f64> {
        self.durations.quantile(part).map(f64::round)
    }

    /// The buckets from the first to the last one that has any.
    fn histogram(&self) -> Vec<Value> {
        let filled = |bucket: &usize| self.durations.count(*bucket) > 0;
        let (Some(first), Some(last)) = ((0..BUCKETS).find(filled), (0..BUCKETS).rev().find(filled)) else { return Vec::new() };
        let bucket = |bucket| {
            let failed = self.of_failed.count(bucket);
            json!({
                "from_ms": begins_at(bucket).round(), "to_ms": begins_at(bucket + 1).round(),
                "succeeded": self.durations.count(bucket) - failed, "failed": failed,
            })
        };
        (first..=last).map(bucket).collect()
    }

    /// The members that a step and a period have in common.
    fn members(&self) -> Map<String, Value> {
        members! {
            "attempts": self.attempts(),
            "succeeded": self.succeeded,
            "failed": self.failed,
            "success_rate": self.success_rate(),
            "p50_ms": self.quantile_ms(0.5),
            "p95_ms": self.quantile_ms(0.95),
        }
    }
}

impl Figures {
    /// The figures of the period that ends at `now`. Counts of other times are left out.
    pub fn of(period: Period, now: DateTime<Utc>, counts: impl IntoIterator<Item = Count>) -> Self {
        let begin = period.begins_at(now);
        let step = |number| Step { at: begin + period.step() * number, tally: Tally::default(), events: 0 };
        let mut figures = Self { period, steps: (0..period.steps()).map(step).collect(), total: Tally::default(), events: None };
        for count in counts {
            if let Some(step) = figures.step_at(count.at) {
                step.tally.add(&count);
                figures.total.add(&count);
            }
        }
        figures
    }

    /// Adds the number of events in each step.
    pub fn with_events(mut self, events: impl IntoIterator<Item = (DateTime<Utc>, i64)>) -> Self {
        let mut total = 0;
        for (at, events) in events {
            if let Some(step) = self.step_at(at) {
                step.events += events.unsigned_abs();
                total += events.unsigned_abs();
            }
        }
        Self { events: Some(total), ..self }
    }

    fn step_at(&mut self, at: DateTime<Utc>) -> Option<&mut Step> {
        self.steps.iter_mut().find(|step| step.at == at)
    }

    /// The members of the figures in a response.
    pub fn present(&self) -> Map<String, Value> {
        let step = |step: &Step| {
            let mut members = members! { "at": timestamp(step.at) };
            members.extend(self.events.map(|_| ("events".to_owned(), step.events.into())));
            members.extend(step.tally.members());
            Value::Object(members)
        };
        let mut members = members! { "period": self.period.as_str(), "step_hours": self.period.step().num_hours() };
        members.extend(self.events.map(|events| ("events".to_owned(), events.into())));
        members.extend(self.total.members());
        members.extend(members! { "series": self.steps.iter().map(step).collect::<Vec<_>>(), "latency": self.total.histogram() });
        members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(at: &str, bucket: i16, succeeded: i64, failed: i64) -> Count {
        Count { at: at.parse().unwrap(), bucket, succeeded, failed }
    }

    #[test]
    fn every_step_is_there_and_the_sums_agree() {
        let now = "2026-05-21T10:15:00Z".parse().unwrap();
        let counts = [
            count("2026-05-21T10:00:00Z", 13, 2, 1),
            count("2026-05-21T10:00:00Z", 15, 1, 0),
            count("2026-05-20T11:00:00Z", 13, 4, 0),
            // Longer ago than the period.
            count("2026-05-20T10:00:00Z", 13, 100, 0),
        ];
        let figures = Figures::of(Period::Day, now, counts).with_events([("2026-05-21T10:00:00Z".parse().unwrap(), 9)]).present();
        let series = figures["series"].as_array().unwrap();
        assert_eq!((series.len(), &series[0]["at"]), (24, &json!("2026-05-20T11:00:00.000+00:00")));
        assert_eq!((&series[0]["attempts"], &series[1]["attempts"], &series[23]["attempts"]), (&json!(4), &json!(0), &json!(4)));
        assert_eq!((&series[1]["success_rate"], &series[1]["p95_ms"]), (&json!(null), &json!(null)));
        assert_eq!((&figures["succeeded"], &figures["failed"], &figures["success_rate"]), (&json!(7), &json!(1), &json!(0.875)));
        assert_eq!((&figures["events"], &series[23]["events"]), (&json!(9), &json!(9)));
        let latency = figures["latency"].as_array().unwrap();
        assert_eq!(latency.len(), 3, "from the first bucket with any to the last one");
        assert_eq!(latency[0], json!({ "from_ms": 64.0, "to_ms": 91.0, "succeeded": 6, "failed": 1 }));
        assert_eq!(latency[1]["succeeded"], 0);
    }
}
