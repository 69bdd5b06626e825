//! `[webhooks]`: how much is sent at once, and where to.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

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
    pub concurrency: NonZeroU32,
    /// Deliveries in flight to one endpoint at most, by all instances together.
    pub endpoint_concurrency: NonZeroU32,
    /// How often an instance looks for due deliveries when nothing wakes it.
    #[serde(deserialize_with = "settings::time")]
    pub poll_interval: Duration,
}
