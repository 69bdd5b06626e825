//! Rounds: fan out, claim, and hand over to be sent, whenever there may be something to do.
//!
//! A lane is *open* while something may be waiting in it that could go as soon as there is room. Fan-out opens lanes; a claim that finds
//! nothing left closes its lane; the clock opens all of them, because retries become due without anybody saying so. The open lanes take
//! turns, so none of them starves another.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until};

use crate::kernel::ids::SubscriptionId;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::telemetry::chain;
use crate::webhooks::claim::{Claimed, Lane, beginning};
use crate::webhooks::permits::{InFlight, Permit, Permits};
use crate::webhooks::worker::{BATCH, Ended, PAUSE};
use crate::webhooks::{Webhooks, fan_out};

/// After the last notification, the outbox is looked at once more when this has passed: whoever committed at the same moment was silent.
const ECHO: Duration = Duration::from_millis(5);

/// Before the endpoints behind those that one claim has looked at, when every one of those was held back.
const BEFORE_LOOKING_ON: TimeDelta = TimeDelta::milliseconds(50);

/// What wakes the rounds.
#[derive(Debug, Default)]
pub(super) struct Wake {
    published: AtomicBool,
    notify: Notify,
}

impl Wake {
    /// Events were committed.
    pub(super) fn published(&self) {
        self.published.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    /// Deliveries have ended, so there is room for others.
    pub(super) fn ended(&self) {
        self.notify.notify_one();
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
    open: [bool; Lane::ALL.len()],
    /// The lane that is claimed from first, and the endpoint behind which each claim begins.
    turn: usize,
    after: [SubscriptionId; Lane::ALL.len()],
    next_poll: Instant,
    /// A further look at the outbox.
    echo: Option<Instant>,
    resumes_at: Option<DateTime<Utc>>,
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
            open: [false; Lane::ALL.len()],
            turn: 0,
            after: [beginning(); Lane::ALL.len()],
            next_poll: Instant::now(),
            echo: None,
            resumes_at: None,
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
            self.webhooks.reclaim().await?;
            self.webhooks.work_off_replay().await?;
            self.open = [true; Lane::ALL.len()];
            self.next_poll = now + self.webhooks.settings.poll_interval;
        }
        let mut busy = false;
        if self.is_published(now) || polls {
            busy |= self.fan_out().await?;
        }
        self.resumes_at = None;
        self.turn = (self.turn + 1) % Lane::ALL.len();
        for place in 0..Lane::ALL.len() {
            let lane = (self.turn + place) % Lane::ALL.len();
            if self.open[lane] {
                busy |= self.claim(lane).await?;
            }
        }
        Ok(busy)
    }

    fn is_published(&mut self, now: Instant) -> bool {
        if self.wake.published.swap(false, Ordering::Acquire) {
            self.echo = Some(now + ECHO);
            return true;
        }
        self.echo.take_if(|echo| *echo <= now).is_some()
    }

    async fn fan_out(&mut self) -> Result<bool, sqlx::Error> {
        let fanned_out = self.webhooks.fan_out_batch(self.events).await?;
        if fanned_out.deliveries > 0 {
            self.open[Lane::Fresh as usize] = true;
            self.open[Lane::InOrder as usize] |= fanned_out.in_order;
        }
        let more = fanned_out.events == i64::from(self.events);
        if more {
            self.wake.published.store(true, Ordering::Release);
        }
        self.events = fanned_out.next_batch();
        Ok(more)
    }

    async fn claim(&mut self, lane: usize) -> Result<bool, sqlx::Error> {
        let mut permits = self.permits.take(Lane::ALL[lane], BATCH);
        if permits.is_empty() {
            return Ok(false);
        }
        let claims = self.webhooks.claim_from(Lane::ALL[lane], permits.len(), self.after[lane]).await?;
        self.open[lane] = claims.more || claims.missed || claims.unseen;
        self.after[lane] = claims.last;
        let all_blocked = claims.unseen && claims.deliveries.is_empty();
        let look_on = all_blocked.then(|| self.webhooks.clock.now() + BEFORE_LOOKING_ON);
        self.resumes_at = self.resumes_at.into_iter().chain(claims.resumes_at).chain(look_on).min();
        let busy = claims.missed || claims.deliveries.len() == permits.len() || (claims.unseen && !all_blocked);
        for claimed in claims.deliveries {
            let permit = permits.pop().expect("no more is claimed than there are permits");
            self.send(claimed, permit);
        }
        Ok(busy)
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
        let resumes = self.resumes_at.map(|at| {
            let wait = (at - self.webhooks.clock.now()).to_std().unwrap_or_default();
            Instant::now() + wait.max(Duration::from_millis(1))
        });
        self.echo.into_iter().chain(resumes).fold(self.next_poll, Instant::min)
    }
}
