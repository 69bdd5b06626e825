//! What operators need to sign in: the database, the keys and the limits.

use std::time::Duration;

use sqlx::PgPool;

use crate::kernel::clock::Clock;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::password_hashing::PasswordHashing;
use crate::kernel::settings;

/// `[operators]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// How long an operator stays signed in without using the console.
    #[serde(deserialize_with = "settings::seconds")]
    pub idle_timeout: Duration,
    /// How long an operator stays signed in at most.
    #[serde(deserialize_with = "settings::seconds")]
    pub session_lifetime: Duration,
}

/// The operators of one database.
#[derive(Clone, Debug)]
pub struct Operators {
    pub(super) pool: PgPool,
    pub(super) clock: Clock,
    pub(super) key: ApplicationKey,
    pub(super) hashing: PasswordHashing,
    pub(super) settings: Settings,
}

impl Operators {
    /// Builds the state.
    pub fn new(pool: PgPool, clock: Clock, key: ApplicationKey, hashing: PasswordHashing, settings: Settings) -> Self {
        Self { pool, clock, key, hashing, settings }
    }
}
