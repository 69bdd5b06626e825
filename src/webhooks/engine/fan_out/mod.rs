//! Fan-out: turns an event in the outbox into one delivery for each matching subscription.
//!
//! A statement makes a bounded number of deliveries, however many webhooks an event is for. An event for more than that is fanned out
//! in slices, in the order of the subscriptions' ids; its entry in the outbox says how far it has come. The companies with events in the
//! outbox have equal shares of a statement, so that a company with many webhooks or events does not delay the others.

mod queries;

use crate::kernel::ids::CompanyId;
use crate::webhooks::engine::fan_out::queries::Limits;
use crate::webhooks::permits::Shares;
use crate::webhooks::{Claimed, Webhooks};

/// Maximum number of deliveries that one statement creates: about 12 ms of work, for which another company's event may have to wait.
const DELIVERIES_PER_BATCH: i32 = 500;
/// Maximum number of companies among which they are shared out; the next statement continues behind them.
const COMPANIES_PER_BATCH: i32 = 20;
/// Maximum number of events of one company that one statement takes,
const EVENTS_PER_COMPANY: i32 = 200;
/// and of comparisons between these events and its webhooks, unless it has more webhooks.
const COMPARISONS_PER_COMPANY: i32 = 4_000;

#[derive(Clone, Copy, Debug)]
pub struct FannedOut {
    /// Events that left the outbox.
    pub events: i64,
    /// Whether deliveries of these events, or of another of which a slice was fanned out, wait to be claimed.
    pub queued: bool,
    /// Whether there may be more events in the outbox.
    pub more: bool,
    /// The company behind which the next statement begins.
    pub last: Option<CompanyId>,
}

impl Webhooks {
    /// Fans out all events into waiting deliveries and returns the number of events. A disabled subscription gets none of them, neither
    /// now nor later.
    pub async fn fan_out(&self) -> Result<u64, sqlx::Error> {
        let (mut events, mut after, shares) = (0, None, self.unlimited());
        loop {
            let (fanned_out, _) = self.fan_out_batch(after, 0, &shares).await?;
            events += fanned_out.events.unsigned_abs();
            after = fanned_out.last;
            if !fanned_out.more {
                return Ok(events);
            }
        }
    }

    /// Fans out one batch and returns up to `limit` of its deliveries, already claimed and in flight.
    pub async fn fan_out_and_claim(&self, limit: usize) -> Result<Vec<Claimed>, sqlx::Error> {
        Ok(self.fan_out_batch(None, limit, &self.unlimited()).await?.1)
    }

    /// Fans out one batch, beginning with the company behind `after`, and claims up to `limit` of its deliveries, within
    /// `shares`.
    pub(crate) async fn fan_out_batch(
        &self,
        after: Option<CompanyId>,
        limit: usize,
        shares: &Shares,
    ) -> Result<(FannedOut, Vec<Claimed>), sqlx::Error> {
        let limits = Limits {
            deliveries: DELIVERIES_PER_BATCH,
            companies: COMPANIES_PER_BATCH,
            events: EVENTS_PER_COMPANY,
            comparisons: COMPARISONS_PER_COMPANY,
            flights: i32::try_from(limit).unwrap_or(i32::MAX),
        };
        let mut conn = self.delivery_pool.acquire().await?;
        let (fanned_out, taken) = queries::fan_out(&mut conn, after, limits, shares, self.worker, self.clock.now()).await?;
        let claimed = self.complete(&mut conn, taken).await?;
        Ok((fanned_out, claimed))
    }
}
