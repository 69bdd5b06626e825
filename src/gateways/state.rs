//! What the routes and the worker share, and the settings that it is built from.

use std::num::NonZeroU32;

use ipnet::IpNet;
use uuid::Uuid;

use crate::events::CommitNotifier;
use crate::gateways::open_gateways::GatewayCache;
use crate::gateways::recording::{Recording, recording};
use crate::kernel::clock::Clock;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database::Pool;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::rate_limit::{FailureLimiter, LocalRateLimiter};
use crate::resources::ResourceState;

/// Requests per minute and client network that may name an unknown gateway.
const UNKNOWN_GATEWAYS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(600).expect("it is not zero");

/// `[gateways]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Maximum number of callbacks per minute for one API key or gateway and client address.
    pub callbacks_per_minute: NonZeroU32,
}

/// The state of the routes and the worker.
#[derive(Clone, Debug)]
pub struct Gateways {
    pub(super) pool: Pool,
    pub(super) clock: Clock,
    pub(super) key: ApplicationKey,
    pub(super) throttle: LocalRateLimiter<(Uuid, IpNet)>,
    /// Requests without a key that name an unknown gateway, by client network.
    pub(super) unknown_gateways: FailureLimiter<IpNet>,
    pub(super) cache: GatewayCache,
    /// Records callbacks in batches.
    pub(super) recording: Recording,
    /// Signals events published by this instance.
    pub(super) notifier: CommitNotifier,
}

impl ResourceState for Gateways {
    fn pool(&self) -> &Pool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn invalidate_caches(&self) {
        self.cache.invalidate_all();
    }
}

impl Gateways {
    /// Callbacks are recorded in batches, which `lifecycle` waits for on shutdown.
    pub fn new(
        pool: Pool,
        clock: Clock,
        key: ApplicationKey,
        notifier: CommitNotifier,
        settings: &Settings,
        lifecycle: &Lifecycle,
    ) -> Self {
        let recording = recording(&pool, &clock, &notifier, lifecycle);
        let throttle = LocalRateLimiter::new(settings.callbacks_per_minute);
        let unknown_gateways = FailureLimiter::new(UNKNOWN_GATEWAYS_PER_MINUTE);
        Self { pool, clock, key, throttle, unknown_gateways, cache: GatewayCache::new(), recording, notifier }
    }

    /// Removes expired counters. Called about once a minute.
    pub fn sweep(&self) {
        self.throttle.sweep();
        self.unknown_gateways.sweep();
    }
}
