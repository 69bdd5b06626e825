//! Rounds: fan out, claim, and hand over to be sent, whenever there may be something to do.
//!
//! What an endpoint can take at once flies with its fan-out; the rest waits in lanes, which are claimed from while they are open. The open
//! lanes take turns, so none of them starves another.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until};

use crate::kernel::ids::SubscriptionId;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::telemetry::chain;
use crate::webhooks::claim::{Claimed, Lane};
use crate::webhooks::lanes::LaneState;
use crate::webhooks::permits::{InFlight, Permit, Permits};
use crate::webhooks::sending::Attempt;
use crate::webhooks::worker::{BATCH, Ended, PAUSE};
use crate::webhooks::{Webhooks, fan_out};

/// After the last notification, the outbox is looked at once more when this has passed: whoever committed at the same moment was silent.
const ECHO: Duration = Duration::from_millis(5);

/// When the database has been away, leases that ran out meanwhile are left alone for so long: whoever holds one, here or elsewhere, may know
/// what came of it and is about to write that down.
const WRITING_DOWN: Duration = Duration::from_secs(5);

/// Events that one fan-out took make a crowd from this many on, and the next of a crowd come together: each fan-out is so long after the last
/// one, and longer the larger the crowd was, up to so many times as long.
const CROWD: i64 = 4;
const GATHERING: Duration = Duration::from_millis(2);
const LONGEST_GATHERING: i64 = 4;

/// How long the next events gather, after so many.
fn gathering_after(events: i64) -> Option<Duration> {
    let crowds = u32::try_from((events / CROWD).min(LONGEST_GATHERING)).unwrap_or_default();
    (crowds > 0).then(|| GATHERING * crowds)
}

/// What wakes the rounds.
#[derive(Debug, Default)]
pub(super) struct Wake {
    published: AtomicBool,
    /// A notification told of them: others, committed at the same moment, may be silent.
    notified: AtomicBool,
    /// The endpoints whose deliveries have ended since they were last asked for.
    ended: Mutex<HashSet<SubscriptionId>>,
    /// Of those, some in order: the next one after each may go.
    ended_in_order: AtomicBool,
    notify: Notify,
}

