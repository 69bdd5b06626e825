//! Figures of the API, and the charts that can be drawn of them.

use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::console::charts::bars::{Chart, Sparkline, Value};
use crate::console::charts::number::{duration, number, rate};
use crate::console::charts::period::Period;
use crate::console::shell::Ui;

/// What was sent in a period, as `GET figures` and `GET webhooks/{uuid}/figures` tell it.
#[derive(Clone, Debug, Deserialize)]
pub struct Figures {
    period: String,
    /// The number of events; only of a company.
    pub events: Option<u64>,
    /// The number of attempts.
    pub attempts: u64,
    /// Those that succeeded.
    pub succeeded: u64,
    /// Those that failed.
    pub failed: u64,
    /// From 0 to 1; `None` without attempts.
    pub success_rate: Option<f64>,
    /// What half of the attempts did not exceed, in milliseconds.
    pub p50_ms: Option<f64>,
    /// What 95 of a hundred attempts did not exceed, in milliseconds.
    pub p95_ms: Option<f64>,
    series: Vec<Step>,
    latency: Vec<Bucket>,
}

#[derive(Clone, Debug, Deserialize)]
struct Step {
    at: DateTime<Utc>,
    #[serde(default)]
    events: u64,
    succeeded: u64,
    failed: u64,
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
struct Bucket {
    from_ms: f64,
    to_ms: f64,
    succeeded: u64,
    failed: u64,
}

/// What a cell says where there is nothing to tell.
const NOTHING: &str = "–";

impl Figures {
    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.attempts == 0 && self.events.unwrap_or_default() == 0
    }

    /// `98.7 %`; a dash without attempts.
    pub fn success(&self) -> String {
        self.success_rate.map_or(NOTHING.to_owned(), rate)
    }

    /// The duration that half of the attempts did not exceed; a dash without attempts.
    pub fn p50(&self) -> String {
        self.p50_ms.map_or(NOTHING.to_owned(), duration)
    }

    /// The duration that 95 of a hundred attempts did not exceed; a dash without attempts.
    pub fn p95(&self) -> String {
        self.p95_ms.map_or(NOTHING.to_owned(), duration)
    }

    /// Attempts, step by step.
    pub fn attempts_chart(&self, ui: &Ui) -> Chart {
        let most = self.series.iter().map(|step| step.succeeded + step.failed).max().unwrap_or_default();
        let most = ui.say("at most {}", [number(most)]);
        Chart::new(ui, "Attempts", most, vec!["Time (UTC)", "Succeeded", "Failed"], self.attempts(ui))
    }

    /// Events, step by step.
    pub fn events_chart(&self, ui: &Ui) -> Chart {
        let value = |step: &Step| {
            let span = self.period().step_span(ui, step.at);
            let sentence = match step.events {
                1 => ui.say("{}: one event", [span]),
                events => ui.say("{}: {} events", [span, number(events)]),
            };
            self.value(step, step.events as f64, 0.0, sentence, vec![number(step.events)])
        };
        let most = ui.say("at most {}", [number(self.series.iter().map(|step| step.events).max().unwrap_or_default())]);
        Chart::new(ui, "Events", most, vec!["Time (UTC)", "Events"], self.series.iter().map(value).collect())
    }

    /// The 95th percentile of the durations, step by step.
    pub fn latency_chart(&self, ui: &Ui) -> Chart {
        let value = |step: &Step| {
            let cells = [step.p50_ms, step.p95_ms].map(|told| told.map_or(NOTHING.to_owned(), duration));
            let span = self.period().step_span(ui, step.at);
            let sentence = match step.p95_ms {
                None => ui.say("{}: no attempts", [span]),
                Some(_) => ui.say("{}: half within {}, 95 of 100 within {}", [&span, &cells[0], &cells[1]]),
            };
            self.value(step, step.p95_ms.unwrap_or_default(), 0.0, sentence, cells.into())
        };
        let most = ui.say("at most {}", [duration(self.series.iter().filter_map(|step| step.p95_ms).fold(0.0, f64::max))]);
        Chart::new(ui, "Latency (p95)", most, vec!["Time (UTC)", "p50", "p95"], self.series.iter().map(value).collect())
    }

    /// How long attempts took: a bar for those that took about the same time.
    pub fn histogram(&self, ui: &Ui) -> Chart {
        let value = |bucket: &Bucket| {
            let span = format!("{} – {}", duration(bucket.from_ms), duration(bucket.to_ms));
            let cells = vec![number(bucket.succeeded), number(bucket.failed)];
            let sentence = ui.say("{}: {} succeeded, {} failed", [&span, &cells[0], &cells[1]]);
            Value { about: span, plain: bucket.succeeded as f64, failed: bucket.failed as f64, sentence, cells }
        };
        let most = self.latency.iter().map(|bucket| bucket.succeeded + bucket.failed).max().unwrap_or_default();
        let most = ui.say("at most {}", [number(most)]);
        Chart::new(ui, "Durations", most, vec!["Duration", "Succeeded", "Failed"], self.latency.iter().map(value).collect())
    }

    /// Attempts, as small as a word.
    pub fn sparkline(&self, ui: &Ui) -> Sparkline {
        Sparkline::new(ui.say("{} succeeded, {} failed", [number(self.succeeded), number(self.failed)]), &self.attempts(ui))
    }

    fn attempts(&self, ui: &Ui) -> Vec<Value> {
        let value = |step: &Step| {
            let cells = vec![number(step.succeeded), number(step.failed)];
            let span = self.period().step_span(ui, step.at);
            let sentence = ui.say("{}: {} succeeded, {} failed", [&span, &cells[0], &cells[1]]);
            self.value(step, step.succeeded as f64, step.failed as f64, sentence, cells)
        };
        self.series.iter().map(value).collect()
    }

    fn value(&self, step: &Step, plain: f64, failed: f64, sentence: String, cells: Vec<String>) -> Value {
        Value { about: self.period().step_name(step.at), plain, failed, sentence, cells }
    }

    fn period(&self) -> Period {
        Period::read(&self.period)
    }
}
