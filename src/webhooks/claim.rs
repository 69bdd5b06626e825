//! Claiming: takes leases on the due deliveries that this worker sends now.
//!
//! A lease is identified by the attempt number: claiming increments it, and the number is the fencing token. A worker that records
//! the result of attempt 2 while the delivery is at attempt 3 has lost its lease, and its result is ignored.
//!
//! Deliveries wait in lanes, so that deliveries in one lane are never in the way of another lane. Within a lane the endpoints take
//! turns: endpoints with the fewest deliveries in flight come first, whatever waits for the others. A delivery that must wait for
//! its predecessor enters a lane only after the predecessor has ended.

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

/// Maximum number of endpoints that one claim examines; the next claim continues behind them.
const ENDPOINTS: i32 = 200;

/// Where a delivery waits to be claimed. Number 2 is missing: it is for deliveries behind another one of their chain, which are
/// never claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i16)]
pub(super) enum Lane {
    /// Waits for its first attempt.
    Fresh = 0,
    /// Waits for a retry.
    Again = 1,
    /// A replay that was requested; it does not wait for the circuit of the endpoint.
    Replay = 3,
}

impl Lane {
    pub(super) const ALL: [Self; 3] = [Self::Fresh, Self::Again, Self::Replay];
}

/// A claimed delivery, with everything that is needed to send it.
#[derive(Debug)]
pub struct Claimed {
    /// The delivery id.
    pub delivery: DeliveryId,
    /// The company that owns the delivery.
    pub company: CompanyId,
    /// The subscription that the delivery is for.
    pub subscription: SubscriptionId,
    /// The event that is delivered.
    pub event: EventId,
    /// The attempt number, from 1; the fencing token of the lease.
    pub number: i16,
    /// Number of failed attempts before this one.
    pub(super) failures: i16,
    pub(super) event_name: String,
    /// The sequence number among the events about the same record.
    pub(super) sequence: Option<i64>,
    /// Whether other deliveries wait for this one to end.
    pub(super) in_order: bool,
    pub(super) is_replay: bool,
    /// The body; one allocation is shared by all deliveries of the event.
    pub(super) body: Bytes,
    pub(super) endpoint: Arc<Endpoint>,
}

/// What a claim learned besides the deliveries it took, to schedule the next one.
#[derive(Debug)]
pub(super) struct Found {
    /// The endpoint behind which the next claim begins.
    pub(super) last: Option<SubscriptionId>,
    /// Whether the claim took as many deliveries as it was asked for, so there may be more at once.
    pub(super) more: bool,
    /// The endpoints for which more deliveries may be waiting until one in flight has ended.
    pub(super) crowded: Vec<SubscriptionId>,
    /// Whether there may be endpoints that were not examined.
    pub(super) unseen: bool,
    /// Whether another worker took some of the deliveries first, so there may be more at once.
    pub(super) missed: bool,
    /// When the first of the endpoints that are held back can be claimed from again.
    pub(super) resumes_at: Option<DateTime<Utc>>,
}

/// A delivery row as the claiming statement returns it.
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
    /// The version of the subscription.
    pub(super) version: i64,
    /// The event's bytes; set for one delivery of each event only.
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

/// A subscription id that sorts before all others.
pub(super) fn beginning() -> SubscriptionId {
    Uuid::nil().into()
}

impl Webhooks {
    /// Claims at most `limit` due deliveries. An endpoint never has more deliveries in flight than `webhooks.endpoint_concurrency`,
    /// its rate limit and its circuit allow. Deliveries of the endpoints with the fewest in flight come first, so a backlog at one
    /// endpoint does not delay others.
    pub async fn claim(&self, limit: usize) -> Result<Vec<Claimed>, sqlx::Error> {
        let mut claimed = Vec::new();
        for lane in Lane::ALL {
            claimed.extend(self.claim_from(lane, limit - claimed.len(), beginning()).await?.1);
        }
        Ok(claimed)
    }

    /// Claims at most `limit` deliveries of one lane, beginning with the endpoints behind `after`.
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

    /// Adds the endpoints and the bodies that sending needs to claimed rows.
    pub(super) async fn complete(&self, conn: &mut PgConnection, mut taken: Vec<Taken>) -> Result<Vec<Claimed>, sqlx::Error> {
        let endpoints = self.at_hand.gather(conn, &self.key, &taken).await?;
        let bodies = taken.iter_mut().filter_map(|taken| Some((taken.event, Bytes::from(taken.body.take()?)))).collect();
        Ok(taken.into_iter().filter_map(|taken| taken.complete(&endpoints, &bodies)).collect())
    }

    /// Reclaims deliveries whose lease has expired, or begins impossibly far in the future, and logs their lost attempts. Returns
    /// their number.
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
