//! Gateways that take callbacks, with their secrets decrypted and their settings parsed, and the cache of them.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::companies::Standing;
use crate::gateways::drivers::{Account, Incoming, Mode, SignatureError};
use crate::kernel::ids::{CompanyId, GatewayId};
use crate::kernel::ttl_cache::TtlCache;

/// Maximum number of cached gateways, and of cached companies.
const MAX_CACHED_GATEWAYS: usize = 500;

/// A gateway, as processing its callbacks needs it.
#[derive(Debug)]
pub struct OpenGateway {
    pub id: GatewayId,
    pub company: CompanyId,
    /// Whether the company is served, or its callbacks refused.
    pub standing: Standing,
    /// The name of its driver.
    pub driver: &'static str,
    pub account: Box<dyn Account>,
    /// Whether its secret key moves real money, if it says so.
    pub mode: Option<Mode>,
    /// The same with the previous signing secret, and until when that one verifies as well.
    pub previous: Option<(Box<dyn Account>, DateTime<Utc>)>,
}

impl OpenGateway {
    /// Refuses a callback that the gateway has signed neither with its secret nor, during the overlap of a rotation, with the previous one.
    pub fn verify(&self, incoming: &Incoming<'_>) -> Result<(), SignatureError> {
        match (self.account.verify(incoming), &self.previous) {
            (Err(SignatureError::SignatureWrong), Some((previous, until))) if incoming.now < *until => previous.verify(incoming),
            (verified, _) => verified,
        }
    }
}

/// Caches active gateways with a TTL of one second ([`crate::kernel::ttl_cache`]). Clones share the cache.
#[derive(Clone, Debug)]
pub struct GatewayCache {
    pub by_id: TtlCache<GatewayId, OpenGateway>,
    pub of_company: TtlCache<CompanyId, Vec<Arc<OpenGateway>>>,
}

impl GatewayCache {
    pub fn new() -> Self {
        Self { by_id: TtlCache::new(MAX_CACHED_GATEWAYS), of_company: TtlCache::new(MAX_CACHED_GATEWAYS) }
    }

    /// Evicts the gateways of a company, after this instance has changed one of them.
    pub fn forget(&self, company: CompanyId) {
        self.by_id.invalidate_if(|_, gateway| gateway.company == company);
        self.of_company.invalidate(&company);
    }
}
