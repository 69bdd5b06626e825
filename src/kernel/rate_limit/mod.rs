//! Limits. [`shared`] limits are counted in Postgres and hold for any number of instances. [`local`] limits of requests, of [`failures`],
//! over a longer [`window`], and of what is under way at the same time ([`concurrent`], and [`line`] for those who may wait) are counted in
//! the memory of each instance. Each counts the larger network of a client as well ([`limit_key`](crate::kernel::limit_key)).

pub mod concurrent;
pub mod failures;
pub mod line;
pub mod local;
pub mod shared;
pub mod window;

use std::num::NonZeroU32;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, TimeDelta, Utc};

use crate::kernel::limit_key::of_larger;
use crate::kernel::problem::{Problem, ProblemCode};

pub use concurrent::{ConcurrencyLimiter, Full, Slot};
pub use failures::FailureLimiter;
pub use local::LocalRateLimiter;
pub use shared::{by_network, clear, hit, hit_all, hit_network, refund, refund_network, sweep, take_back};
pub use window::LocalWindow;

/// At most `limit` hits in any `window`.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The number of hits allowed.
    pub limit: u32,
    /// The length of the sliding window.
    pub window: TimeDelta,
}

impl Rule {
    /// The rule of the larger network of a client.
    pub fn of_larger(self) -> Self {
        let limit = NonZeroU32::new(self.limit).map_or(0, |limit| of_larger(limit).get());
        Self { limit, ..self }
    }
}

/// The state of a caller's limit after a hit.
#[derive(Clone, Copy, Debug)]
pub struct RateLimitStatus {
    /// The rule's limit.
    pub limit: u32,
    /// Hits still allowed in this window.
    pub remaining: u32,
    /// The time until the oldest hit leaves the window.
    pub reset: Duration,
    /// Whether this hit was within the limit. A rejected hit is not counted.
    pub allowed: bool,
}

impl RateLimitStatus {
    /// The status after a hit at `now`: the window contains `hits` hits. A hit that was `refused` is not among them.
    pub fn of(rule: Rule, hits: i32, oldest: DateTime<Utc>, refused: bool, now: DateTime<Utc>) -> Self {
        Self {
            limit: rule.limit,
            remaining: rule.limit.saturating_sub(u32::try_from(hits).unwrap_or(u32::MAX)),
            reset: (oldest + rule.window - now).to_std().unwrap_or_default(),
            allowed: !refused,
        }
    }

    /// `rate_limited`, with the time until another hit is allowed.
    pub fn problem(&self) -> Problem {
        Problem::new(ProblemCode::RateLimited).retry_after(self.retry_after())
    }

    /// [`Self::problem`] with the headers of [`Self::apply_headers`].
    pub fn refusal(&self) -> Response {
        let mut refusal = self.problem().into_response();
        self.apply_headers(&mut refusal);
        refusal
    }

    /// Whole seconds until another hit is allowed, at least 1.
    pub fn retry_after(&self) -> u64 {
        self.reset.as_secs() + u64::from(self.reset.subsec_nanos() > 0).max(u64::from(self.reset.is_zero()))
    }

    /// Sets the headers `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` (seconds).
    pub fn apply_headers(&self, response: &mut Response) {
        let values = [u64::from(self.limit), u64::from(self.remaining), self.retry_after()];
        for (name, value) in ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"].into_iter().zip(values) {
            response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from(value));
        }
    }
}
