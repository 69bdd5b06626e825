//! The keys a provider publishes, kept.
//!
//! They are fetched when the first token needs one, again when they are an hour old, and again when a token names a key that is not among
//! them. However many tokens ask, the provider is asked by one of them at a time and at most once a minute, and while it does not answer
//! the keys we have stay good: only the first token of an outage waits to find that out, the others are served from what is kept while the
//! provider is asked beside them. A fetch belongs to nobody: a caller who leaves does not take it along.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use reqwest::Client;
use tokio::sync::{OwnedMutexGuard, oneshot};
use url::Url;

use crate::kernel::clock::{Clock, seconds_until};
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::telemetry::chain;
use crate::providers::identity::keys::{Key, read_keys};
use crate::providers::identity::outgoing::{NoAnswer, ask};
use crate::providers::identity::{Flaw, VerifyError};

/// Older keys are asked for again, so that one the provider has withdrawn stops working.
const FRESH_FOR: TimeDelta = TimeDelta::hours(1);
/// The provider is not asked twice within this time.
const ASKED_EVERY: TimeDelta = TimeDelta::minutes(1);

/// The keys at one address.
#[derive(Clone, Debug)]
pub(super) struct Jwks {
    url: Url,
    client: Client,
    clock: Clock,
    lifecycle: Lifecycle,
    kept: Arc<Mutex<Kept>>,
    /// Held by whoever asks the provider.
    flight: Arc<tokio::sync::Mutex<()>>,
}

/// What is known, and since when.
#[derive(Clone, Debug, Default)]
struct Kept {
    keys: Vec<Key>,
    /// When the question was asked whose answer the keys are.
    fetched_at: Option<DateTime<Utc>>,
    asked_at: Option<DateTime<Utc>>,
}

impl Jwks {
    pub(super) fn new(url: Url, client: Client, clock: Clock, lifecycle: Lifecycle) -> Self {
        Self { url, client, clock, lifecycle, kept: Arc::default(), flight: Arc::default() }
    }

    /// The key with this id.
    pub(super) async fn find(&self, id: &str) -> Result<Key, VerifyError> {
        let now = self.clock.now();
        let (key, is_fresh, is_unanswered) = {
            let kept = self.kept();
            (kept.key(id).cloned(), kept.is_fresh(now), kept.is_unanswered())
        };
        match key {
            Some(key) if is_fresh => Ok(key),
            Some(key) if is_unanswered => {
                if let Ok(flight) = self.flight.clone().try_lock_owned() {
                    self.ask(flight);
                }
                Ok(key)
            }
            _ => {
                self.refresh().await;
                self.kept().find(id, self.clock.now())
            }
        }
    }

    /// Asks the provider, or waits for the one who does; nothing happens when it was asked a moment ago.
    async fn refresh(&self) {
        let flight = self.flight.clone().lock_owned().await;
        if let Some(landing) = self.ask(flight) {
            // Either it has landed, or it broke off; what is kept tells which.
            landing.await.ok();
        }
    }

    /// Has the provider asked in the background, unless it was asked a moment ago; gives what tells that it has answered.
    fn ask(&self, flight: OwnedMutexGuard<()>) -> Option<oneshot::Receiver<()>> {
        let now = self.clock.now();
        if !self.kept().is_due(now) {
            return None;
        }
        self.kept().asked_at = Some(now);
        let (landed, landing) = oneshot::channel();
        let this = self.clone();
        self.lifecycle.spawn(async move {
            match this.fetch().await {
                Ok(keys) => *this.kept() = Kept { keys, fetched_at: Some(now), asked_at: Some(now) },
                Err(error) => tracing::warn!(url = %this.url, error = chain(&error), "an identity provider's keys could not be fetched"),
            }
            drop(flight);
            landed.send(()).ok();
        });
        Some(landing)
    }

    /// How many of the keys that are published now can be used.
    pub(super) async fn count(&self) -> Result<usize, NoAnswer> {
        Ok(self.fetch().await?.len())
    }

    async fn fetch(&self) -> Result<Vec<Key>, NoAnswer> {
        let document = ask(self.client.get(self.url.clone())).await?.success()?;
        read_keys(&document).ok_or(NoAnswer::NotUnderstood)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn key(&self, id: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.id() == id)
    }

    fn is_fresh(&self, now: DateTime<Utc>) -> bool {
        self.fetched_at.is_some_and(|at| now < at + FRESH_FOR)
    }

    /// Whether the last question has no answer, or none yet.
    fn is_unanswered(&self) -> bool {
        self.asked_at > self.fetched_at
    }

    fn is_due(&self, now: DateTime<Utc>) -> bool {
        self.asked_at.is_none_or(|at| at + ASKED_EVERY <= now)
    }

    /// The key, or why there is none: a provider that did not answer the last time may have published it since.
    fn find(&self, id: &str, now: DateTime<Utc>) -> Result<Key, VerifyError> {
        match (self.key(id), self.asked_at) {
            (Some(key), _) => Ok(key.clone()),
            (None, asked_at) if self.fetched_at.is_some() && self.fetched_at == asked_at => Err(Flaw::Key.into()),
            (None, asked_at) => {
                let next = asked_at.map_or(now, |at| at + ASKED_EVERY);
                Err(VerifyError::Unavailable { seconds: seconds_until(next, now) })
            }
        }
    }
}
