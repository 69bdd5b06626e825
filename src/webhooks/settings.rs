//! The settings `[webhooks]`: concurrency limits, allowed targets, retention and the circuit breaker.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use chrono::TimeDelta;
use ipnet::IpNet;
use tokio::sync::Semaphore;

use crate::kernel::settings;

/// `[webhooks]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Non-public networks that webhooks may be sent to: `["10.20.0.0/16"]`.
    #[serde(deserialize_with = "settings::list")]
    pub allowed_networks: Vec<IpNet>,
    /// PEM files with certificates of private authorities to trust in addition to the system's.
    #[serde(deserialize_with = "settings::list")]
    pub extra_root_certificates: Vec<PathBuf>,
    /// Maximum number of deliveries that one instance has in flight.
    pub concurrency: NonZeroU32,
    /// Maximum number of deliveries sent to one endpoint at once, over all instances; less when few places of the instance are free.
    pub endpoint_concurrency: NonZeroU32,
    /// An endpoint whose attempts take no longer gets more deliveries claimed than are sent to it at once, so that it need not wait for the next ones.
    #[serde(deserialize_with = "settings::time")]
    pub quick_attempt: Duration,
    /// How often an instance looks for due deliveries when nothing wakes it.
    #[serde(deserialize_with = "settings::time")]
    pub poll_interval: Duration,
    /// How long events, deliveries and attempts are kept.
    #[serde(deserialize_with = "settings::time")]
    pub retention: Duration,
    /// How long failed deliveries are kept, with their events and attempts, and how long a paused webhook holds a delivery.
    #[serde(deserialize_with = "settings::time")]
    pub failed_retention: Duration,
    /// The circuit breaker of an endpoint.
    pub circuit: Circuit,
}

impl Settings {
    /// `concurrency` as the permit count of a semaphore.
    pub(super) fn concurrency(&self) -> usize {
        usize::try_from(self.concurrency.get()).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS)
    }

    /// `endpoint_concurrency` as an SQL integer.
    pub(super) fn endpoint_concurrency(&self) -> i32 {
        i32::try_from(self.endpoint_concurrency.get()).unwrap_or(i32::MAX)
    }
}

/// `[webhooks.circuit]`
#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Circuit {
    /// Consecutive failures after which the circuit opens.
    pub opens_after: NonZeroU32,
    /// How long the circuit stays open before one trial attempt is made (half-open).
    #[serde(deserialize_with = "settings::time")]
    pub cool_down: Duration,
}

impl Circuit {
    /// `opens_after` as an SQL integer.
    pub(super) fn opens_after(&self) -> i32 {
        i32::try_from(self.opens_after.get()).unwrap_or(i32::MAX)
    }

    /// `cool_down` as an SQL interval; one day if it is out of range.
    pub(super) fn cool_down(&self) -> TimeDelta {
        TimeDelta::from_std(self.cool_down).unwrap_or(TimeDelta::days(1))
    }
}
