//! The gates, as a pure function of what is known.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::kernel::clock::timestamp;
use crate::kernel::ids::{DeliveryId, SubscriptionId};
use crate::webhooks::engine::whereabouts::{Published, Whereabouts};
use crate::webhooks::subscription::{Status, Subscription};

/// How long it may take until the deliveries of an event are made, before one has to wonder.
const FAN_OUT: TimeDelta = TimeDelta::minutes(1);

/// What is known of an event and a webhook.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) webhook: SubscriptionId,
    pub(super) registered_at: DateTime<Utc>,
    pub(super) subscription: Subscription,
    pub(super) published: Published,
    /// The delivery, if there is one.
    pub(super) whereabouts: Option<Whereabouts>,
}

/// What became of the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Delivered,
    /// An attempt is being made, or will be.
    Waiting,
    Failed,
    Cancelled,
    /// There is no delivery, and there will be none.
    NotSent,
}

/// A gate that the event has passed, or that has stopped it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gate {
    name: &'static str,
    passed: bool,
    detail: String,
}

/// The gates up to the one that has stopped the event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Explanation {
    pub(super) verdict: Verdict,
    pub(super) delivery: Option<DeliveryId>,
    pub(super) gates: Vec<Gate>,
}

impl Verdict {
    pub(super) const NAMES: [&'static str; 5] = ["delivered", "waiting", "failed", "cancelled", "not_sent"];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Waiting => "waiting",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::NotSent => "not_sent",
        }
    }
}

impl Gate {
    pub(super) const NAMES: [&'static str; 12] = [
        "published",
        "addressed",
        "owner",
        "registered",
        "wanted",
        "enabled",
        "delivery",
        "paused",
        "order",
        "silence",
        "circuit",
        "answered",
    ];

    fn passed(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, passed: true, detail: detail.into() }
    }

    fn stopped(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, passed: false, detail: detail.into() }
    }

    pub(super) fn present(&self) -> Value {
        json!({ "gate": self.name, "passed": self.passed, "detail": self.detail })
    }
}

impl Facts {
    /// Explains what became of the event until `now`.
    pub(super) fn explain(&self, now: DateTime<Utc>) -> Explanation {
        let mut gates = vec![Gate::passed(
            "published",
            format!("{} was published at {}.", self.published.name, timestamp(self.published.published_at)),
        )];
        let Some(found) = &self.whereabouts else {
            let (gate, verdict) = self.missing(now);
            gates.push(gate);
            return Explanation { verdict, delivery: None, gates };
        };
        // Who has a delivery has passed these, whatever the webhook is like now.
        gates.push(Gate::passed("wanted", "The webhook wanted the event."));
        gates.push(Gate::passed("delivery", format!("The delivery is {}.", found.delivery)));
        let verdict = self.follow(found, now, &mut gates);
        Explanation { verdict, delivery: Some(found.delivery), gates }
    }

    /// Why there is no delivery.
    fn missing(&self, now: DateTime<Utc>) -> (Gate, Verdict) {
        let Published { name, published_at, addressed_to, owner } = &self.published;
        let stopped = |name, detail: String| (Gate::stopped(name, detail), Verdict::NotSent);
        if addressed_to.is_some_and(|only| only != self.webhook) {
            return stopped("addressed", "The event was for another webhook alone, such as a test.".to_owned());
        }
        match (&self.subscription.owner, owner) {
            (Some(own), Some(of)) if own != of => return stopped("owner", format!("The event is for another owner: {of}.")),
            (Some(_), None) => {
                return stopped("owner", "The event is for no owner, so it is sent to webhooks without an owner alone.".to_owned());
            }
            (Some(_) | None, _) => {}
        }
        if self.registered_at > *published_at {
            return stopped("registered", format!("The webhook was registered later, at {}.", timestamp(self.registered_at)));
        }
        if !self.subscription.events.wants(name) {
            return stopped("wanted", format!("The webhook does not want it. It wants {}.", self.subscription.events.names()));
        }
        if self.subscription.status == Status::Disabled {
            let since = self.subscription.disabled_at.map(|at| format!(" since {}", timestamp(at))).unwrap_or_default();
            return stopped("enabled", format!("The webhook is disabled{since}. What happens meanwhile is not delivered later."));
        }
        if *published_at + FAN_OUT > now {
            return (Gate::stopped("delivery", "The delivery is about to be made."), Verdict::Waiting);
        }
        stopped(
            "delivery",
            "There is no delivery. When the event was published, the webhook was disabled or wanted other events; or the delivery is no \
             longer kept."
                .to_owned(),
        )
    }

