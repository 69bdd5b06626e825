//! The dispatcher: it fans out, claims, and hands over deliveries to be sent, whenever there may be work.
//!
//! Fan-out sends at once what an endpoint can take immediately. All other deliveries wait in lanes, which it claims from
//! while they are open. Open lanes take turns, so no lane starves another.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::{Instant, sleep_until};

use crate::kernel::error_chain::chain;
use crate::kernel::ids::CompanyId;
use crate::kernel::lifecycle::Lifecycle;
use crate::webhooks::Webhooks;
use crate::webhooks::delivery_state::Lane;
use crate::webhooks::permits::{Permits, Shares};
use crate::webhooks::progress::Mark;
use crate::webhooks::worker::lanes::{self, LaneState};
use crate::webhooks::worker::launcher::Launcher;
use crate::webhooks::worker::wake::{Wake, lock};
use crate::webhooks::worker::{BATCH, RETRY_DELAY};

/// The delay after the last notification before the outbox is checked once more. Only one transaction at a time notifies, so one
/// that committed at the same moment sent no notification.
const RECHECK_DELAY: Duration = Duration::from_millis(5);

/// How long expired leases are left alone after a database outage. Their holders, in this instance or another, may have results
/// that they are about to record.
const RECLAIM_DELAY: Duration = Duration::from_secs(5);

/// A fan-out that took at least this many events delays the next one, so that more events gather in the outbox. The delay is one
/// `BATCHING_DELAY` per `CROWD` events taken, and at most `MAX_BATCHING_FACTOR` times `BATCHING_DELAY`.
const CROWD: i64 = 4;
const BATCHING_DELAY: Duration = Duration::from_millis(2);
const MAX_BATCHING_FACTOR: i64 = 4;

/// The delay after a fan-out that took this many events.
fn batching_delay(events: i64) -> Option<Duration> {
    let crowds = u32::try_from((events / CROWD).min(MAX_BATCHING_FACTOR)).unwrap_or_default();
    (crowds > 0).then(|| BATCHING_DELAY * crowds)
}

pub struct Dispatcher {
    webhooks: Webhooks,
    lifecycle: Lifecycle,
    wake: Arc<Wake>,
    permits: Arc<Permits>,
    launcher: Arc<Launcher>,
    /// The company behind which the next fan-out begins.
    after: Option<CompanyId>,
    lanes: [LaneState; Lane::ALL.len()],
    /// The lane that is claimed from first.
    turn: usize,
    /// There may be more deliveries to return to their lanes.
    wakes: bool,
    next_poll: Instant,
    /// Expired leases are reclaimed from this instant on.
    reclaims_from: Instant,
    /// When to check the outbox once more.
    recheck_at: Option<Instant>,
    /// No fan-out happens before this instant, so that events gather in the outbox.
    batching_until: Option<Instant>,
    progress: Mark,
}

impl Dispatcher {
    pub fn new(webhooks: Webhooks, lifecycle: Lifecycle, wake: Arc<Wake>, launcher: Arc<Launcher>) -> Self {
        Self {
            permits: Arc::clone(&webhooks.delivering.permits),
            progress: webhooks.progress.begin(),
            webhooks,
            lifecycle,
            wake,
            launcher,
            after: None,
            lanes: Lane::ALL.map(|_| LaneState::new()),
            turn: 0,
            wakes: false,
            next_poll: Instant::now(),
            reclaims_from: Instant::now(),
            recheck_at: None,
            batching_until: None,
        }
    }

    pub async fn run(mut self) {
        while !self.lifecycle.stopping().is_cancelled() {
            let wait_until = match self.dispatch().await {
                Ok(true) => continue,
                Ok(false) => self.next_wake(),
                Err(error) => {
                    tracing::warn!(error = chain(&error), "the webhook worker is waiting for the database");
                    // The next round repeats the work that failed.
                    self.next_poll = Instant::now();
                    self.reclaims_from = Instant::now() + RECLAIM_DELAY;
                    Instant::now() + RETRY_DELAY
                }
            };
            tokio::select! {
                () = self.lifecycle.stopping().cancelled() => {}
                () = self.wake.notify.notified() => {}
                () = sleep_until(wait_until) => {}
            }
        }
    }

