//! The hub's state, as its routes and its worker share it.

use std::ops::Deref;
use std::time::Duration;

use tokio::sync::watch;

use crate::events::{Catalogue, CommitNotifier};
use crate::kernel::cache_metrics::CacheMetrics;
use crate::kernel::clock::Clock;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database::{self, Pool};
use crate::kernel::ids::WorkerId;
use crate::kernel::metrics::{Registry, Seconds};
use crate::kernel::opaque::Opaque;
use crate::providers::mail::Mail;
use crate::resources::ResourceState;
use crate::webhooks::colleagues::Colleagues;
use crate::webhooks::delivering::Delivering;
use crate::webhooks::endpoint::EndpointCache;
use crate::webhooks::in_the_way::InTheWay;
use crate::webhooks::launching::Launching;
use crate::webhooks::metrics::Metrics;
use crate::webhooks::progress::Progress;
use crate::webhooks::settings::Settings;
use crate::webhooks::tracks::DeliveryPools;

/// Connections of the worker besides those that move deliveries and listen: for housekeeping, vacuuming, replays, cancelling, failing
/// endpoints, mails to operators, and signs of life.
const WORKER_CONNECTIONS: u32 = 7;

/// The hub: the state of its routes and its worker.
#[derive(Clone, Debug)]
pub struct Webhooks(Opaque<Shared>);

/// The state that all clones of [`Webhooks`] share.
#[derive(Debug)]
pub struct Shared {
    pool: Pool,
    /// The worker's own connection pool, so that the worker and requests do not starve each other of connections.
    pub(super) worker_pool: Pool,
    /// The connections on which deliveries are moved.
    pub(super) delivery_pools: DeliveryPools,
    pub(super) clock: Clock,
    pub(super) key: ApplicationKey,
    pub(super) endpoint_cache: EndpointCache,
    pub(super) delivering: Delivering,
    /// The worker of this instance, for those who take deliveries into flight beside it.
    pub(super) launching: Launching,
    /// For whom that was tried in vain a moment ago.
    pub(super) in_the_way: InTheWay,
    pub(super) settings: Settings,
    pub(super) catalogue: Catalogue,
    pub(super) notifier: CommitNotifier,
    /// Changes when this instance has fanned out events.
    pub(super) fanned_out: watch::Sender<()>,
    pub(super) mail: Mail,
    pub(super) progress: Progress,
    /// The name of this instance among those that deliver.
    pub(super) worker: WorkerId,
    pub(super) colleagues: Colleagues,
    pub(super) metrics: Metrics,
    /// When the partitions of the log were last maintained by this instance, in seconds since 1970.
    pub(super) maintained_at: Seconds,
}

/// The parts that the hub is built from.
pub struct Parts {
    /// The connections of requests. The worker has a pool of its own for the same database.
    pub pool: Pool,
    /// The clock.
    pub clock: Clock,
    /// The key that secrets are encrypted with.
    pub key: ApplicationKey,
    /// `[webhooks]`
    pub settings: Settings,
    /// What the process delivers with.
    pub delivering: Delivering,
    /// The event types that can be subscribed to.
    pub catalogue: Catalogue,
    /// Signals events published by this instance.
    pub notifier: CommitNotifier,
    /// Sends mail to operators about failing webhooks.
    pub mail: Mail,
}

impl Deref for Webhooks {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl ResourceState for Webhooks {
    fn pool(&self) -> &Pool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

impl Webhooks {
    /// Builds the hub.
    pub fn new(parts: Parts) -> Self {
        let Parts { pool, clock, key, settings, delivering, catalogue, notifier, mail } = parts;
        let worker_pool = database::background_pool(&pool, "worker", WORKER_CONNECTIONS);
        let delivery_pools = DeliveryPools::new(&pool);
        Self(Opaque::new(Shared {
            pool,
            worker_pool,
            delivery_pools,
            worker: WorkerId::new(clock.now()),
            colleagues: Colleagues::default(),
            clock,
            key,
            endpoint_cache: EndpointCache::new(),
            delivering,
            launching: Launching::default(),
            in_the_way: InTheWay::default(),
            settings,
            catalogue,
            notifier,
            fanned_out: watch::Sender::default(),
            mail,
            progress: Progress::default(),
            metrics: Metrics::new(),
            maintained_at: Seconds::default(),
        }))
    }

    /// Registers what is measured of deliveries.
    pub fn register(&self, registry: &mut Registry) {
        self.metrics.register(registry, &self.delivering.permits, self.settings.concurrency());
        let this = self.clone();
        let standstill = move || this.standstill().map(|time| time.as_secs_f64());
        registry.gauge(
            "portico_webhook_worker_standstill_seconds",
            "Time since the slowest task of the worker completed a round",
            standstill,
        );
    }

    /// The cache by its name.
    pub fn cache_metrics(&self) -> (&'static str, &CacheMetrics) {
        ("endpoints", self.endpoint_cache.metrics())
    }

    /// When this instance has last maintained the partitions of the log, in seconds since 1970; 0 if it has not.
    pub fn maintained_at(&self) -> &Seconds {
        &self.maintained_at
    }

    /// For how long the worker of this instance has completed no round, beyond the interval at which it looks for work by itself. `None`
    /// if no worker was started.
    pub fn standstill(&self) -> Option<Duration> {
        self.progress.oldest().map(|time| time.saturating_sub(self.settings.poll_interval))
    }
}
