//! Fan-out: turns an event in the outbox into one delivery for each matching subscription.
//!
//! A statement makes a bounded number of deliveries, however many webhooks an event is for. An event for more than that is fanned out
//! in slices, in the order of the subscriptions' ids; its entry in the outbox says how far it has come. The companies with events in the
//! outbox have equal shares of a statement. A company with more than its share is *unfinished*: its events are then left to other
//! statements than those of the others, who are not delayed by it.
//!
//! An event that nothing is in the way of is never in the outbox: [`publishing`] fans it out while it is published.

mod publishing;
mod queries;

use tokio::sync::watch;

use crate::kernel::ids::{CompanyId, EventId, SubscriptionId};
use crate::kernel::traces::Moment;
use crate::webhooks::engine::fan_out::queries::Limits;
use crate::webhooks::permits::Shares;
use crate::webhooks::tracks::Track;
use crate::webhooks::{Claimed, Webhooks};

/// Maximum number of deliveries that one statement creates: about 12 ms of work, for which another company's event may have to wait.
const DELIVERIES_PER_BATCH: i32 = 500;
/// Maximum number of companies among which they are shared out; the next statement continues behind them.
pub const COMPANIES_PER_BATCH: usize = 20;
/// Maximum number of events of one company that one statement takes,
const EVENTS_PER_COMPANY: i32 = 200;
/// and of comparisons between these events and its webhooks, unless it has more webhooks.
const COMPARISONS_PER_COMPANY: i32 = 4_000;

/// Whose events a statement fans out.
#[derive(Clone, Copy, Debug)]
pub enum Whose<'a> {
    /// Those of all companies but a few, beginning with the one behind `after`.
    Others { than: &'a [CompanyId], after: Option<CompanyId> },
    /// Those of these companies.
    These(&'a [CompanyId]),
}

#[derive(Clone, Debug)]
pub struct FannedOut {
    /// Events that left the outbox.
    pub events: i64,
    /// Which ones, if that was asked for.
    pub drained: Vec<EventId>,
    /// Whether deliveries of these events, or of another of which a slice was fanned out, wait to be claimed.
    pub queued: bool,
    /// The endpoints of companies with little to do for which some of these deliveries wait.
    pub waiting: Vec<SubscriptionId>,
    /// Whether there may be events of more companies in the outbox.
    pub more: bool,
    /// The company behind which the next statement begins.
    pub last: Option<CompanyId>,
    /// The companies with more in the outbox than their share.
    pub unfinished: Vec<CompanyId>,
    /// Whether another statement was fanning out events of these companies at the same time, or just before. They are left to it, but for
    /// those that were committed after it had begun.
    pub passed_over: bool,
}

impl Webhooks {
    /// A receiver that changes whenever this instance has fanned out events.
    pub fn subscribe_fanned_out(&self) -> watch::Receiver<()> {
        self.fanned_out.subscribe()
    }

    /// Fans out all events into waiting deliveries and returns the number of events. A disabled subscription gets none of them, neither
    /// now nor later.
    pub async fn fan_out(&self) -> Result<u64, sqlx::Error> {
        let (mut events, mut after, shares) = (0, None, self.unlimited());
        loop {
            let whose = Whose::Others { than: &[], after };
            let (fanned_out, _) = self.fan_out_batch(Track::Light, whose, 0, &shares).await?;
            events += fanned_out.events.unsigned_abs();
            after = fanned_out.last;
            if !fanned_out.more && fanned_out.unfinished.is_empty() {
                return Ok(events);
            }
        }
    }

    /// Fans out one batch and returns up to `limit` of its deliveries, already claimed and in flight.
    pub async fn fan_out_and_claim(&self, limit: usize) -> Result<Vec<Claimed>, sqlx::Error> {
        Ok(self.fan_out_batch(Track::Light, Whose::Others { than: &[], after: None }, limit, &self.unlimited()).await?.1)
    }

    /// Fans out one batch of events on the connection of `track` and claims up to `limit` of its deliveries, within `shares`.
    pub(crate) async fn fan_out_batch(
        &self,
        track: Track,
        whose: Whose<'_>,
        limit: usize,
        shares: &Shares,
    ) -> Result<(FannedOut, Vec<Claimed>), sqlx::Error> {
        let limits = Limits {
            deliveries: DELIVERIES_PER_BATCH,
            companies: COMPANIES_PER_BATCH as i32,
            events: EVENTS_PER_COMPANY,
            comparisons: COMPARISONS_PER_COMPANY,
            flights: i32::try_from(limit).unwrap_or(i32::MAX),
        };
        let mut conn = self.delivery_pools.of(track).acquire().await?;
        let now = self.clock.now();
        let (began, tells) = (Moment::now(now), self.delivering.traces.is_on());
        let (fanned_out, taken) = queries::fan_out(&mut conn, whose, limits, shares, tells, self.worker, now).await?;
        if fanned_out.events > 0 {
            self.fanned_out.send_replace(());
        }
        let concerned = fanned_out.drained.iter().copied().chain(taken.iter().map(|taken| taken.event));
        let traced = self.traces_of(&mut conn, concerned).await;
        self.trace_fan_out(&fanned_out.drained, &traced, began);
        let claimed = self.complete(&mut conn, taken, &traced).await?;
        Ok((fanned_out, claimed))
    }
}