    /// Does one round and returns whether there may be more to do at once.
    async fn dispatch(&mut self) -> Result<bool, sqlx::Error> {
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
        let clock = self.webhooks.clock.now();
        if polls || self.wakes || self.next_resumption().is_some_and(|at| at <= clock) {
            let woken = self.webhooks.wake_held().await?;
            if woken.any {
                self.lanes.iter_mut().for_each(LaneState::open);
            }
            self.wakes = woken.more;
            busy |= woken.more;
        }
        let (ended, free) = (self.wake.take_ended(), self.permits.free());
        self.lanes.iter_mut().for_each(|lane| lane.note_ended(&ended, free));
        if self.wake.ended_in_order.swap(false, Ordering::Acquire) {
            self.fresh().open();
        }
        if self.wake.resumed.swap(false, Ordering::Acquire) {
            self.lanes.iter_mut().for_each(LaneState::open);
        }
        self.turn = (self.turn + 1) % Lane::ALL.len();
        for place in 0..Lane::ALL.len() {
            let lane = (self.turn + place) % Lane::ALL.len();
            if self.lanes[lane].is_open(self.webhooks.clock.now()) {
                busy |= self.claim(lane).await?;
            }
        }
        *lock(&self.wake.refillable) = lanes::refillable(&self.lanes);
        self.progress.round();
        Ok(busy)
    }

    fn is_published(&mut self, now: Instant) -> bool {
        if self.batching_until.is_some_and(|until| now < until) {
            return false;
        }
        let was_batching = self.batching_until.take().is_some();
        if self.wake.published.swap(false, Ordering::Acquire) {
            if self.wake.notified.swap(false, Ordering::Acquire) {
                self.recheck_at = Some(now + RECHECK_DELAY);
            }
            return true;
        }
        self.recheck_at.take_if(|recheck_at| *recheck_at <= now).is_some() || was_batching
    }

    async fn fan_out(&mut self) -> Result<bool, sqlx::Error> {
        let shares = self.shares();
        let permits = self.permits.take(Lane::Fresh, BATCH);
        let (fanned_out, claimed) = self.webhooks.fan_out_batch(self.after, permits.len(), &shares).await?;
        if fanned_out.queued {
            self.fresh().open();
            lock(&self.wake.refillable).clear();
        }
        let more = fanned_out.more;
        if more {
            self.wake.published.store(true, Ordering::Release);
        }
        self.batching_until = batching_delay(fanned_out.events).filter(|_| !more).map(|time| Instant::now() + time);
        self.after = fanned_out.last;
        self.launcher.send_all(claimed, permits);
        Ok(more)
    }

    async fn claim(&mut self, lane: usize) -> Result<bool, sqlx::Error> {
        let shares = self.shares();
        let permits = self.permits.take(Lane::ALL[lane], BATCH);
        if permits.is_empty() {
            return Ok(false);
        }
        let (summary, claimed) = self.webhooks.claim_from(Lane::ALL[lane], permits.len(), self.lanes[lane].after, &shares).await?;
        let left = shares.free.saturating_sub(claimed.len());
        let busy = self.lanes[lane].learn(summary, claimed.len(), left, self.webhooks.clock.now());
        self.launcher.send_all(claimed, permits);
        Ok(busy)
    }

    fn shares(&self) -> Shares {
        self.permits.shares(self.webhooks.settings.endpoint_concurrency())
    }

    fn fresh(&mut self) -> &mut LaneState {
        let place = Lane::ALL.iter().position(|lane| *lane == Lane::Fresh).expect("the list contains the lane");
        &mut self.lanes[place]
    }

    /// When the first of the lanes opens by itself.
    fn next_resumption(&self) -> Option<DateTime<Utc>> {
        self.lanes.iter().filter_map(LaneState::resumes_at).min()
    }

    /// When to begin the next round if nothing wakes it.
    fn next_wake(&self) -> Instant {
        let resumes = self.next_resumption().map(|at| {
            let wait = (at - self.webhooks.clock.now()).to_std().unwrap_or_default();
            Instant::now() + wait.max(Duration::from_millis(1))
        });
        self.batching_until.or(self.recheck_at).into_iter().chain(resumes).fold(self.next_poll, Instant::min)
    }
}
