//! A webhook of the API, and how it is doing in a sentence.

use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::console::charts::{Figures, number, rate};
use crate::console::shell::Ui;

/// Deliveries that wait are counted up to this number by the API.
const MAX_COUNTED: u64 = 1_000;

/// What pages need of a webhook.
#[derive(Clone, Deserialize)]
pub(super) struct Webhook {
    pub(super) id: String,
    pub(super) url: String,
    pub(super) description: Option<String>,
    pub(super) events: Vec<String>,
    pub(super) status: String,
    pub(super) paused_at: Option<DateTime<Utc>>,
    pub(super) disabled_reason: Option<String>,
    pub(super) signature_format: String,
    pub(super) timeout: u32,
    pub(super) rate_limit: Option<u32>,
    pub(super) ordering: String,
    pub(super) previous_secret_until: Option<DateTime<Utc>>,
}

/// How its endpoint stands, and what was sent to it in a period.
#[derive(Clone, Deserialize)]
pub(super) struct Standing {
    pub(super) webhook_id: String,
    pub(super) last_success_at: Option<DateTime<Utc>>,
    pub(super) failing_since: Option<DateTime<Utc>>,
    consecutive_failures: u64,
    pub(super) circuit: String,
    silent_until: Option<DateTime<Utc>>,
    pub(super) certificate_expires_at: Option<DateTime<Utc>>,
    pub(super) waiting: u64,
    #[serde(flatten)]
    pub(super) figures: Figures,
}

impl Standing {
    /// The number of deliveries that wait, as far as they were counted.
    pub(super) fn waiting(&self) -> String {
        if self.waiting < MAX_COUNTED { number(self.waiting) } else { format!("{}+", number(MAX_COUNTED)) }
    }

    /// Whether attempts fail now.
    pub(super) fn is_failing(&self) -> bool {
        self.failing_since.is_some() && self.consecutive_failures > 0
    }

    /// A sentence about what holds deliveries back; `None` if nothing does.
    fn held_back(&self, ui: &Ui) -> Option<String> {
        match self.silent_until {
            Some(until) => Some(ui.say("The endpoint has asked to be left alone and is tried again {}.", [ui.at(&until).text()])),
            None if self.circuit == "closed" => None,
            None => Some(ui.t("Most attempts are held back until one succeeds.").to_owned()),
        }
    }

    /// The same for a delivery whose attempt is due at `due`.
    fn holds(&self, ui: &Ui, due: DateTime<Utc>, is_replay: bool) -> Option<String> {
        let applies = match self.silent_until {
            // A retry may be due later than the silence ends.
            Some(until) => until >= due,
            // A circuit holds back nothing that somebody has sent again.
            None => due <= ui.now() && !is_replay,
        };
        self.held_back(ui).filter(|_| applies)
    }
}

impl Webhook {
    /// The word of its state, and what it means for somebody who looks for trouble.
    pub(super) fn state(&self, standing: &Standing) -> (&str, &'static str) {
        match self.status.as_str() {
            "disabled" => ("disabled", "bad"),
            "paused" => ("paused", "waiting"),
            _ if standing.is_failing() => ("failing", "bad"),
            other => (other, "good"),
        }
    }

    /// How it is doing.
    pub(super) fn answer(&self, ui: &Ui, standing: &Standing) -> String {
        match (self.status.as_str(), self.disabled_reason.as_deref(), standing.failing_since) {
            ("disabled", Some("gone"), _) => {
                ui.t("Disabled: the endpoint answered 410 Gone. Events that happen now are not delivered later.").to_owned()
            }
            ("disabled", Some("failing"), _) => {
                ui.t("Disabled: everything failed for five days. Events that happen now are not delivered later.").to_owned()
            }
            ("disabled", ..) => ui.t("Disabled by request. Events that happen now are not delivered later.").to_owned(),
            ("paused", ..) => {
                let since = self.paused_at.map(|at| ui.at(&at).text()).unwrap_or_default();
                ui.say("Paused {}. Deliveries are made and held: {} wait until you resume.", [since, standing.waiting()])
            }
            (_, _, Some(since)) if standing.is_failing() => {
                let since = ui.at(&since).text();
                let failing = match standing.consecutive_failures {
                    1 => ui.say("The last attempt failed {}.", [since]),
                    failures => ui.say("The last {} attempts failed, the first of them {}.", [failures.to_string(), since]),
                };
                and(failing, standing.held_back(ui))
            }
            // An endpoint can accept what was in flight when it asked for silence.
            _ => and(self.healthy(ui, &standing.figures), standing.held_back(ui)),
        }
    }

    /// What holds a delivery back whose attempt is due at `due`, in a sentence; `None` if nothing does.
    pub(super) fn holds(&self, ui: &Ui, standing: &Standing, due: DateTime<Utc>, is_replay: bool) -> Option<String> {
        match self.status.as_str() {
            "paused" => Some(ui.t("The webhook is paused. The delivery is held until it is resumed.").to_owned()),
            _ => standing.holds(ui, due, is_replay),
        }
    }

    fn healthy(&self, ui: &Ui, figures: &Figures) -> String {
        match (figures.success_rate, figures.attempts) {
            (None, _) => ui.t("Nothing was sent in this period.").to_owned(),
            (Some(share), 1) if share < 1.0 => ui.t("The only attempt in this period failed.").to_owned(),
            (Some(_), 1) => ui.t("The only attempt in this period succeeded.").to_owned(),
            (Some(share), attempts) if share < 1.0 => {
                ui.say("{} of {} attempts in this period succeeded.", [rate(share), number(attempts)])
            }
            (Some(_), attempts) => ui.say("All {} attempts in this period succeeded.", [number(attempts)]),
        }
    }
}

/// One sentence, and another one behind it if there is one.
fn and(sentence: String, other: Option<String>) -> String {
    [Some(sentence), other].into_iter().flatten().collect::<Vec<_>>().join(" ")
}
