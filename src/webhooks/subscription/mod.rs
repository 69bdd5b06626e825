//! Subscriptions: an endpoint of a company and the events it wants (interface 2; decisions, section 7).

mod events_wanted;
mod extra_headers;
mod queries;
mod secret;

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::ids::SubscriptionId;

pub use events_wanted::{EventsWanted, NotSubscribable};
pub use extra_headers::{ExtraHeaders, NotAnExtraHeader};
pub use secret::SigningSecret;

/// Whether deliveries are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Status {
    /// They are.
    Enabled,
    /// Nothing is sent, and what happens meanwhile is not sent later either.
    Disabled,
}

/// Why a subscription is disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum DisabledReason {
    /// Somebody wanted it so.
    Requested,
    /// Its endpoint answered 410.
    Gone,
}

/// How `X-Service-Signature` is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum SignatureFormat {
    /// Lower-case hex, which the interface's own verification sample compares with.
    #[default]
    Bare,
    /// `sha256=` and the hex.
    Prefixed,
}

/// How long one attempt may take, from the look-up of the name to the end of the answer: 1 to 30 whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, sqlx::Type)]
#[serde(try_from = "i16")]
#[sqlx(transparent)]
pub struct AttemptTimeout(i16);

/// The number is no time limit for an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the timeout is 1 to 30 seconds")]
pub struct NotAnAttemptTimeout;

impl AttemptTimeout {
    pub(super) fn duration(self) -> Duration {
        Duration::from_secs(self.0.unsigned_abs().into())
    }
}

impl Default for AttemptTimeout {
    fn default() -> Self {
        Self(15)
    }
}

impl TryFrom<i16> for AttemptTimeout {
    type Error = NotAnAttemptTimeout;

    fn try_from(seconds: i16) -> Result<Self, NotAnAttemptTimeout> {
        if (1..=30).contains(&seconds) { Ok(Self(seconds)) } else { Err(NotAnAttemptTimeout) }
    }
}

/// Disables a subscription, unless it is already, and calls off what has not been delivered to it. What is in flight at this moment may
/// still arrive.
pub(super) async fn disable(
    conn: &mut PgConnection,
    subscription: SubscriptionId,
    reason: DisabledReason,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    queries::disable(conn, subscription, reason, now).await
}
