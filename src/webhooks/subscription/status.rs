//! Whether a subscription is served, and why not.

use std::str::FromStr;

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

/// The text is neither `enabled` nor `disabled`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a webhook is enabled or disabled")]
pub struct NotAStatus;

impl FromStr for Status {
    type Err = NotAStatus;

    fn from_str(text: &str) -> Result<Self, NotAStatus> {
        match text {
            "enabled" => Ok(Self::Enabled),
            "disabled" => Ok(Self::Disabled),
            _ => Err(NotAStatus),
        }
    }
}

/// Why a subscription is disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum DisabledReason {
    /// Somebody wanted it so.
    Requested,
    /// Its endpoint answered 410.
    Gone,
    /// Every delivery failed for five days.
    Failing,
}
