//! Limits of failures per minute, counted in memory by each instance, so that one caller cannot guess indefinitely.
//!
//! An attempt is counted before it is made, so that parallel attempts cannot exceed the limit together, and refunded when it succeeds:
//! successful callers are never limited by their own attempts.

use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::kernel::rate_limit::RateLimitStatus;

const MINUTE: Duration = Duration::from_secs(60);

/// A limit of failures for each caller, identified by `K`. Clones share the counters.
#[derive(Clone, Debug)]
pub struct FailureLimiter<K> {
    limit: NonZeroU32,
    /// When the last failure of each caller expires. They expire one after the other, each a minute divided by the limit later.
    expires_at: Arc<Mutex<HashMap<K, Instant>>>,
}

/// The result of a look-up within the limit, and the caller's status.
type LookedUp<T, E> = (Result<Option<T>, E>, RateLimitStatus);

impl<K: Hash + Eq> FailureLimiter<K> {
    /// Allows `failures_per_minute` per caller, in bursts of up to the same number.
    pub fn new(failures_per_minute: NonZeroU32) -> Self {
        Self { limit: failures_per_minute, expires_at: Arc::default() }
    }

    /// Counts an attempt of `caller` as failed, if the limit allows one.
    fn hit(&self, caller: K) -> RateLimitStatus {
        let now = Instant::now();
        let mut callers = self.callers();
        let expires_at = callers.entry(caller).or_insert(now);
        let remembered = expires_at.saturating_duration_since(now) + self.each();
        let allowed = remembered <= MINUTE;
        if allowed {
            *expires_at = now + remembered;
        }
        let room = MINUTE.saturating_sub(remembered).as_nanos() / self.each().as_nanos();
        RateLimitStatus {
            limit: self.limit.get(),
            remaining: u32::try_from(room).unwrap_or(u32::MAX),
            reset: if allowed { remembered } else { remembered - MINUTE },
            allowed,
        }
    }

    /// Takes back a counted attempt of `caller` that did not fail.
    fn refund(&self, caller: &K) {
        if let Some(expires_at) = self.callers().get_mut(caller)
            && let Some(earlier) = expires_at.checked_sub(self.each())
        {
            *expires_at = earlier;
        }
    }

    /// Runs a look-up that fails by finding nothing; an error is no failure of the caller. Returns the status if the limit is exceeded.
    pub async fn look_up<T, E>(
        &self,
        caller: K,
        look_up: impl Future<Output = Result<Option<T>, E>>,
    ) -> Result<LookedUp<T, E>, RateLimitStatus>
    where
        K: Copy,
    {
        let status = self.hit(caller);
        if !status.allowed {
            return Err(status);
        }
        let found = look_up.await;
        if !matches!(found, Ok(None)) {
            self.refund(&caller);
        }
        Ok((found, status))
    }

    /// Removes callers without failures in the last minute, so that memory use depends only on recent callers.
    pub fn sweep(&self) {
        let (now, mut callers) = (Instant::now(), self.callers());
        callers.retain(|_, expires_at| *expires_at > now);
        callers.shrink_to_fit();
    }

    fn each(&self) -> Duration {
        MINUTE / self.limit.get()
    }

    fn callers(&self) -> MutexGuard<'_, HashMap<K, Instant>> {
        self.expires_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter() -> FailureLimiter<&'static str> {
        FailureLimiter::new(NonZeroU32::new(3).unwrap())
    }

    #[test]
    fn failures_are_limited_for_each_caller() {
        let limiter = limiter();
        let statuses = [0; 3].map(|_| limiter.hit("ada"));
        assert_eq!(statuses.map(|status| (status.allowed, status.remaining)), [(true, 2), (true, 1), (true, 0)]);
        let refused = limiter.hit("ada");
        assert!(!refused.allowed && (1..=20).contains(&refused.retry_after()), "{refused:?}");
        assert!(limiter.hit("bob").allowed);
    }

    #[test]
    fn successes_are_not_counted() {
        let limiter = limiter();
        for _ in 0..100 {
            assert!(limiter.hit("ada").allowed);
            limiter.refund(&"ada");
        }
    }

    #[test]
    fn callers_are_removed_once_their_failures_have_expired() {
        let limiter = limiter();
        limiter.hit("ada");
        limiter.hit("bob");
        limiter.refund(&"bob");
        limiter.sweep();
        assert_eq!(limiter.callers().keys().collect::<Vec<_>>(), [&"ada"]);
    }
}
