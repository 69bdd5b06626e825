//! What the portal needs.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;

use crate::kernel::clock::Clock;
use crate::kernel::database::Pool;
use crate::kernel::rate_limit::FailureLimiter;
use crate::kernel::settings;
use crate::kernel::web_origin::WebOrigin;
use crate::portal::Theme;
use crate::resources::ResourceState;

/// The maximum number of keys of no link per minute and client network.
const UNKNOWN_KEYS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(60).expect("60 is not zero");
/// The maximum number of requests without a live session per minute and client network. Browsers whose session has ended make some.
const UNKNOWN_SESSIONS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(600).expect("600 is not zero");

/// `[portal]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The origins of the pages that may show the portal in a frame.
    #[serde(deserialize_with = "settings::list")]
    pub frame_ancestors: Vec<WebOrigin>,
    /// How long a session lasts without being used.
    #[serde(deserialize_with = "settings::seconds")]
    pub idle_timeout: Duration,
    /// How long a session lasts at most.
    #[serde(deserialize_with = "settings::seconds")]
    pub session_lifetime: Duration,
    /// `[portal.theme]`
    pub theme: Theme,
}

/// The portal of one database.
#[derive(Clone, Debug)]
pub struct Portal {
    pub(super) pool: Pool,
    pub(super) clock: Clock,
    pub(super) settings: Arc<Settings>,
    /// Limits requests with keys of no link, per client network.
    pub(super) unknown_keys: FailureLimiter<IpNet>,
    /// Limits requests with tokens of no live session, per client network.
    pub(super) unknown_sessions: FailureLimiter<IpNet>,
}

impl Portal {
    /// Builds the state.
    pub fn new(pool: Pool, clock: Clock, settings: Settings) -> Self {
        let [unknown_keys, unknown_sessions] = [UNKNOWN_KEYS_PER_MINUTE, UNKNOWN_SESSIONS_PER_MINUTE].map(FailureLimiter::new);
        Self { pool, clock, settings: Arc::new(settings), unknown_keys, unknown_sessions }
    }

    /// The origins of the pages that may show the portal in a frame.
    pub fn frame_ancestors(&self) -> &[WebOrigin] {
        &self.settings.frame_ancestors
    }

    /// What the portal looks like to whom it is not known yet.
    pub fn theme(&self) -> &Theme {
        &self.settings.theme
    }
}

impl ResourceState for Portal {
    fn pool(&self) -> &Pool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}
