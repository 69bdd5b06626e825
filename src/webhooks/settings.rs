//! `[webhooks]`: how much is sent at once, and where to.

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
    /// Networks that webhooks may be sent to although they are not the public internet: `["10.20.0.0/16"]`.
    #[serde(deserialize_with = "settings::list")]
    pub allowed_networks: Vec<IpNet>,
    /// PEM files with certificates of private authorities to trust besides the system's.
    #[serde(deserialize_with = "settings::list")]
    pub extra_root_certificates: Vec<PathBuf>,
    /// Deliveries one instance has in flight at most.
    pub concurrency: NonZeroU32,
    /// Deliveries in flight to one endpoint at most, by all instances together.
    pub endpoint_concurrency: NonZeroU32,
    /// How often an instance looks for due deliveries when nothing wakes it.
    #[serde(deserialize_with = "settings::time")]
    pub poll_interval: Duration,
    /// How long events, deliveries and attempts are kept.
    #[serde(deserialize_with = "settings::time")]
    pub retention: Duration,
    /// How long deliveries that failed are kept, with their events and attempts.
    #[serde(deserialize_with = "settings::time")]
    pub failed_retention: Duration,
    /// When an endpoint that fails is left alone.
    pub circuit: Circuit,
}

impl Settings {
    /// As a semaphore counts.
    pub(super) fn concurrency(&self) -> usize {
        usize::try_from(self.concurrency.get()).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS)
    }

    /// As the database counts.
    pub(super) fn endpoint_concurrency(&self) -> i32 {
        i32::try_from(self.endpoint_concurrency.get()).unwrap_or(i32::MAX)
    }
}

/// `[webhooks.circuit]`
#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Circuit {
    /// Failures in a row after which it opens.
    pub opens_after: NonZeroU32,
    /// How long it stays open before one attempt is made on trial.
    #[serde(deserialize_with = "settings::time")]
    pub cool_down: Duration,
}

impl Circuit {
    /// As the database counts.
    pub(super) fn opens_after(&self) -> i32 {
        i32::try_from(self.opens_after.get()).unwrap_or(i32::MAX)
    }

    /// As the database reckons.
    pub(super) fn cool_down(&self) -> TimeDelta {
        TimeDelta::from_std(self.cool_down).unwrap_or(TimeDelta::days(1))
    }
}
