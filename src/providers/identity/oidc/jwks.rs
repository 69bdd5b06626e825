//! The cache of a provider's public keys.
//!
//! The keys are fetched when a token first needs one, when they are one hour old, and when a token names an unknown key.
//! Regardless of the number of tokens, one request to the provider runs at a time, and at most one per minute. As long as there are no keys
//! at all, a request that failed is repeated sooner: after two seconds, then four, and so on up to a minute. While the provider
//! does not respond, the cached keys stay valid: only the first token of an outage waits for the fetch, later ones use the cached keys
//! while a fetch runs in the background. A fetch continues if the request that started it is cancelled.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use reqwest::Client;
use tokio::sync::{OwnedMutexGuard, oneshot};
use url::Url;

use crate::kernel::clock::{Clock, seconds_until};
use crate::kernel::error_chain::chain;
use crate::kernel::lifecycle::Lifecycle;
use crate::providers::identity::oidc::keys::{Key, read_keys};
use crate::providers::identity::outgoing::{NoAnswer, ask};
use crate::providers::identity::{Flaw, VerifyError};

/// The age at which keys are fetched again, so that a key that the provider has withdrawn stops working.
const MAX_AGE: TimeDelta = TimeDelta::hours(1);
/// The minimum interval between two fetches for tokens.
const REFRESH_INTERVAL: TimeDelta = TimeDelta::minutes(1);
/// The interval after the first request that failed, as long as there are no keys. It doubles with each further failure.
const FIRST_RETRY: TimeDelta = TimeDelta::seconds(2);

/// The keys at one URL.
#[derive(Clone, Debug)]
pub(super) struct Jwks {
    url: Url,
    client: Client,
    clock: Clock,
    lifecycle: Lifecycle,
    cached: Arc<Mutex<CachedKeys>>,
    /// Held by the task that fetches the keys.
    flight: Arc<tokio::sync::Mutex<()>>,
}

/// The cached keys and the times of the requests for them.
#[derive(Clone, Debug, Default)]
struct CachedKeys {
    keys: Vec<Key>,
    /// The start of the request that returned the keys.
    fetched_at: Option<DateTime<Utc>>,
    asked_at: Option<DateTime<Utc>>,
    /// The requests in a row that failed.
    failures: u32,
}

impl Jwks {
    pub(super) fn new(url: Url, client: Client, clock: Clock, lifecycle: Lifecycle) -> Self {
        Self { url, client, clock, lifecycle, cached: Arc::default(), flight: Arc::default() }
    }

    pub(super) async fn find(&self, id: &str) -> Result<Key, VerifyError> {
        let now = self.clock.now();
        let (key, is_fresh, is_unanswered) = {
            let cached = self.cached();
            (cached.key(id).cloned(), cached.is_fresh(now), cached.is_unanswered())
        };
        match key {
            Some(key) if is_fresh => Ok(key),
            Some(key) if is_unanswered => {
                if let Ok(flight) = self.flight.clone().try_lock_owned() {
                    self.start_fetch(flight);
                }
                Ok(key)
            }
            _ => {
                self.refresh().await;
                self.cached().find(id, self.clock.now())
            }
        }
    }

    /// Fetches the keys, or waits for a fetch in progress. Does nothing before the next request is due.
    async fn refresh(&self) {
        let flight = self.flight.clone().lock_owned().await;
        if let Some(finished) = self.start_fetch(flight) {
            // An error means that the fetch was aborted. The cache shows whether it succeeded.
            finished.await.ok();
        }
    }

    /// Starts a fetch in the background, if one is due. The receiver resolves when it has ended.
    fn start_fetch(&self, flight: OwnedMutexGuard<()>) -> Option<oneshot::Receiver<()>> {
        let now = self.clock.now();
        if !self.cached().is_due(now) {
            return None;
        }
        self.cached().asked_at = Some(now);
        let (finish, finished) = oneshot::channel();
        let this = self.clone();
        self.lifecycle.spawn(async move {
            match this.fetch().await {
                Ok(keys) => *this.cached() = CachedKeys { keys, fetched_at: Some(now), asked_at: Some(now), failures: 0 },
                Err(error) => {
                    tracing::warn!(url = %this.url, error = chain(&error), "an identity provider's keys could not be fetched");
                    let mut cached = this.cached();
                    cached.failures = cached.failures.saturating_add(1);
                }
            }
            drop(flight);
            finish.send(()).ok();
        });
        Some(finished)
    }

    /// Fetches the keys and returns how many of them can be used.
    pub(super) async fn count(&self) -> Result<usize, NoAnswer> {
        Ok(self.fetch().await?.len())
    }

    async fn fetch(&self) -> Result<Vec<Key>, NoAnswer> {
        let document = ask(self.client.get(self.url.clone())).await?.success()?;
        read_keys(&document).ok_or(NoAnswer::NotUnderstood)
    }

    fn cached(&self) -> MutexGuard<'_, CachedKeys> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedKeys {
    fn key(&self, id: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.id() == id)
    }

    fn is_fresh(&self, now: DateTime<Utc>) -> bool {
        self.fetched_at.is_some_and(|at| now < at + MAX_AGE)
    }

    /// Whether the last fetch failed or is still running.
    fn is_unanswered(&self) -> bool {
        self.asked_at > self.fetched_at
    }

    fn is_due(&self, now: DateTime<Utc>) -> bool {
        self.asked_at.is_none_or(|at| at + self.interval() <= now)
    }

    /// The time between the last request and the next.
    fn interval(&self) -> TimeDelta {
        match (self.fetched_at, self.failures) {
            (None, 1..) => (FIRST_RETRY * (1 << (self.failures - 1).min(5))).min(REFRESH_INTERVAL),
            _ => REFRESH_INTERVAL,
        }
    }

    /// Returns the key or the reason why there is none. If the last fetch failed, the provider may have published the key since.
    fn find(&self, id: &str, now: DateTime<Utc>) -> Result<Key, VerifyError> {
        match (self.key(id), self.asked_at) {
            (Some(key), _) => Ok(key.clone()),
            (None, asked_at) if self.fetched_at.is_some() && self.fetched_at == asked_at => Err(Flaw::Key.into()),
            (None, asked_at) => {
                let next = asked_at.map_or(now, |at| at + self.interval());
                Err(VerifyError::Unavailable { seconds: seconds_until(next, now) })
            }
        }
    }
}
