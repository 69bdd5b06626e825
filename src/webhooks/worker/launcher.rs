//! The launcher: starts the attempts of claimed deliveries, each as a task of its own, so a slow endpoint does not delay others.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::kernel::error_chain::chain;
use crate::kernel::ids::{DeliveryId, SubscriptionId};
use crate::kernel::lifecycle::Lifecycle;
use crate::webhooks::delivery_state::Verdict;
use crate::webhooks::launching::Launch;
use crate::webhooks::permits::{Flight, InFlight, Permit, Taken};
use crate::webhooks::sending::Attempt;
use crate::webhooks::tracks::Track;
use crate::webhooks::worker::RETRY_DELAY;
use crate::webhooks::worker::ahead::{self, Ahead, Permitted};
use crate::webhooks::worker::heavy::Heavy;
use crate::webhooks::worker::wake::Wake;
use crate::webhooks::{Claimed, Webhooks};

/// The pauses before each look for deliveries that may have been claimed, in seconds: a minute in all, which is how long a lease lasts.
const LOOKS: [u64; 6] = [1, 2, 4, 8, 16, 29];

/// A finished attempt, with the permit it holds until it is recorded.
pub type Ended = (Attempt, Flight);

pub struct Launcher {
    webhooks: Webhooks,
    lifecycle: Lifecycle,
    wake: Arc<Wake>,
    heavy: Arc<Heavy>,
    recorders: HashMap<Track, ToRecorder>,
    ahead: Ahead,
}

/// The way to a recorder.
#[derive(Debug)]
pub struct ToRecorder {
    /// The attempts that end there.
    pub in_flight: InFlight,
    pub ended: mpsc::Sender<Ended>,
}

impl Launcher {
    /// A launcher whose attempts are passed to the recorder of their track when they have ended.
    pub fn new(
        webhooks: Webhooks,
        lifecycle: Lifecycle,
        wake: Arc<Wake>,
        heavy: Arc<Heavy>,
        recorders: HashMap<Track, ToRecorder>,
    ) -> Self {
        Self { webhooks, lifecycle, wake, heavy, recorders, ahead: Ahead::default() }
    }

    /// Sends claimed deliveries. There is a permit for each; unused permits are released.
    pub fn send_all(self: &Arc<Self>, claimed: Vec<Claimed>, permits: impl IntoIterator<Item = Permit>) {
        for (claimed, permit) in claimed.into_iter().zip(permits) {
            let permit = permit.held_by(claimed.company);
            self.send((claimed, permit));
        }
    }

    /// Sends those deliveries that are claimed in place of `ended` attempts to the endpoint, now that these are recorded. What has no place
    /// yet stands in line.
    pub fn send_in_place_of(self: &Arc<Self>, endpoint: SubscriptionId, ended: usize, claimed: Vec<Permitted>) {
        for permitted in self.ahead.recorded(endpoint, ended, claimed, Instant::now()) {
            self.send(permitted);
        }
        if self.lifecycle.stopping().is_cancelled() {
            self.send_all_back();
        }
    }

    fn send(self: &Arc<Self>, permitted: Permitted) {
        let launcher = Arc::clone(self);
        self.lifecycle.spawn(async move {
            let mut next = Some(permitted);
            while let Some((claimed, permit)) = next {
                next = launcher.attempt(claimed, permit).await;
            }
        });
    }

    /// Makes an attempt, and returns the delivery that follows in its place.
    async fn attempt(self: &Arc<Self>, claimed: Claimed, permit: Permit) -> Option<Permitted> {
        let in_flight = self.webhooks.delivering.permits.in_flight(claimed.company);
        let recorder = &self.recorders[&self.heavy.track_of(claimed.company, in_flight)];
        let (endpoint, flight) = (claimed.subscription, recorder.in_flight.begin(permit));
        let attempt = self.webhooks.send(claimed).await;
        let next = match attempt.outcome.verdict(attempt.ended_at) {
            Verdict::Acknowledged => self.ahead.ended(endpoint),
            Verdict::Gone | Verdict::Failed { .. } => {
                self.send_back(self.ahead.failed(endpoint));
                None
            }
        };
        // The channel is closed when the recorder has given up on the database; the lease then expires.
        let _ = recorder.ended.send((attempt, flight)).await;
        next
    }

    /// Returns to the queue what stands in line for long, until the program ends, and then everything.
    pub async fn keep_lines_short(self: Arc<Self>) {
        let stopping = self.lifecycle.stopping().clone();
        while stopping.run_until_cancelled(sleep(ahead::LONGEST_WAIT / 2)).await.is_some() {
            self.send_back(self.ahead.leave_after(ahead::LONGEST_WAIT, Instant::now()));
        }
        self.send_all_back();
    }

    fn send_all_back(self: &Arc<Self>) {
        self.send_back(self.ahead.leave_after(Duration::ZERO, Instant::now()));
    }

    fn send_back(self: &Arc<Self>, deliveries: Vec<Permitted>) {
        if deliveries.is_empty() {
            return;
        }
        let launcher = Arc::clone(self);
        self.lifecycle.spawn(async move {
            let ids: Vec<_> = deliveries.iter().map(|(claimed, _)| claimed.delivery).collect();
            launcher.return_to_queue(&ids, launcher.webhooks.clock.now()).await;
            drop(deliveries);
            launcher.wake.queued(Vec::new());
        });
    }

    /// Gives deliveries back that were claimed until `claimed_by`, and tries again while the database does not answer and the program does not end.
    /// Otherwise their leases expire. Returns whether any was given back.
    async fn return_to_queue(&self, deliveries: &[DeliveryId], claimed_by: DateTime<Utc>) -> bool {
        loop {
            let error = match self.webhooks.give_back(deliveries, claimed_by).await {
                Ok(any) => return any,
                Err(error) => error,
            };
            tracing::warn!(error = chain(&error), "deliveries that were not sent could not be returned to the queue");
            if self.lifecycle.stopping().is_cancelled() {
                return false;
            }
            sleep(RETRY_DELAY).await;
        }
    }
}

impl Launch for Launcher {
    fn launch(self: Arc<Self>, claimed: Vec<Claimed>, permits: Taken) {
        self.send_all(claimed, permits);
    }

    /// The transaction that claims them may be about to commit, or wait long for a disk or a standby, so they are looked for until they are found or a
    /// lease would have ended.
    fn give_back(self: Arc<Self>, deliveries: Vec<DeliveryId>) {
        let (launcher, claimed_by) = (Arc::clone(&self), self.webhooks.clock.now());
        self.lifecycle.spawn(async move {
            let stopping = launcher.lifecycle.stopping();
            for seconds in LOOKS {
                let is_stopping = stopping.run_until_cancelled(sleep(Duration::from_secs(seconds))).await.is_none();
                // All of them are there, or none.
                if launcher.return_to_queue(&deliveries, claimed_by).await || is_stopping {
                    break;
                }
            }
            launcher.wake.queued(Vec::new());
        });
    }
}
