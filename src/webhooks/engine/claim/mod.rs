//! Claiming: takes leases on the due deliveries that this worker sends now.
//!
//! A lease is identified by the attempt number: claiming increments it, and the number is the fencing token. A worker that records
//! the result of attempt 2 while the delivery is at attempt 3 has lost its lease, and its result is ignored.
//!
//! Deliveries wait in lanes, so that deliveries in one lane are never in the way of another lane. Within a lane the endpoints take
//! turns: the companies one after the other, and of each the endpoints with the fewest deliveries in flight first, whatever waits for the
//! others. A delivery that must wait for its predecessor enters a lane only after the predecessor has ended. A delivery to a paused
//! endpoint stays in its lane and is passed over, like one that is being cancelled. A delivery behind an open circuit leaves its lane, and so does
//! one to an endpoint that has asked for silence.

mod queries;
mod reclaim;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use axum::body::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, DeliveryId, EventId, SubscriptionId};
use crate::webhooks::delivery_state::{LEASE, Lane, MAX_CLOCK_SKEW, MAX_INTERRUPTIONS, MAX_SILENCE};
use crate::webhooks::endpoint::Endpoints;
use crate::webhooks::engine::claim::queries::Limits;
use crate::webhooks::engine::claim::reclaim::Lost;
use crate::webhooks::engine::traced::TracedEvents;
use crate::webhooks::permits::Shares;
use crate::webhooks::tracks::Track;
use crate::webhooks::{Claimed, Webhooks};

/// Maximum number of endpoints that one claim examines; the next claim continues behind them.
const MAX_ENDPOINTS_PER_CLAIM: i32 = 200;

/// Maximum number of deliveries behind open circuits that one claim puts aside.
const MAX_HELD_PER_CLAIM: i32 = 500;

/// The endpoints that a claim examines.
#[derive(Clone, Copy, Debug)]
pub enum Visit<'a> {
    /// Those for which deliveries wait, in the order of the lane, from the one behind this one on.
    Behind(SubscriptionId),
    /// These alone.
    These(&'a [SubscriptionId]),
}

/// What a claim learned besides the deliveries it took, to schedule the next one.
#[derive(Debug, Default)]
pub struct ClaimSummary {
    /// The endpoint behind which the next claim begins.
    pub last: Option<SubscriptionId>,
    /// Whether the claim took as many deliveries as its limit allows, so there may be more at once.
    pub more: bool,
    /// The endpoints for which more deliveries may be waiting until one in flight has ended.
    pub crowded: Vec<SubscriptionId>,
    /// Whether there may be endpoints that were not examined.
    pub unseen: bool,
    /// Whether another worker took some of the deliveries first, so there may be more at once.
    pub missed: bool,
    /// Whether deliveries behind open circuits, or for endpoints that have asked for silence, were put aside. There may be more.
    pub held: bool,
    /// Whether more could have been taken if more permits had been free, so there may be more when any delivery has ended.
    pub short: bool,
    /// When the first of the endpoints that are held back can be claimed from again.
    pub resumes_at: Option<DateTime<Utc>>,
}

/// A delivery row as the claiming statement returns it.
#[derive(Debug)]
pub struct ClaimedRow {
    pub delivery: DeliveryId,
    pub company: CompanyId,
    pub subscription: SubscriptionId,
    pub event: EventId,
    pub event_name: String,
    pub sequence: Option<i64>,
    pub number: i16,
    pub failures: i16,
    pub in_order: bool,
    pub is_replay: bool,
    /// The version of the subscription.
    pub version: i64,
    /// The event's bytes; set for one delivery of each event only.
    pub body: Option<Vec<u8>>,
}

impl ClaimedRow {
    fn complete(self, endpoints: &Endpoints, bodies: &HashMap<EventId, Bytes>, traced: &TracedEvents) -> Option<Claimed> {
        let (event, subscription) = (self.event, self.subscription);
        let (Some(body), Some(endpoint)) = (bodies.get(&event), endpoints.get(&subscription)) else {
            tracing::error!(%event, %subscription, "the event or the webhook of a delivery is missing");
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
            trace: traced.get(&event).map(|traced| traced.context),
            endpoint: Arc::clone(endpoint),
        })
    }
}

/// The least id of the events whose bytes the claiming statements look up: those of the last day. A statement that may look up any event
/// opens the indexes of every day that is kept, whether it claims something or not. Older ones, of late retries and replays, are looked up
/// on their own.
pub fn oldest_recent(now: DateTime<Utc>) -> Uuid {
    let since = (now - TimeDelta::days(1)).timestamp_millis();
    Uuid::from_u128(u128::from(since.unsigned_abs()) << 80)
}

