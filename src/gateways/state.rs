//! What the routes and the worker share, and the settings that it is built from.

use std::num::NonZeroU32;
use std::ops::Deref;
use std::time::Duration;

use chrono::TimeDelta;
use ipnet::IpNet;
use uuid::Uuid;

use crate::events::CommitNotifier;
use crate::gateways::metrics::Metrics;
use crate::gateways::open_gateways::GatewayCache;
use crate::gateways::recording::{Recording, recording};
use crate::kernel::cache_metrics::CacheMetrics;
use crate::kernel::clock::Clock;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database::Pool;
use crate::kernel::group_metrics::GroupMetrics;
use crate::kernel::heavy_work::HeavyWork;
use crate::kernel::ids::CompanyId;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::opaque::Opaque;
use crate::kernel::rate_limit::{FailureLimiter, LocalRateLimiter, LocalWindow, Rule};
use crate::kernel::settings;
use crate::providers::card::Card;
use crate::resources::ResourceState;

/// Requests per minute and client network that may name an unknown gateway.
const UNKNOWN_GATEWAYS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(600).expect("it is not zero");
/// Maximum rate of refused callbacks that are kept per gateway, or per company if the gateway is unknown. The others are not
/// recorded.
pub(super) const KEPT_REFUSALS: Rule = Rule { limit: 60, window: TimeDelta::hours(1) };

/// `[gateways]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Maximum number of callbacks per minute for one API key or gateway and client address.
    pub callbacks_per_minute: NonZeroU32,
    /// How often the card provider is asked for callbacks that did not arrive. `None`: never.
    #[serde(deserialize_with = "settings::optional_time")]
    pub reconcile_every: Option<Duration>,
    /// How long the bodies of callbacks are kept, which have the data of payers.
    #[serde(deserialize_with = "settings::time")]
    pub body_retention: Duration,
}

/// The state of the routes and the worker.
#[derive(Clone, Debug)]
pub struct Gateways(Opaque<Shared>);

/// The state that all clones of [`Gateways`] share.
#[derive(Debug)]
pub struct Shared {
    pub(super) pool: Pool,
    pub(super) clock: Clock,
    pub(super) key: ApplicationKey,
    pub(super) throttle: LocalRateLimiter<(Uuid, IpNet)>,
    /// Requests without a key that name an unknown gateway, by client network.
    pub(super) unknown_gateways: FailureLimiter<IpNet>,
    /// Refused callbacks that were kept, by gateway or company. Whatever is over the limit of this instance touches no connection.
    pub(super) kept_refusals: LocalWindow<Uuid>,
    /// Reads large callbacks, for each company.
    pub(super) reading: HeavyWork<CompanyId>,
    pub(super) cache: GatewayCache,
    /// Records callbacks in batches.
    pub(super) recording: Recording,
    /// Signals events published by this instance.
    pub(super) notifier: CommitNotifier,
    pub(super) card: Card,
    pub(super) reconcile_every: Option<Duration>,
    pub(super) metrics: Metrics,
    pub(super) body_retention: TimeDelta,
}

impl Deref for Gateways {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl ResourceState for Gateways {
    fn pool(&self) -> &Pool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
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
        card: Card,
        lifecycle: &Lifecycle,
    ) -> Self {
        let recording = recording(&pool, &clock, &notifier, lifecycle);
        let throttle = LocalRateLimiter::new(settings.callbacks_per_minute);
        let unknown_gateways = FailureLimiter::new(UNKNOWN_GATEWAYS_PER_MINUTE);
        let (kept_refusals, reading, cache) = (LocalWindow::new(KEPT_REFUSALS), HeavyWork::new(), GatewayCache::new());
        let reconcile_every = settings.reconcile_every;
        let body_retention = TimeDelta::from_std(settings.body_retention).unwrap_or(TimeDelta::MAX);
        Self(Opaque::new(Shared {
            pool,
            clock,
            key,
            throttle,
            unknown_gateways,
            kept_refusals,
            reading,
            cache,
            recording,
            notifier,
            card,
            reconcile_every,
            body_retention,
            metrics: Metrics::default(),
        }))
    }

    /// What is measured of the queue of callbacks.
    pub fn group_metrics(&self) -> &GroupMetrics {
        self.recording.metrics()
    }

    /// The caches by name.
    pub fn cache_metrics(&self) -> [(&'static str, &CacheMetrics); 2] {
        [("gateways", self.cache.by_id.metrics()), ("gateways_of_company", self.cache.of_company.metrics())]
    }

    /// Removes expired counters. Called about once a minute.
    pub fn sweep(&self) {
        self.throttle.sweep();
        self.unknown_gateways.sweep();
        self.kept_refusals.sweep(self.clock.now());
    }
}