impl Wake {
    /// Events were committed.
    pub(super) fn published(&self) {
        self.published.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    /// A notification says that events were committed.
    pub(super) fn notified(&self) {
        self.notified.store(true, Ordering::Release);
        self.published();
    }

    /// These have ended and are written down, so there is room for others.
    pub(super) fn ended(&self, attempts: &[Attempt]) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).extend(attempts.iter().map(|attempt| attempt.subscription));
        self.ended_in_order.fetch_or(attempts.iter().any(|attempt| attempt.in_order), Ordering::Release);
        self.notify.notify_one();
    }

    fn take_ended(&self) -> HashSet<SubscriptionId> {
        std::mem::take(&mut *self.ended.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

pub(super) struct Rounds {
    webhooks: Webhooks,
    lifecycle: Lifecycle,
    wake: Arc<Wake>,
    permits: Permits,
    in_flight: InFlight,
    ended: mpsc::Sender<Ended>,
    /// Events that are fanned out at once.
    events: u16,
    lanes: [LaneState; Lane::ALL.len()],
    /// The lane that is claimed from first.
    turn: usize,
    next_poll: Instant,
    /// From when on leases that have run out are taken back.
    reclaims_from: Instant,
    /// A further look at the outbox.
    echo: Option<Instant>,
    /// Until when events gather in the outbox.
    gathering: Option<Instant>,
}

impl Rounds {
    pub(super) fn new(webhooks: Webhooks, lifecycle: Lifecycle, wake: Arc<Wake>, in_flight: InFlight, ended: mpsc::Sender<Ended>) -> Self {
        Self {
            permits: Permits::new(webhooks.settings.concurrency()),
            webhooks,
            lifecycle,
            wake,
            in_flight,
            ended,
            events: fan_out::FIRST_BATCH,
            lanes: Lane::ALL.map(|_| LaneState::new()),
            turn: 0,
            next_poll: Instant::now(),
            reclaims_from: Instant::now(),
            echo: None,
            gathering: None,
        }
    }

    pub(super) async fn run(mut self) {
        while !self.lifecycle.stopping().is_cancelled() {
            let wait_until = match self.round().await {
                Ok(true) => continue,
                Ok(false) => self.next_look(),
                Err(error) => {
                    tracing::warn!(error = chain(&error), "webhooks wait for the database");
                    // Whatever was not done stays to be done.
                    self.next_poll = Instant::now();
                    self.reclaims_from = Instant::now() + WRITING_DOWN;
                    Instant::now() + PAUSE
                }
            };
            tokio::select! {
                () = self.lifecycle.stopping().cancelled() => {}
                () = self.wake.notify.notified() => {}
                () = sleep_until(wait_until) => {}
            }
        }
    }

    /// Whether there may be more to do at once.
    async fn round(&mut self) -> Result<bool, sqlx::Error> {
        let now = Instant::now();
        let polls = now >= self.next_poll;
        if polls {
            if now >= self.reclaims_from {
                self.webhooks.reclaim().await?;
            }
            self.lanes.iter_mut().for_each(LaneState::open);
            self.next_poll = now + self.webhooks.settings.poll_interval;
        }
        let mut busy = false;
        if self.is_published(now) || polls {
            busy |= self.fan_out().await?;
        }
        let ended = self.wake.take_ended();
        self.lanes.iter_mut().for_each(|lane| lane.note_ended(&ended));
        if self.wake.ended_in_order.swap(false, Ordering::Acquire) {
            self.fresh().open();
        }
        self.turn = (self.turn + 1) % Lane::ALL.len();
        for place in 0..Lane::ALL.len() {
            let lane = (self.turn + place) % Lane::ALL.len();
            if self.lanes[lane].is_open(self.webhooks.clock.now()) {
                busy |= self.claim(lane).await?;
            }
        }
        Ok(busy)
    }

    fn is_published(&mut self, now: Instant) -> bool {
        if self.gathering.is_some_and(|until| now < until) {
            return false;
        }
        let gathered = self.gathering.take().is_some();
        if self.wake.published.swap(false, Ordering::Acquire) {
            if self.wake.notified.swap(false, Ordering::Acquire) {
                self.echo = Some(now + ECHO);
            }
            return true;
        }
        self.echo.take_if(|echo| *echo <= now).is_some() || gathered
    }

    async fn fan_out(&mut self) -> Result<bool, sqlx::Error> {
        let permits = self.permits.take(Lane::Fresh, BATCH);
        let (fanned_out, claimed) = self.webhooks.fan_out_and_fly(self.events, permits.len()).await?;
        if fanned_out.queued {
            self.fresh().open();
        }
        let more = fanned_out.events == i64::from(self.events);
        if more {
            self.wake.published.store(true, Ordering::Release);
        }
        self.gathering = gathering_after(fanned_out.events).filter(|_| !more).map(|time| Instant::now() + time);
        self.events = fanned_out.next_batch();
        self.send_all(claimed, permits);
        Ok(more)
    }

    async fn claim(&mut self, lane: usize) -> Result<bool, sqlx::Error> {
        let permits = self.permits.take(Lane::ALL[lane], BATCH);
        if permits.is_empty() {
            return Ok(false);
        }
        let (found, claimed) = self.webhooks.claim_from(Lane::ALL[lane], permits.len(), self.lanes[lane].after).await?;
        let busy = self.lanes[lane].learn(found, claimed.len(), self.webhooks.clock.now());
        self.send_all(claimed, permits);
        Ok(busy)
    }

    fn fresh(&mut self) -> &mut LaneState {
        let place = Lane::ALL.iter().position(|lane| *lane == Lane::Fresh).expect("it is one of them");
        &mut self.lanes[place]
    }

    /// Sends what was claimed; there is a permit for each, and those that are left are free again.
    fn send_all(&self, claimed: Vec<Claimed>, permits: Vec<Permit>) {
        for (claimed, permit) in claimed.into_iter().zip(permits) {
            self.send(claimed, permit);
        }
    }

    fn send(&self, claimed: Claimed, permit: Permit) {
        let (webhooks, ended, flight) = (self.webhooks.clone(), self.ended.clone(), self.in_flight.begin(permit));
        self.lifecycle.spawn(async move {
            let attempt = webhooks.send(claimed).await;
            // A recorder that is gone has given up on the database; then the lease runs out.
            let _ = ended.send((attempt, flight)).await;
        });
    }

    /// When to look again if nobody calls.
    fn next_look(&self) -> Instant {
        let resumes = self.lanes.iter().filter_map(LaneState::resumes_at).min().map(|at| {
            let wait = (at - self.webhooks.clock.now()).to_std().unwrap_or_default();
            Instant::now() + wait.max(Duration::from_millis(1))
        });
        self.gathering.or(self.echo).into_iter().chain(resumes).fold(self.next_poll, Instant::min)
    }
}
