//! The recorder of a track: records finished attempts in batches, and refills the endpoints they were made to.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::time::{sleep, timeout_at};

use crate::kernel::database::{is_unavailable, took_too_long};
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{CompanyId, SubscriptionId};
use crate::kernel::lifecycle::Lifecycle;
use crate::webhooks::Webhooks;
use crate::webhooks::engine::record::{Gone, Recorded};
use crate::webhooks::engine::refill::{Cursors, Refill, Room};
use crate::webhooks::permits::{InFlight, Permit};
use crate::webhooks::sending::Attempt;
use crate::webhooks::tracks::Track;
use crate::webhooks::worker::ahead::{self, Permitted};
use crate::webhooks::worker::launcher::{Ended, Launcher};
use crate::webhooks::worker::wake::Wake;
use crate::webhooks::worker::{BATCH, RETRY_DELAY};

/// The batching window: how long a finished attempt waits for others in flight to be recorded with it. Most of the cost of the
/// statement does not depend on the batch size.
const BATCH_WINDOW: Duration = Duration::from_millis(5);
/// How often recording a batch is tried when the database refuses it. After that, each attempt is recorded individually. If an
/// individual attempt is refused too, its lease expires and the delivery is sent again. What takes too long is not refused.
const MAX_RECORDING_ATTEMPTS: u32 = 3;

pub struct Recorder {
    track: Track,
    webhooks: Webhooks,
    lifecycle: Lifecycle,
    wake: Arc<Wake>,
    in_flight: InFlight,
    /// Ends with the tasks that fan out and claim, and with it refilling.
    launcher: Weak<Launcher>,
    cursors: Cursors,
}

impl Recorder {
    pub fn new(
        track: Track,
        webhooks: Webhooks,
        lifecycle: Lifecycle,
        wake: Arc<Wake>,
        in_flight: InFlight,
        launcher: Weak<Launcher>,
    ) -> Self {
        Self { track, webhooks, lifecycle, wake, in_flight, launcher, cursors: Cursors::new(Instant::now()) }
    }

    /// Records finished attempts until the channel is closed.
    pub async fn run(mut self, mut results: mpsc::Receiver<Ended>) {
        let mut ended = Vec::with_capacity(BATCH);
        while results.recv_many(&mut ended, BATCH).await > 0 {
            self.fill_batch(&mut ended, &mut results).await;
            let (attempts, permits): (Vec<_>, Vec<_>) = ended.drain(..).map(|(attempt, flight)| (attempt, flight.into_permit())).unzip();
            self.record(&attempts, permits).await;
        }
    }

    /// Collects finished attempts until the batch is full, at least as many as are still in flight, or [`BATCH_WINDOW`] has passed.
    async fn fill_batch(&self, ended: &mut Vec<Ended>, results: &mut mpsc::Receiver<Ended>) {
        let until = Instant::now() + BATCH_WINDOW;
        while ended.len() < BATCH && ended.len() < self.in_flight.count() {
            let capacity = BATCH - ended.len();
            match timeout_at(until.into(), results.recv_many(ended, capacity)).await {
                Ok(more) if more > 0 => {}
                _ => break,
            }
        }
    }

    async fn record(&mut self, attempts: &[Attempt], mut permits: Vec<Permit>) {
        let endpoints = ended_by_endpoint(attempts, self.webhooks.settings.quick_attempt);
        let launcher = self.launcher.upgrade();
        let recorded = self.record_surely(attempts, &endpoints, &mut permits, launcher.is_some()).await;
        for (endpoint, due_at) in recorded.claimed_until {
            self.cursors.advance(endpoint, due_at);
        }
        let mut claimed = BTreeMap::<SubscriptionId, Vec<Permitted>>::new();
        for (delivery, permit) in recorded.claimed.into_iter().zip(permits) {
            let permit = permit.for_first_attempt().held_by(delivery.company);
            claimed.entry(delivery.subscription).or_default().push((delivery, permit));
        }
        let mut with_room = Vec::new();
        for (endpoint, ended) in endpoints {
            let claimed = claimed.remove(&endpoint).unwrap_or_default();
            if claimed.len() < ended.attempts {
                with_room.push(endpoint);
            }
            if let Some(launcher) = &launcher {
                launcher.send_in_place_of(endpoint, ended.attempts, claimed);
            }
        }
        self.wake.ended(with_room);
        if attempts.iter().any(|attempt| attempt.in_order) {
            self.wake.ended_in_order();
        }
        if !recorded.gone.is_empty() {
            let webhooks = self.webhooks.clone();
            self.lifecycle.spawn(async move { webhooks.disable_gone(recorded.gone).await });
        }
    }

