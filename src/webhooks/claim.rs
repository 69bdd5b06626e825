//! Claiming: which of the due deliveries this worker sends now.
//!
//! A claim is a lease with a number: claiming counts the attempt, and that count is the fence. Whoever comes to write down the result of
//! attempt 2 while the delivery is at attempt 3 has lost its lease meanwhile, and is ignored.

use sqlx::types::Json;

use crate::kernel::ids::{CompanyId, DeliveryId, EventId, SubscriptionId};
use crate::webhooks::delivery::{INTERRUPTIONS, LEASE};
use crate::webhooks::subscription::{AttemptTimeout, ExtraHeaders, SignatureFormat};
use crate::webhooks::targets::EndpointUrl;
use crate::webhooks::{Webhooks, queries};

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
    pub(super) body: Vec<u8>,
    pub(super) url: EndpointUrl,
    pub(super) headers: Json<ExtraHeaders>,
    pub(super) signature_format: SignatureFormat,
    pub(super) timeout: AttemptTimeout,
    pub(super) sealed_secret: Vec<u8>,
    /// While a rotation overlaps.
    pub(super) sealed_previous_secret: Option<Vec<u8>>,
}

impl Webhooks {
    /// Claims at most `limit` due deliveries: never more of one endpoint than `webhooks.endpoint_concurrency` in flight, and first those
    /// of the endpoints that have the fewest, so that a crowd at one keeps nobody else waiting.
    pub async fn claim(&self, limit: usize) -> Result<Vec<Claimed>, sqlx::Error> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let mut conn = self.pool.acquire().await?;
        queries::claim_due(&mut conn, limit, self.settings.endpoint_concurrency.get(), self.clock.now()).await
    }

    /// Makes deliveries due again whose lease has run out, and logs the attempts that were lost with it.
    pub async fn reclaim(&self) -> Result<u64, sqlx::Error> {
        let now = self.clock.now();
        let mut conn = self.pool.acquire().await?;
        let lost = queries::release_expired(&mut conn, now - LEASE, INTERRUPTIONS, now).await?;
        if lost > 0 {
            tracing::warn!(lost, "deliveries were in flight when their worker died; they are sent again");
        }
        Ok(lost)
    }
}
