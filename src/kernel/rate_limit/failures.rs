//! Limits of failures per minute, counted in memory by each instance, so that one caller cannot guess indefinitely.
//!
//! An attempt is counted before it is made, so that parallel attempts cannot exceed the limit together, and refunded when it succeeds:
//! successful callers are never limited by their own attempts.
//!
//! What was found before is looked up whatever the limit says: one client of a network that tries what does not exist would otherwise keep out the
//! others, whose keys are good.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quick_cache::sync::Cache;

use crate::kernel::limit_key::{LimitKey, of_larger};
use crate::kernel::rate_limit::RateLimitStatus;

const MINUTE: Duration = Duration::from_secs(60);
/// How much of what was found is remembered.
const REMEMBERED: usize = 10_000;

/// A limit of failures for each caller, identified by `K`, and for the larger network of a client. Clones share the counters.
#[derive(Clone, Debug)]
pub struct FailureLimiter<K> {
    limit: NonZeroU32,
    /// When the last failure of each caller expires. They expire one after the other, each a minute divided by the limit later.
    expires_at: Arc<Mutex<HashMap<K, Instant>>>,
    found: Arc<Found>,
}

/// What was found, by a hash whose key nobody knows.
#[derive(Debug)]
struct Found {
    hasher: RandomState,
    hashes: Cache<u64, ()>,
}

/// The result of a look-up within the limit, and the caller's status.
type LookedUp<T, E> = (Result<Option<T>, E>, RateLimitStatus);

impl<K: LimitKey> FailureLimiter<K> {
    /// Allows `failures_per_minute` per caller, in bursts of up to the same number.
    pub fn new(failures_per_minute: NonZeroU32) -> Self {
        let found = Found { hasher: RandomState::new(), hashes: Cache::new(REMEMBERED) };
        Self { limit: failures_per_minute, expires_at: Arc::default(), found: Arc::new(found) }
    }

    /// Counts an attempt of `caller` as failed, if the limit allows one.
    fn hit(&self, caller: &K) -> RateLimitStatus {
        let (now, mut callers) = (Instant::now(), self.callers());
        let status = count(&mut callers, caller, self.limit, now);
        let Some(larger) = caller.larger().filter(|_| status.allowed) else { return status };
        let status_of_larger = count(&mut callers, &larger, of_larger(self.limit), now);
        if status_of_larger.allowed {
            return status;
        }
        take_back(&mut callers, caller, self.limit);
        status_of_larger
    }

    /// Takes back a counted attempt of `caller` that did not fail.
    fn refund(&self, caller: &K) {
        let mut callers = self.callers();
        take_back(&mut callers, caller, self.limit);
        if let Some(larger) = caller.larger() {
            take_back(&mut callers, &larger, of_larger(self.limit));
        }
    }

    /// Looks `what` up, which fails by finding nothing; an error is no failure of the caller. Returns the status if the limit is exceeded and it was
    /// not found before.
    pub async fn look_up<T, E>(
        &self,
        caller: K,
        what: &impl Hash,
        look_up: impl Future<Output = Result<Option<T>, E>>,
    ) -> Result<LookedUp<T, E>, RateLimitStatus>
    where
        K: Copy,
    {
        let Found { hasher, hashes } = &*self.found;
        let what = hasher.hash_one(what);
        let status = self.hit(&caller);
        if !status.allowed && hashes.get(&what).is_none() {
            return Err(status);
        }
        let found = look_up.await;
        match found {
            Ok(Some(_)) => hashes.insert(what, ()),
            Ok(None) => {
                hashes.remove(&what);
            }
            Err(_) => {}
        }
        if status.allowed && !matches!(found, Ok(None)) {
            self.refund(&caller);
        }
        Ok((found, status))
    }

    /// Remembers what is there from now on as if it had been looked up.
    pub fn remember(&self, what: &impl Hash) {
        self.found.hashes.insert(self.found.hasher.hash_one(what), ());
    }

    /// Removes callers without failures in the last minute, so that memory use depends only on recent callers.
    pub fn sweep(&self) {
        let (now, mut callers) = (Instant::now(), self.callers());
        callers.retain(|_, expires_at| *expires_at > now);
        callers.shrink_to_fit();
    }