/// The place from which a claim visits all endpoints. They are visited in descending order, and from the lowest id on it goes on with
/// the highest.
pub fn beginning() -> SubscriptionId {
    Uuid::nil().into()
}

impl Webhooks {
    /// Claims at most `limit` due deliveries. An endpoint never has more deliveries in flight than `webhooks.endpoint_concurrency`,
    /// its rate limit and its circuit allow. Deliveries of the endpoints with the fewest in flight come first, so a backlog at one
    /// endpoint does not delay others.
    pub async fn claim(&self, limit: usize) -> Result<Vec<Claimed>, sqlx::Error> {
        while self.wake_held().await?.more {}
        let mut claimed = Vec::new();
        for lane in Lane::ALL {
            let (limit, visit) = (limit - claimed.len(), Visit::Behind(beginning()));
            claimed.extend(self.claim_from(Track::Lanes, lane, limit, visit, &self.unlimited()).await?.1);
        }
        Ok(claimed)
    }

    /// Claims at most `limit` deliveries of one lane on the connection of `track`, within `shares`.
    pub(crate) async fn claim_from(
        &self,
        track: Track,
        lane: Lane,
        limit: usize,
        visit: Visit<'_>,
        shares: &Shares,
    ) -> Result<(ClaimSummary, Vec<Claimed>), sqlx::Error> {
        let limits = Limits {
            deliveries: i32::try_from(limit).unwrap_or(i32::MAX),
            endpoints: MAX_ENDPOINTS_PER_CLAIM,
            held: MAX_HELD_PER_CLAIM,
            cool_down: self.settings.circuit.cool_down(),
            silence: MAX_SILENCE,
        };
        let mut conn = self.delivery_pools.of(track).acquire().await?;
        let (summary, taken) = queries::claim_due(&mut conn, lane, limits, shares, visit, self.worker, self.clock.now()).await?;
        let traced = self.traces_of(&mut conn, taken.iter().map(|taken| taken.event)).await;
        let claimed = self.complete(&mut conn, taken, &traced).await?;
        Ok((summary, claimed))
    }

    /// The shares for whoever does not run the worker: only the limit of each endpoint applies.
    pub(crate) fn unlimited(&self) -> Shares {
        Shares::unlimited(self.settings.endpoint_concurrency())
    }

    /// Adds the endpoints and the bodies that sending needs to claimed rows.
    pub(crate) async fn complete(
        &self,
        conn: &mut Connection,
        mut taken: Vec<ClaimedRow>,
        traced: &TracedEvents,
    ) -> Result<Vec<Claimed>, sqlx::Error> {
        let endpoints =
            self.endpoint_cache.get_or_load(conn, &self.key, taken.iter().map(|taken| (taken.subscription, taken.version))).await?;
        let mut bodies: HashMap<_, _> = taken.iter_mut().filter_map(|taken| Some((taken.event, Bytes::from(taken.body.take()?)))).collect();
        let older: BTreeSet<_> = taken.iter().filter(|taken| !bodies.contains_key(&taken.event)).map(|taken| taken.event.uuid()).collect();
        if !older.is_empty() {
            let found = queries::find_bodies(conn, &Vec::from_iter(older)).await?;
            bodies.extend(found.into_iter().filter_map(|(event, body)| Some((event, Bytes::from(body?)))));
        }
        Ok(taken.into_iter().filter_map(|taken| taken.complete(&endpoints, &bodies, traced)).collect())
    }

    /// Reclaims deliveries whose worker is dead, and those whose lease has expired or begins impossibly far in the future, and logs their
    /// lost attempts. Returns their number.
    pub async fn reclaim(&self) -> Result<u64, sqlx::Error> {
        let now = self.clock.now();
        let mut conn = self.delivery_pools.of(Track::Lanes).acquire().await?;
        let (workers, beats) = self.colleagues.dead().into_iter().map(|(worker, beats)| (worker.uuid(), beats)).unzip();
        let lost = Lost { workers, beats, expired_before: now - LEASE, impossible_after: now + MAX_CLOCK_SKEW };
        let lost = reclaim::release(&mut conn, &lost, MAX_INTERRUPTIONS, now).await?;
        if lost > 0 {
            tracing::warn!(lost, "the worker of deliveries in flight has died; the deliveries are retried");
        }
        Ok(lost)
    }
}