    /// Records a batch, and if the database goes on to refuse it, each attempt individually. Endpoints are refilled by the first try
    /// alone: what waits may be another after an outage. `permits` are those for what is claimed.
    async fn record_surely(
        &mut self,
        attempts: &[Attempt],
        ended: &BTreeMap<SubscriptionId, EndedAt>,
        permits: &mut Vec<Permit>,
        mut refills: bool,
    ) -> Recorded {
        let (webhooks, track, mut refused) = (self.webhooks.clone(), self.track, 0);
        loop {
            let refill = || match refills && !self.lifecycle.stopping().is_cancelled() {
                true => self.refill(ended, permits),
                false => Refill::default(),
            };
            let error = match webhooks.record_batch(track, attempts, refill).await {
                Ok(recorded) => return recorded,
                Err(error) => error,
            };
            refills = false;
            tracing::warn!(error = chain(&error), "attempts could not be recorded");
            refused += u32::from(!is_unavailable(&error));
            if refused == MAX_RECORDING_ATTEMPTS || self.lifecycle.stopping().is_cancelled() {
                return Recorded { gone: self.record_one_by_one(attempts).await, ..Recorded::default() };
            }
            sleep(RETRY_DELAY).await;
        }
    }

    /// The refill of those endpoints that can be, within the shares of their companies. An endpoint goes on with as many deliveries as it has in
    /// flight unless that is more than twice its share: shares change with every batch, and what is left to the claimer waits for another
    /// statement. Whoever is quick gets as many deliveries again ahead, for which permits are added.
    fn refill(&mut self, ended: &BTreeMap<SubscriptionId, EndedAt>, permits: &mut Vec<Permit>) -> Refill {
        let all = &self.webhooks.delivering.permits;
        let most = self.webhooks.settings.endpoint_concurrency();
        let share = all.shares(most).endpoint;
        let within_their_shares = ended.iter().filter(|(_, ended)| all.may_keep(ended.company)).map(|(endpoint, _)| *endpoint);
        let rooms = self.wake.refillable(within_their_shares).into_iter().map(|endpoint| {
            let EndedAt { attempts, quick, .. } = ended[&endpoint];
            let ahead = all.take_ahead(if quick && share == most { attempts } else { 0 });
            let in_flight = match ahead.len() {
                0 => share.saturating_mul(2).min(most),
                _ => most.saturating_mul(ahead::TIMES),
            };
            let room = Room { most: attempts + ahead.len(), in_flight };
            permits.extend(ahead);
            (endpoint, room)
        });
        self.cursors.refill(rooms, Instant::now())
    }

    /// Records attempts individually after the batch failed repeatedly, so that one bad attempt does not prevent the others from
    /// being recorded.
    async fn record_one_by_one(&self, attempts: &[Attempt]) -> Vec<Gone> {
        let (mut gone, mut left) = (Vec::new(), VecDeque::from_iter(attempts));
        while let Some(attempt) = left.pop_front() {
            match self.webhooks.record_batch(self.track, std::slice::from_ref(attempt), Refill::default).await {
                Ok(recorded) => gone.extend(recorded.gone),
                // Somebody else has its endpoint locked: the others first.
                Err(error) if took_too_long(&error) && !self.lifecycle.stopping().is_cancelled() => left.push_back(attempt),
                Err(error) => {
                    tracing::error!(delivery = %attempt.delivery, error = chain(&error), "an attempt could not be recorded; it is repeated");
                }
            }
        }
        gone
    }
}

/// Attempts to one endpoint that end in one batch.
#[derive(Clone, Copy, Debug)]
struct EndedAt {
    company: CompanyId,
    attempts: usize,
    /// Whether all of them were quick, and none has to be followed by one certain other.
    quick: bool,
}

fn ended_by_endpoint(attempts: &[Attempt], quick: Duration) -> BTreeMap<SubscriptionId, EndedAt> {
    let mut endpoints = BTreeMap::new();
    for attempt in attempts {
        let ended = endpoints.entry(attempt.subscription).or_insert(EndedAt { company: attempt.company, attempts: 0, quick: true });
        ended.attempts += 1;
        ended.quick &= attempt.took <= quick && !attempt.in_order;
    }
    endpoints
}
