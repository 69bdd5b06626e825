//! The shortcut: claims what fan-out has just queued for companies with little to do, without walking through the lanes.
//!
//! The claimer examines the endpoints of a lane one after the other and locks each, so it comes late to an endpoint behind the ten thousand of
//! another company, and stands still where others hold theirs. The endpoints that are noted here are examined on the light track instead. The
//! claimer comes to them too: what is forgotten here is only claimed later.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::kernel::ids::SubscriptionId;
use crate::webhooks::Webhooks;
use crate::webhooks::delivery_state::Lane;
use crate::webhooks::engine::claim::{ClaimSummary, Visit};
use crate::webhooks::tracks::Track;
use crate::webhooks::worker::BATCH;
use crate::webhooks::worker::launcher::Launcher;
use crate::webhooks::worker::rounds::Rounds;
use crate::webhooks::worker::wake::Wake;

/// Maximum number of endpoints that are noted. Further ones are left to the claimer.
const MOST: usize = 200;
/// The wait before the endpoints are examined again for which there was no permit. It doubles each time that nothing can be claimed.
const NEXT_LOOK_DELAY: Duration = Duration::from_millis(5);
const LONGEST_DELAY: Duration = Duration::from_millis(80);

/// The endpoints for which first attempts wait, as far as they are noted.
#[derive(Debug, Default)]
pub struct Shortcut {
    noted: Mutex<Noted>,
    woken: Notify,
}

#[derive(Debug, Default)]
struct Noted {
    /// Those that may have capacity,
    ready: BTreeSet<SubscriptionId>,
    /// those that are being examined,
    examined: HashSet<SubscriptionId>,
    /// and those that have none until a delivery in flight has ended.
    crowded: HashSet<SubscriptionId>,
}

impl Shortcut {
    /// Notes endpoints for which deliveries were queued.
    pub fn queued(&self, endpoints: Vec<SubscriptionId>) {
        let mut noted = self.noted();
        let room = MOST.saturating_sub(noted.ready.len() + noted.examined.len() + noted.crowded.len());
        noted.ready.extend(endpoints.into_iter().take(room));
        self.wake(&noted);
    }

    /// Notes that deliveries to these endpoints have ended.
    pub fn ended(&self, endpoints: &[SubscriptionId]) {
        let mut noted = self.noted();
        for endpoint in endpoints {
            if noted.crowded.remove(endpoint) || noted.examined.contains(endpoint) {
                noted.ready.insert(*endpoint);
            }
        }
        self.wake(&noted);
    }

    fn wake(&self, noted: &Noted) {
        if !noted.ready.is_empty() {
            self.woken.notify_one();
        }
    }

    fn begin(&self) -> Vec<SubscriptionId> {
        let mut noted = self.noted();
        let endpoints = std::mem::take(&mut noted.ready);
        noted.examined = endpoints.iter().copied().collect();
        endpoints.into_iter().collect()
    }

    /// Notes what a claim from the examined endpoints learned, and returns whether they are to be examined again.
    fn learn(&self, summary: ClaimSummary) -> bool {
        let again = summary.more || summary.missed || summary.short;
        let mut noted = self.noted();
        let examined = std::mem::take(&mut noted.examined);
        let crowded: HashSet<_> = summary.crowded.into_iter().filter(|endpoint| !noted.ready.contains(endpoint)).collect();
        if again {
            noted.ready.extend(examined.into_iter().filter(|endpoint| !crowded.contains(endpoint)));
        }
        noted.crowded.extend(crowded);
        again
    }

    /// Nothing could be examined.
    fn put_back(&self) {
        let mut noted = self.noted();
        let examined = std::mem::take(&mut noted.examined);
        noted.ready.extend(examined);
    }

