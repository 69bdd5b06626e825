//! The state of the routes, and the settings that it is built from.

use std::time::Duration;

use secrecy::SecretString;

use crate::kernel::clock::Clock;
use crate::kernel::database::Pool;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::settings;
use crate::realtime::key::SocketKey;

/// `[socket]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The key shared with the socket server. Empty: no socket authentication.
    pub key: SecretString,
    /// Further keys that verify.
    #[serde(deserialize_with = "settings::secrets")]
    pub previous_keys: Vec<SecretString>,
    /// The `iss` of socket tokens.
    pub issuer: String,
    /// The `aud` of socket tokens.
    pub audience: String,
    /// The validity of a socket token.
    #[serde(deserialize_with = "settings::seconds")]
    pub lifetime: Duration,
    /// The maximum time for which the socket server may rely on a decision.
    #[serde(deserialize_with = "settings::seconds")]
    pub answer_lifetime: Duration,
}

/// The state of the routes.
#[derive(Clone, Debug)]
pub struct Realtime {
    pub(super) pool: Pool,
    pub(super) clock: Clock,
    key: Option<SocketKey>,
    pub(super) settings: Settings,
}

impl Realtime {
    /// Builds the state. Without a key there are no tokens.
    pub fn new(pool: Pool, clock: Clock, key: Option<SocketKey>, settings: Settings) -> Self {
        Self { pool, clock, key, settings }
    }

    /// Returns the key, or the problem that makes an app connect without a token.
    pub(super) fn key(&self) -> Result<&SocketKey, Problem> {
        self.key.as_ref().ok_or_else(|| ProblemCode::SocketNotConfigured.into())
    }
}
