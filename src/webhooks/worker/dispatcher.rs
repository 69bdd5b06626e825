//! The dispatcher: fans out the events of companies with little to do whenever there may be some, and hands their deliveries over to be
//! sent. A company that turns out to have more is left to the [`heavy`](crate::webhooks::worker::heavy) tracks.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::kernel::ids::CompanyId;
use crate::webhooks::engine::fan_out::Whose;
use crate::webhooks::worker::fan_out::FanOut;
use crate::webhooks::worker::heavy::Heavy;
use crate::webhooks::worker::rounds::Rounds;

/// The delay after the last notification before the outbox is checked once more. Only one transaction at a time notifies, so one
/// that committed at the same moment sent no notification. Nor does anything tell when a statement ends for which companies were passed
/// over.
const RECHECK_DELAY: Duration = Duration::from_millis(5);

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
    fan_out: FanOut,
    heavy: Arc<Heavy>,
    /// Changes when this instance has committed events.
    commits: watch::Receiver<()>,
    /// It has, since the outbox was last looked at.
    is_committed: bool,
    /// The company behind which the next fan-out begins.
    after: Option<CompanyId>,
    next_poll: Instant,
    /// When to check the outbox once more.
    recheck_at: Option<Instant>,
    /// No fan-out happens before this instant, so that events gather in the outbox.
    batching_until: Option<Instant>,
}

impl Dispatcher {
    pub fn new(fan_out: FanOut, heavy: Arc<Heavy>) -> Self {
        let commits = fan_out.webhooks.notifier.subscribe();
        let (is_committed, next_poll) = (false, Instant::now());
        Self { fan_out, heavy, commits, is_committed, after: None, next_poll, recheck_at: None, batching_until: None }
    }

    fn is_published(&mut self, now: Instant) -> bool {
        if self.batching_until.is_some_and(|until| now < until) {
            return false;
        }
        let was_batching = self.batching_until.take().is_some();
        let is_committed = std::mem::take(&mut self.is_committed);
        if self.fan_out.wake.take_published() || is_committed {
            if self.fan_out.wake.take_notified() {
                self.recheck_at = Some(now + RECHECK_DELAY);
            }
            return true;
        }
        self.recheck_at.take_if(|recheck_at| *recheck_at <= now).is_some() || was_batching
    }
}

impl Rounds for Dispatcher {
    async fn round(&mut self) -> Result<bool, sqlx::Error> {
        let now = Instant::now();
        let polls = now >= self.next_poll;
        if polls {
            self.next_poll = now + self.fan_out.webhooks.settings.poll_interval;
        }
        if !(self.is_published(now) || polls) {
            return Ok(false);
        }
        let others = self.heavy.companies();
        let fanned_out = self.fan_out.batch(Whose::Others { than: &others, after: self.after }).await?;
        self.after = fanned_out.last;
        if fanned_out.passed_over {
            self.recheck_at = Some(Instant::now() + RECHECK_DELAY);
        }
        if fanned_out.more {
            self.fan_out.wake.published();
        }
        self.batching_until = batching_delay(fanned_out.events).filter(|_| !fanned_out.more).map(|time| Instant::now() + time);
        self.heavy.take_over(fanned_out.unfinished);
        Ok(fanned_out.more)
    }

    fn next_round(&self) -> Instant {
        self.batching_until.or(self.recheck_at).into_iter().fold(self.next_poll, Instant::min)
    }

    fn failed(&mut self) {
        self.next_poll = Instant::now();
    }

    async fn woken(&mut self) {
        tokio::select! {
            () = self.fan_out.wake.outbox.notified() => {}
            Ok(()) = self.commits.changed() => self.is_committed = true,
        }
    }
}
