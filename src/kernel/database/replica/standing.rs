//! Whether a standby is asked, and why not.

use std::time::Duration;

/// What was last found of the standby.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It was not looked at yet.
    Unknown,
    /// It is asked.
    Used,
    /// It lacks more than it may.
    Behind,
    /// It has been promoted, or never was one.
    NoStandby,
    /// It does not answer, or does not say where it is; the reason.
    Away(String),
}

impl Standing {
    /// Says in the log that it is another one than before.
    pub(super) fn announce(&self, max_lag: Duration) {
        match self {
            Self::Unknown => {}
            Self::Used => tracing::info!("lists are read from the standby"),
            Self::Behind => tracing::warn!("lists are read from the primary: the standby is further behind than {max_lag:?}"),
            Self::NoStandby => tracing::warn!("lists are read from the primary: the server of database.replica_url is no standby"),
            Self::Away(error) => tracing::warn!(error, "lists are read from the primary: the standby cannot be asked"),
        }
    }
}
