//! `[webhooks]`: how much is sent at once, and where to.

use std::path::PathBuf;
use std::time::Duration;

use chrono::TimeDelta;
use ipnet::IpNet;

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
    pub concurrency: usize,
    /// Deliveries in flight to one endpoint at most, by all instances together.
    pub endpoint_concurrency: u32,
    /// How often an instance looks for due deliveries when nothing wakes it.
    #[serde(with = "humantime_serde")]
    pub poll_interval: Duration,
    /// How long events, deliveries and attempts are kept.
    #[serde(with = "humantime_serde")]
    pub retention: Duration,
    /// How long deliveries that failed are kept, with their events and attempts.
    #[serde(with = "humantime_serde")]
    pub failed_retention: Duration,
    /// When an endpoint that fails is left alone.
    pub circuit: Circuit,
}

/// `[webhooks.circuit]`
#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Circuit {
    /// Failures in a row after which it opens.
    pub opens_after: u32,
    /// How long it stays open before one attempt is made on trial.
    #[serde(with = "humantime_serde")]
    pub cool_down: Duration,
}

impl Circuit {
    /// As the database counts.
    pub(super) fn opens_after(&self) -> i32 {
        self.opens_after.try_into().unwrap_or(i32::MAX)
    }

    /// As the database reckons.
    pub(super) fn cool_down(&self) -> TimeDelta {
        TimeDelta::from_std(self.cool_down).unwrap_or(TimeDelta::days(1))
    }
}
