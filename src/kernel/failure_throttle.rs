//! So many failures a minute, counted by each instance for itself: what keeps one caller from trying without end.
//!
//! An attempt is counted before it is made, so that parallel ones cannot pass together, and given back when it succeeds: who succeeds is
//! never held up by their own attempts.

use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::kernel::rate_limit::Standing;

const MINUTE: Duration = Duration::from_secs(60);

/// A limit for each caller, told apart by `K`. Clones count together.
#[derive(Clone, Debug)]
pub struct FailureThrottle<K> {
    limit: NonZeroU32,
    /// When each caller's failures will all be forgotten. Each lasts a minute divided by the limit, one after the other.
    forgotten_at: Arc<Mutex<HashMap<K, Instant>>>,
}

impl<K: Hash + Eq> FailureThrottle<K> {
    /// A limit of so many failures a minute, all of which may come at once.
    pub fn new(failures_per_minute: NonZeroU32) -> Self {
        Self { limit: failures_per_minute, forgotten_at: Arc::default() }
    }

    /// Counts an attempt of `caller` as failed, if the limit allows it one.
    pub fn hit(&self, caller: K) -> Standing {
        let now = Instant::now();
        let mut callers = self.callers();
        let forgotten_at = callers.entry(caller).or_insert(now);
        let remembered = forgotten_at.saturating_duration_since(now) + self.each();
        let allowed = remembered <= MINUTE;
        if allowed {
            *forgotten_at = now + remembered;
        }
        let room = MINUTE.saturating_sub(remembered).as_nanos() / self.each().as_nanos();
        Standing {
            limit: self.limit.get(),
            remaining: u32::try_from(room).unwrap_or(u32::MAX),
            reset: if allowed { remembered } else { remembered - MINUTE },
            allowed,
        }
    }

    /// An attempt of `caller` that was counted did not fail.
    pub fn give_back(&self, caller: &K) {
        if let Some(forgotten_at) = self.callers().get_mut(caller)
            && let Some(earlier) = forgotten_at.checked_sub(self.each())
        {
            *forgotten_at = earlier;
        }
    }

    /// Drops the callers whose failures are forgotten, so that memory follows those of the last minute alone.
    pub fn sweep(&self) {
        let (now, mut callers) = (Instant::now(), self.callers());
        callers.retain(|_, forgotten_at| *forgotten_at > now);
        callers.shrink_to_fit();
    }

    fn each(&self) -> Duration {
        MINUTE / self.limit.get()
    }

    fn callers(&self) -> MutexGuard<'_, HashMap<K, Instant>> {
        self.forgotten_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throttle() -> FailureThrottle<&'static str> {
        FailureThrottle::new(NonZeroU32::new(3).unwrap())
    }

    #[test]
    fn failures_are_limited_for_each_caller() {
        let throttle = throttle();
        let standings = [0; 3].map(|_| throttle.hit("ada"));
        assert_eq!(standings.map(|standing| (standing.allowed, standing.remaining)), [(true, 2), (true, 1), (true, 0)]);
        let refused = throttle.hit("ada");
        assert!(!refused.allowed && (1..=20).contains(&refused.retry_after()), "{refused:?}");
        assert!(throttle.hit("bob").allowed);
    }

    #[test]
    fn what_succeeds_is_not_counted() {
        let throttle = throttle();
        for _ in 0..100 {
            assert!(throttle.hit("ada").allowed);
            throttle.give_back(&"ada");
        }
    }

    #[test]
    fn callers_are_dropped_once_their_failures_are_forgotten() {
        let throttle = throttle();
        throttle.hit("ada");
        throttle.hit("bob");
        throttle.give_back(&"bob");
        throttle.sweep();
        assert_eq!(throttle.callers().keys().collect::<Vec<_>>(), [&"ada"]);
    }
}