    /// Forgets the endpoints that wait for the end of a delivery. It may have been in flight in another instance.
    fn forget(&self) {
        self.noted().crowded.clear();
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Claims from the noted endpoints.
pub struct ShortcutClaimer {
    webhooks: Webhooks,
    wake: Arc<Wake>,
    launcher: Arc<Launcher>,
    /// When endpoints are examined again.
    again_at: Option<Instant>,
    delay: Duration,
    next_poll: Instant,
}

impl ShortcutClaimer {
    pub fn new(webhooks: Webhooks, wake: Arc<Wake>, launcher: Arc<Launcher>) -> Self {
        Self { webhooks, wake, launcher, again_at: None, delay: NEXT_LOOK_DELAY, next_poll: Instant::now() }
    }

    /// Looks again soon if `any` was claimed, and later each time if none was.
    fn look_again(&mut self, any: bool) {
        self.delay = if any { NEXT_LOOK_DELAY } else { (self.delay * 2).min(LONGEST_DELAY) };
        self.again_at = Some(Instant::now() + self.delay);
    }
}

impl Rounds for ShortcutClaimer {
    async fn round(&mut self) -> Result<bool, sqlx::Error> {
        let now = Instant::now();
        if now >= self.next_poll {
            self.wake.shortcut.forget();
            self.next_poll = now + self.webhooks.settings.poll_interval;
        }
        if self.again_at.is_some_and(|at| now < at) {
            return Ok(false);
        }
        self.again_at = None;
        let endpoints = self.wake.shortcut.begin();
        if endpoints.is_empty() {
            return Ok(false);
        }
        let permits = &self.webhooks.delivering.permits;
        let shares = permits.shares(self.webhooks.settings.endpoint_concurrency());
        let permits = permits.take_some(Lane::Fresh, BATCH);
        if permits.len() == 0 {
            self.wake.shortcut.put_back();
            self.look_again(false);
            return Ok(false);
        }
        let visit = Visit::These(&endpoints);
        let (summary, claimed) = self.webhooks.claim_from(Track::Light, Lane::Fresh, permits.len(), visit, &shares).await?;
        let any = !claimed.is_empty();
        self.launcher.send_all(claimed, permits);
        if self.wake.shortcut.learn(summary) {
            self.look_again(any);
        }
        Ok(false)
    }

    fn next_round(&self) -> Instant {
        self.again_at.unwrap_or(self.next_poll)
    }

    fn failed(&mut self) {}

    async fn woken(&mut self) {
        self.wake.shortcut.woken.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn endpoints(count: usize) -> Vec<SubscriptionId> {
        let mut endpoints: Vec<_> = (0..count).map(|_| SubscriptionId::new(DateTime::UNIX_EPOCH)).collect();
        endpoints.sort();
        endpoints
    }

    #[test]
    fn an_endpoint_without_capacity_is_examined_again_when_one_of_its_deliveries_has_ended() {
        let (shortcut, endpoints) = (Shortcut::default(), endpoints(3));
        shortcut.queued(endpoints.clone());
        assert_eq!(shortcut.begin(), endpoints);
        shortcut.ended(&endpoints[1..2]);
        assert!(!shortcut.learn(ClaimSummary { crowded: vec![endpoints[0]], ..ClaimSummary::default() }));
        assert_eq!(shortcut.begin(), [endpoints[1]], "it ended while it was examined");
        shortcut.learn(ClaimSummary::default());
        shortcut.ended(&endpoints);
        assert_eq!(shortcut.begin(), [endpoints[0]]);
    }

    #[test]
    fn endpoints_without_a_permit_are_examined_again_but_for_those_that_are_crowded() {
        let (shortcut, endpoints) = (Shortcut::default(), endpoints(2));
        shortcut.queued(endpoints.clone());
        shortcut.begin();
        shortcut.put_back();
        assert_eq!(shortcut.begin(), endpoints);
        assert!(shortcut.learn(ClaimSummary { short: true, crowded: vec![endpoints[0]], ..ClaimSummary::default() }));
        assert_eq!(shortcut.begin(), [endpoints[1]]);
    }

    #[test]
    fn no_more_are_noted_than_one_statement_examines() {
        let shortcut = Shortcut::default();
        shortcut.queued(endpoints(MOST + 1));
        assert_eq!(shortcut.begin().len(), MOST);
    }
}
