//! The recorder of a track: records finished attempts in batches, and refills the endpoints they were made to.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::time::{sleep, timeout_at};

use crate::kernel::database::is_unavailable;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::SubscriptionId;
use crate::kernel::lifecycle::Lifecycle;
use crate::webhooks::Webhooks;
use crate::webhooks::engine::record::{Gone, Recorded};
use crate::webhooks::engine::refill::{Cursors, Refill};
use crate::webhooks::permits::{InFlight, Permit};
use crate::webhooks::sending::Attempt;
use crate::webhooks::tracks::Track;
use crate::webhooks::worker::launcher::{Ended, Launcher};
use crate::webhooks::worker::wake::Wake;
use crate::webhooks::worker::{BATCH, RETRY_DELAY};

/// The batching window: how long a finished attempt waits for others in flight to be recorded with it. Most of the cost of the
/// statement does not depend on the batch size.
const BATCH_WINDOW: Duration = Duration::from_millis(5);
/// How often recording a batch is tried when the database refuses it. After that, each attempt is recorded individually. If an
/// individual attempt is refused too, its lease expires and the delivery is sent again.
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

    async fn record(&mut self, attempts: &[Attempt], permits: Vec<Permit>) {
        let mut ended = BTreeMap::<SubscriptionId, usize>::new();
        for attempt in attempts {
            *ended.entry(attempt.subscription).or_default() += 1;
        }
        let launcher = self.launcher.upgrade();
        let Recorded { gone, claimed, claimed_until } = self.record_surely(attempts, launcher.is_some()).await;
        for (endpoint, due_at) in claimed_until {
            self.cursors.advance(endpoint, due_at);
        }
        for delivery in &claimed {
            if let Some(left) = ended.get_mut(&delivery.subscription) {
                *left = left.saturating_sub(1);
            }
        }
        match launcher {
            Some(launcher) => launcher.send_all(claimed, permits.into_iter().map(Permit::for_first_attempt)),
            None => drop(permits),
        }
        self.wake.ended(ended.into_iter().filter(|(_, left)| *left > 0).map(|(endpoint, _)| endpoint).collect());
        if attempts.iter().any(|attempt| attempt.in_order) {
            self.wake.ended_in_order();
        }
        if !gone.is_empty() {
            let webhooks = self.webhooks.clone();
            self.lifecycle.spawn(async move { webhooks.disable_gone(gone).await });
        }
    }

    /// Records a batch, and if the database goes on to refuse it, each attempt individually. Endpoints are refilled by the first try
    /// alone: what waits may be another after an outage.
    async fn record_surely(&mut self, attempts: &[Attempt], mut refills: bool) -> Recorded {
        let mut refused = 0;
        loop {
            let refill = || {
                if !refills || self.lifecycle.stopping().is_cancelled() {
                    return Refill::default();
                }
                let permits = &self.webhooks.delivering.permits;
                let within_their_shares = attempts.iter().filter(|attempt| permits.may_keep(attempt.company));
                let endpoints = self.wake.refillable(within_their_shares.map(|attempt| attempt.subscription));
                let in_flight = permits.shares(self.webhooks.settings.endpoint_concurrency()).endpoint;
                self.cursors.refill(endpoints, in_flight, Instant::now())
            };
            let error = match self.webhooks.record_batch(self.track, attempts, refill).await {
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

    /// Records attempts individually after the batch failed repeatedly, so that one bad attempt does not prevent the others from
    /// being recorded.
    async fn record_one_by_one(&self, attempts: &[Attempt]) -> Vec<Gone> {
        let mut gone = Vec::new();
        for attempt in attempts {
            match self.webhooks.record_batch(self.track, std::slice::from_ref(attempt), Refill::default).await {
                Ok(recorded) => gone.extend(recorded.gone),
                Err(error) => {
                    tracing::error!(delivery = %attempt.delivery, error = chain(&error), "an attempt could not be recorded; it is repeated");
                }
            }
        }
        gone
    }
}
