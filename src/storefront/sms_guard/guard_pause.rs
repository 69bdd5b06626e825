//! A pause that the guard began itself.

use std::fmt;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::kernel::clock::{seconds_until, timestamp};
use crate::members;
use crate::storefront::sms_guard::learnt::{self, Learnt};
use crate::storefront::sms_guard::pumping::{Codes, Period};
use crate::storefront::sms_guard::scope::Scope;

/// A pause of texts to strangers. Customers with a proven number get theirs all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardPause {
    pub(super) scope: Scope,
    pub(super) since: DateTime<Utc>,
    pub(super) until: DateTime<Utc>,
    pub(super) reason: String,
    /// Whole seconds until its end.
    pub(super) seconds: u64,
}

/// A pause that begins now, and what it follows from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPause {
    pub(super) pause: GuardPause,
    pub(super) codes: Codes,
    pub(super) level: i16,
}

impl GuardPause {
    /// The pause that the guard remembers, if it lasts.
    pub(super) fn lasting(scope: &Scope, Learnt { since, until, reason, .. }: &Learnt, now: DateTime<Utc>) -> Option<Self> {
        let lasts = *until > now;
        let pause =
            || Self { scope: scope.clone(), since: *since, until: *until, reason: reason.clone(), seconds: seconds_until(*until, now) };
        lasts.then(pause)
    }

    pub(super) fn details(&self) -> Map<String, Value> {
        members! {
            "scope": self.scope.kind(),
            "name": self.scope.name(),
            "paused_at": timestamp(self.since),
            "paused_until": timestamp(self.until),
            "paused_reason": self.reason,
        }
    }
}

impl NewPause {
    /// A pause because of these codes. It is longer if the scope was paused before.
    pub(super) fn begin(scope: &Scope, (codes, period): (Codes, Period), before: Option<&Learnt>, now: DateTime<Utc>) -> Self {
        let (level, until) = learnt::next_pause(before, now);
        let reason = format!("of {} codes texted {}, {} were used", codes.texted, period.words(), codes.used);
        Self { pause: GuardPause { scope: scope.clone(), since: now, until, reason, seconds: seconds_until(until, now) }, codes, level }
    }

    pub(super) fn details(&self) -> Map<String, Value> {
        let mut details = self.pause.details();
        details.extend(members! { "texted": self.codes.texted, "used": self.codes.used });
        details
    }
}

impl From<&NewPause> for Learnt {
    fn from(NewPause { pause, level, .. }: &NewPause) -> Self {
        Self { level: *level, since: pause.since, until: pause.until, reason: pause.reason.clone() }
    }
}

/// For operators: what is paused, until when and why.
impl fmt::Display for GuardPause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} until {}: {}", self.scope, timestamp(self.until), self.reason)
    }
}
