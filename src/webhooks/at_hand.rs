//! What many deliveries share, at hand: the bytes of their event, the endpoint they go to.
//!
//! Both are bounded, so a backlog of any size costs no more memory than a short one. The bytes of an event never change; an endpoint is
//! read again as soon as its subscription has another version.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Bytes;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::kernel::crypto::ApplicationKey;
use crate::kernel::ids::{EventId, SubscriptionId};
use crate::webhooks::claim::Taken;
use crate::webhooks::endpoint::Endpoint;
use crate::webhooks::queries;

/// Endpoints remembered at most, each about two kilobytes.
const ENDPOINTS: usize = 2_000;
/// Bodies remembered at most, when each is of a usual size ...
const BODIES: usize = 4_096;
/// ... and their bytes at most.
const BYTES: u64 = 8 * 1024 * 1024;

/// Remembers endpoints and bodies. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct AtHand(Arc<Kept>);

#[derive(Debug)]
struct Kept {
    endpoints: Cache<SubscriptionId, Arc<Endpoint>>,
    bodies: Cache<EventId, Bytes, ByLength>,
}

#[derive(Clone, Debug)]
struct ByLength;

impl Weighter<EventId, Bytes> for ByLength {
    fn weight(&self, _: &EventId, body: &Bytes) -> u64 {
        // What an entry itself takes, beside the bytes.
        body.len() as u64 + 100
    }
}

/// What the deliveries of one claim share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) endpoints: HashMap<SubscriptionId, Arc<Endpoint>>,
    pub(super) bodies: HashMap<EventId, Bytes>,
}

impl AtHand {
    pub(super) fn new() -> Self {
        Self(Arc::new(Kept { endpoints: Cache::new(ENDPOINTS), bodies: Cache::with_weighter(BODIES, BYTES, ByLength) }))
    }

    /// Everything that the deliveries of `rows` need; what is not at hand is read, in at most two statements.
    pub(super) async fn gather(&self, conn: &mut PgConnection, key: &ApplicationKey, rows: &[Taken]) -> Result<Shared, sqlx::Error> {
        let (mut shared, mut unknown) = (Shared::default(), Vec::<Uuid>::new());
        for row in rows {
            let (Some(subscription), Some(version)) = (row.subscription, row.version) else { continue };
            match self.0.endpoints.get(&subscription).filter(|endpoint| endpoint.version == version) {
                Some(endpoint) => _ = shared.endpoints.insert(subscription, endpoint),
                None => unknown.push(subscription.uuid()),
            }
        }
        if !unknown.is_empty() {
            for stored in queries::find_endpoints(conn, &unknown).await? {
                let (subscription, endpoint) = (stored.subscription, Arc::new(Endpoint::open(key, stored)));
                self.0.endpoints.insert(subscription, Arc::clone(&endpoint));
                shared.endpoints.insert(subscription, endpoint);
            }
            unknown.clear();
        }
        for event in rows.iter().filter_map(|row| row.event) {
            match self.0.bodies.get(&event) {
                Some(body) => _ = shared.bodies.insert(event, body),
                None => unknown.push(event.uuid()),
            }
        }
        if !unknown.is_empty() {
            for (event, body) in queries::find_bodies(conn, &unknown).await? {
                let body = Bytes::from(body);
                self.0.bodies.insert(event, body.clone());
                shared.bodies.insert(event, body);
            }
        }
        Ok(shared)
    }
}