    /// What a delivery waits for, or how it ended.
    fn follow(&self, found: &Whereabouts, now: DateTime<Utc>, gates: &mut Vec<Gate>) -> Verdict {
        let answer = match (&found.error, &found.reason, found.status) {
            (_, _, Some(status)) => format!("the endpoint answered {status}"),
            (Some(error), Some(reason), None) => format!("the latest attempt ended with {error} ({reason})"),
            (Some(error), None, None) => format!("the latest attempt ended with {error}"),
            (None, _, None) => "no attempt has ended".to_owned(),
        };
        let (gate, verdict) = match found.state.as_str() {
            "delivered" => (Gate::passed("answered", format!("Delivered at attempt {}: {answer}.", found.attempts)), Verdict::Delivered),
            "failed" => (Gate::stopped("answered", format!("Given up after {}: {answer}.", attempts(found.attempts))), Verdict::Failed),
            "cancelled" => {
                (Gate::stopped("answered", format!("Cancelled after {}: {answer}.", attempts(found.attempts))), Verdict::Cancelled)
            }
            _ if self.subscription.status == Status::Paused && found.due_at.is_some() => {
                let since = self.subscription.paused_at.map(|at| format!(" since {}", timestamp(at))).unwrap_or_default();
                let detail = format!("The webhook is paused{since}, and the delivery is held until it is resumed; {answer}.");
                (Gate::stopped("paused", detail), Verdict::Waiting)
            }
            _ if found.behind.is_some() => {
                let ahead = found.behind.map(|ahead| ahead.to_string()).unwrap_or_default();
                (Gate::stopped("order", format!("It waits until the delivery before it has ended: {ahead}.")), Verdict::Waiting)
            }
            // A retry may be due later than the silence ends.
            _ if found.due_at.is_some_and(|due| found.silent_until.is_some_and(|until| until > now && until >= due)) => {
                let until = found.silent_until.map(timestamp).unwrap_or_default();
                let detail = format!("The endpoint has asked to be left alone (Retry-After) until {until}; {answer}.");
                (Gate::stopped("silence", detail), Verdict::Waiting)
            }
            _ if !found.is_replay && found.due_at.is_some() && found.open_until.is_some_and(|until| until > now) => {
                let until = found.open_until.map(timestamp).unwrap_or_default();
                let detail = format!("The endpoint has failed too often, so attempts are held back until {until}; {answer}.");
                (Gate::stopped("circuit", detail), Verdict::Waiting)
            }
            _ => match found.due_at {
                Some(due) if due > now && found.attempts > 0 => {
                    (Gate::stopped("answered", format!("The next attempt is due at {}; {answer}.", timestamp(due))), Verdict::Waiting)
                }
                Some(_) => (Gate::stopped("answered", format!("It is due and waits for its turn; {answer}.")), Verdict::Waiting),
                None => (Gate::stopped("answered", "It is being sent at this moment."), Verdict::Waiting),
            },
        };
        gates.push(gate);
        verdict
    }
}

/// `1 attempt`, `5 attempts`.
fn attempts(count: i16) -> String {
    if count == 1 { "1 attempt".to_owned() } else { format!("{count} attempts") }
}
