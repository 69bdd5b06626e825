//! The claimer: takes deliveries out of the lanes while they are open. Open lanes take turns, so no lane starves another.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;

use crate::webhooks::Webhooks;
use crate::webhooks::delivery_state::Lane;
use crate::webhooks::engine::claim::Visit;
use crate::webhooks::tracks::Track;
use crate::webhooks::worker::BATCH;
use crate::webhooks::worker::lanes::{self, LaneState};
use crate::webhooks::worker::launcher::Launcher;
use crate::webhooks::worker::rounds::Rounds;
use crate::webhooks::worker::wake::Wake;

/// How long expired leases are left alone after a database outage. Their holders, in this instance or another, may have results
/// that they are about to record.
const RECLAIM_DELAY: Duration = Duration::from_secs(5);

/// The wait before the permits are looked at again while more could be claimed with more of them. It takes no statement.
const PERMITS_DELAY: Duration = Duration::from_millis(50);

pub struct Claimer {
    webhooks: Webhooks,
    wake: Arc<Wake>,
    launcher: Arc<Launcher>,
    lanes: [LaneState; Lane::ALL.len()],
    /// The lane that is claimed from first.
    turn: usize,
    /// There may be more deliveries to return to their lanes.
    wakes: bool,
    next_poll: Instant,
    /// Expired leases are reclaimed from this instant on.
    reclaims_from: Instant,
}

impl Claimer {
    pub fn new(webhooks: Webhooks, wake: Arc<Wake>, launcher: Arc<Launcher>) -> Self {
        let (lanes, now) = (Lane::ALL.map(|_| LaneState::new()), Instant::now());
        Self { webhooks, wake, launcher, lanes, turn: 0, wakes: false, next_poll: now, reclaims_from: now }
    }

    async fn claim(&mut self, lane: usize) -> Result<bool, sqlx::Error> {
        let permits = &self.webhooks.delivering.permits;
        let shares = permits.shares(self.webhooks.settings.endpoint_concurrency());
        let permits = permits.take_some(Lane::ALL[lane], BATCH);
        if permits.len() == 0 {
            return Ok(false);
        }
        let visit = Visit::Behind(self.lanes[lane].after);
        let (summary, claimed) = self.webhooks.claim_from(Track::Lanes, Lane::ALL[lane], permits.len(), visit, &shares).await?;
        let left = shares.free.saturating_sub(claimed.len());
        let busy = self.lanes[lane].learn(summary, claimed.len(), left, self.webhooks.clock.now());
        self.launcher.send_all(claimed, permits);
        Ok(busy)
    }

    fn open_all(&mut self) {
        self.lanes.iter_mut().for_each(LaneState::open);
    }

    fn fresh(&mut self) -> &mut LaneState {
        let place = Lane::ALL.iter().position(|lane| *lane == Lane::Fresh).expect("the list contains the lane");
        &mut self.lanes[place]
    }

    /// When the first of the lanes opens by itself.
    fn next_resumption(&self) -> Option<DateTime<Utc>> {
        self.lanes.iter().filter_map(LaneState::resumes_at).min()
    }
}

impl Rounds for Claimer {
    async fn round(&mut self) -> Result<bool, sqlx::Error> {
        let now = Instant::now();
        let polls = now >= self.next_poll;
        if polls {
            if now >= self.reclaims_from {
                self.webhooks.reclaim().await?;
            }
            self.open_all();
            self.next_poll = now + self.webhooks.settings.poll_interval;
        }
        let clock = self.webhooks.clock.now();
        if polls || self.wakes || self.next_resumption().is_some_and(|at| at <= clock) {
            let woken = self.webhooks.wake_held().await?;
            if woken.any {
                self.open_all();
            }
            self.wakes = woken.more;
        }
        let mut busy = self.wakes;
        let (ended, free) = (self.wake.take_ended(), self.webhooks.delivering.permits.free());
        self.lanes.iter_mut().for_each(|lane| lane.note_ended(&ended, free));
        if self.wake.take_queued() {
            self.fresh().open();
        }
        if self.wake.take_resumed() {
            self.open_all();
        }
        self.turn = (self.turn + 1) % Lane::ALL.len();
        for place in 0..Lane::ALL.len() {
            let lane = (self.turn + place) % Lane::ALL.len();
            if self.lanes[lane].is_open(self.webhooks.clock.now()) {
                busy |= self.claim(lane).await?;
            }
        }
        self.wake.refill(lanes::refillable(&self.lanes));
        Ok(busy)
    }

    fn next_round(&self) -> Instant {
        let resumes = self.next_resumption().map(|at| {
            let wait = (at - self.webhooks.clock.now()).to_std().unwrap_or_default();
            Instant::now() + wait.max(Duration::from_millis(1))
        });
        let permits = self.lanes.iter().any(LaneState::waits_for_permits).then(|| Instant::now() + PERMITS_DELAY);
        resumes.into_iter().chain(permits).fold(self.next_poll, Instant::min)
    }

    fn failed(&mut self) {
        self.next_poll = Instant::now();
        self.reclaims_from = Instant::now() + RECLAIM_DELAY;
    }

    async fn woken(&mut self) {
        self.wake.lanes.notified().await;
    }
}
