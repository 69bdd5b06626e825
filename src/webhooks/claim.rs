//! Claiming: which of the due deliveries this worker sends now.
//!
//! A claim is a lease with a number: claiming counts the attempt, and that count is the fence. Whoever comes to write down the result of
//! attempt 2 while the delivery is at attempt 3 has lost its lease meanwhile, and is ignored.
//!
//! Deliveries wait in lanes, so that what waits in one is never in the way of another. Within a lane the endpoints take turns: whoever has the
//! fewest deliveries in flight is first, whatever waits for the others. What has to wait for another delivery is in none of these lanes before
//! that one has ended.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Bytes;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::kernel::ids::{CompanyId, DeliveryId, EventId, SubscriptionId};
use crate::webhooks::Webhooks;
use crate::webhooks::at_hand::Endpoints;
use crate::webhooks::delivery::{CLOCKS_APART, INTERRUPTIONS, LEASE};
use crate::webhooks::endpoint::Endpoint;
use crate::webhooks::queries::{self, Limits};

/// Endpoints that one claim looks at, at most; the next one begins behind them.
const ENDPOINTS: i32 = 200;

/// Where a delivery waits to be claimed. Number 2 is missing: nobody claims what waits there, behind another one of its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i16)]
pub(super) enum Lane {
    /// For its first attempt.
    Fresh = 0,
    /// For another one.
    Again = 1,
    /// Because somebody asked for it again, however the endpoint is doing.
    Replay = 3,
}

impl Lane {
    pub(super) const ALL: [Self; 3] = [Self::Fresh, Self::Again, Self::Replay];
}

/// A delivery that is ours to send, with all that sending takes.
#[derive(Debug)]
pub struct Claimed {
    /// The delivery.
    pub delivery: DeliveryId,
    /// Whose it is.
    pub company: CompanyId,
    /// Whom it is for.
    pub subscription: SubscriptionId,
    /// What it tells of.
    pub event: EventId,
    /// Which attempt this is, from 1; the fence of the lease.
    pub number: i16,
    /// Attempts that failed before it.
    pub(super) failures: i16,
    pub(super) event_name: String,
    /// The event's place among those about its record.
    pub(super) sequence: Option<i64>,
    /// Whether others wait for its end.
    pub(super) in_order: bool,
    pub(super) is_replay: bool,
    /// One allocation for all deliveries of the event.
    pub(super) body: Bytes,
    pub(super) endpoint: Arc<Endpoint>,
}

/// What a claim found, beside the deliveries it brought, and what to expect of the next one.
#[derive(Debug)]
pub(super) struct Found {
    /// The endpoint after which the next claim begins to look.
    pub(super) last: Option<SubscriptionId>,
    /// Whether as many were taken as were asked for, so that there may be more at once.
    pub(super) more: bool,
    /// The endpoints for which more may be waiting, to go as soon as one of theirs has ended.
    pub(super) crowded: Vec<SubscriptionId>,
    /// Whether there may be endpoints that were not looked at.
    pub(super) unseen: bool,
    /// Whether another worker was faster with some: there is more at once.
    pub(super) missed: bool,
    /// When the first of the endpoints that are held back may go on.
    pub(super) resumes_at: Option<DateTime<Utc>>,
}

/// A delivery as its row tells, when it is taken into flight.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) delivery: DeliveryId,
    pub(super) company: CompanyId,
    pub(super) subscription: SubscriptionId,
    pub(super) event: EventId,
    pub(super) event_name: String,
    pub(super) sequence: Option<i64>,
    pub(super) number: i16,
    pub(super) failures: i16,
    pub(super) in_order: bool,
    pub(super) is_replay: bool,
    /// Of the subscription.
    pub(super) version: i64,
    /// The event's bytes; one of the deliveries of an event has them.
    pub(super) body: Option<Vec<u8>>,
}

impl Taken {
    fn complete(self, endpoints: &Endpoints, bodies: &HashMap<EventId, Bytes>) -> Option<Claimed> {
        let (event, subscription) = (self.event, self.subscription);
        let (Some(body), Some(endpoint)) = (bodies.get(&event), endpoints.get(&subscription)) else {
            tracing::error!(%event, %subscription, "a delivery has lost its event or its webhook");
            return None;
        };
        Some(Claimed {
            delivery: self.delivery,
            company: self.company,
            subscription,
            event,
            number: self.number,
            failures: self.failures,
            event_name: self.event_name,
            sequence: self.sequence,
            in_order: self.in_order,
            is_replay: self.is_replay,
            body: body.clone(),
            endpoint: Arc::clone(endpoint),
        })
    }
}

/// Before every endpoint there is.
pub(super) fn beginning() -> SubscriptionId {
    Uuid::nil().into()
}

impl Webhooks {
    /// Claims at most `limit` due deliveries: never more of one endpoint than `webhooks.endpoint_concurrency` in flight, nor than its rate
    /// limit and its circuit let through, and first those of the endpoints that have the fewest, so that a crowd at one keeps nobody else
    /// waiting.
    pub async fn claim(&self, limit: usize) -> Result<Vec<Claimed>, sqlx::Error> {
        let mut claimed = Vec::new();
        for lane in Lane::ALL {
            claimed.extend(self.claim_from(lane, limit - claimed.len(), beginning()).await?.1);
        }
        Ok(claimed)
    }

    /// Claims at most `limit` deliveries of one lane, looking at the endpoints behind `after` first.
    pub(super) async fn claim_from(&self, lane: Lane, limit: usize, after: SubscriptionId) -> Result<(Found, Vec<Claimed>), sqlx::Error> {
        let limits = Limits {
            deliveries: i32::try_from(limit).unwrap_or(i32::MAX),
            endpoints: ENDPOINTS,
            in_flight: self.settings.endpoint_concurrency(),
            cool_down: self.settings.circuit.cool_down(),
        };
        let mut conn = self.mover.acquire().await?;
        let (found, taken) = queries::claim_due(&mut conn, lane, limits, after, self.clock.now()).await?;
        let claimed = self.complete(&mut conn, taken).await?;
        conn.keep();
        Ok((found, claimed))
    }

    /// Adds to what was taken all that sending takes.
    pub(super) async fn complete(&self, conn: &mut PgConnection, mut taken: Vec<Taken>) -> Result<Vec<Claimed>, sqlx::Error> {
        let endpoints = self.at_hand.gather(conn, &self.key, &taken).await?;
        let bodies = taken.iter_mut().filter_map(|taken| Some((taken.event, Bytes::from(taken.body.take()?)))).collect();
        Ok(taken.into_iter().filter_map(|taken| taken.complete(&endpoints, &bodies)).collect())
    }

    /// Makes deliveries due again whose lease has run out, or cannot be of this time, and logs the attempts that were lost with it.
    pub async fn reclaim(&self) -> Result<u64, sqlx::Error> {
        let now = self.clock.now();
        let mut conn = self.mover.acquire().await?;
        let lost = queries::release_expired(&mut conn, now - LEASE, now + CLOCKS_APART, INTERRUPTIONS, now).await?;
        conn.keep();
        if lost > 0 {
            tracing::warn!(lost, "deliveries were in flight when their worker died; they are sent again");
        }
        Ok(lost)
    }
}