    fn callers(&self) -> MutexGuard<'_, HashMap<K, Instant>> {
        self.expires_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a failure, if the limit allows one.
fn count<K: LimitKey>(callers: &mut HashMap<K, Instant>, caller: &K, limit: NonZeroU32, now: Instant) -> RateLimitStatus {
    let each = MINUTE / limit.get();
    let expires_at = callers.entry(caller.clone()).or_insert(now);
    let remembered = expires_at.saturating_duration_since(now) + each;
    let allowed = remembered <= MINUTE;
    if allowed {
        *expires_at = now + remembered;
    }
    let room = MINUTE.saturating_sub(remembered).as_nanos() / each.as_nanos();
    RateLimitStatus {
        limit: limit.get(),
        remaining: u32::try_from(room).unwrap_or(u32::MAX),
        reset: if allowed { remembered } else { remembered - MINUTE },
        allowed,
    }
}

fn take_back<K: LimitKey>(callers: &mut HashMap<K, Instant>, caller: &K, limit: NonZeroU32) {
    if let Some(expires_at) = callers.get_mut(caller)
        && let Some(earlier) = expires_at.checked_sub(MINUTE / limit.get())
    {
        *expires_at = earlier;
    }
}

#[cfg(test)]
mod tests {
    use ipnet::IpNet;

    use super::*;

    fn limiter() -> FailureLimiter<&'static str> {
        FailureLimiter::new(NonZeroU32::new(3).unwrap())
    }

    #[test]
    fn failures_are_limited_for_each_caller() {
        let limiter = limiter();
        let statuses = [0; 3].map(|_| limiter.hit(&"ada"));
        assert_eq!(statuses.map(|status| (status.allowed, status.remaining)), [(true, 2), (true, 1), (true, 0)]);
        let refused = limiter.hit(&"ada");
        assert!(!refused.allowed && (1..=20).contains(&refused.retry_after()), "{refused:?}");
        assert!(limiter.hit(&"bob").allowed);
    }

    #[test]
    fn successes_are_not_counted() {
        let limiter = limiter();
        for _ in 0..100 {
            assert!(limiter.hit(&"ada").allowed);
            limiter.refund(&"ada");
        }
    }

    #[tokio::test]
    async fn what_was_found_before_is_looked_up_whatever_the_limit_says() {
        let limiter = limiter();
        let look_up = async |what: &str, found: Option<()>| {
            let looked_up = limiter.look_up("ada", &what, async { Ok::<_, ()>(found) }).await;
            looked_up.ok().map(|(found, _)| found.unwrap().is_some())
        };
        assert_eq!(look_up("good", Some(())).await, Some(true));
        for _ in 0..3 {
            assert_eq!(look_up("made up", None).await, Some(false));
        }
        assert_eq!((look_up("made up", None).await, look_up("another good one", Some(())).await), (None, None));
        assert_eq!(look_up("good", Some(())).await, Some(true));
        limiter.remember(&"new");
        assert_eq!(look_up("new", Some(())).await, Some(true));
        // Once it is gone, it is like what nobody has found.
        assert_eq!((look_up("good", None).await, look_up("good", None).await), (Some(false), None));
    }

    #[test]
    fn callers_are_removed_once_their_failures_have_expired() {
        let limiter = limiter();
        limiter.hit(&"ada");
        limiter.hit(&"bob");
        limiter.refund(&"bob");
        limiter.sweep();
        assert_eq!(limiter.callers().keys().collect::<Vec<_>>(), [&"ada"]);
    }

    #[test]
    fn another_64_for_every_attempt_does_not_help_within_a_48() {
        let limiter = FailureLimiter::new(NonZeroU32::new(3).unwrap());
        let network = |number: u16| format!("2001:db8:1:{number:x}::/64").parse::<IpNet>().unwrap();
        let allowed = (0..100).filter(|number| limiter.hit(&network(*number)).allowed).count();
        assert_eq!(allowed, 48);
        let refused = limiter.hit(&network(200));
        assert_eq!((refused.allowed, refused.limit), (false, 48));
        assert!(limiter.hit(&"2001:db8:2::/64".parse().unwrap()).allowed, "another customer of the hoster");
        // What did not fail is no failure of the larger network either.
        limiter.refund(&network(0));
        assert!(limiter.hit(&network(200)).allowed);
    }
}
