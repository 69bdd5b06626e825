//! Wrong passwords. A guess is counted as *in flight* before it is compared, and as wrong afterwards: at most ten are compared however many
//! arrive at once, and right ones that arrive together are not refused as if they had been wrong.

use chrono::{DateTime, TimeDelta, Utc};

use crate::kernel::clock::seconds_until;
use crate::kernel::crypto::sha256;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::guessing::Exceeded;
use crate::storefront::guessing::lockouts::Lockout;

/// Ten wrong ones within this time lock out.
pub const WINDOW: TimeDelta = TimeDelta::minutes(15);
/// A guess that is in flight for longer is of an instance that is gone.
pub const IN_FLIGHT: TimeDelta = TimeDelta::seconds(10);

/// What is guessed at if no account is. A digest, because the input may be a password in the wrong field.
pub fn subject_of(typed: &str) -> String {
    hex::encode(sha256(typed))
}

/// A guess that is counted as in flight.
#[derive(Debug)]
pub struct Counted {
    pub subject: String,
    /// Whether the client has guessed wrong at it before.
    pub has_failed: bool,
}

/// Why a password is not compared.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub enum Refusal {
    /// The client has guessed wrong too often.
    #[error(transparent)]
    Exceeded(#[from] Exceeded),
    /// There were too many wrong ones.
    #[error("the account is locked out")]
    LockedOut {
        /// Seconds until another one is compared.
        seconds: u64,
    },
    /// As many as may be wrong are being compared. They may be right.
    #[error("others are being compared")]
    InFlight,
}

impl Refusal {
    /// Every word of [`Self::as_str`].
    pub const WORDS: [&str; 3] = ["exceeded", "locked_out", "in_flight"];

    /// The word for it in the metrics.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Exceeded(_) => "exceeded",
            Self::LockedOut { .. } => "locked_out",
            Self::InFlight => "in_flight",
        }
    }

    /// Why a guess that was not counted as in flight was not.
    pub(in crate::storefront) fn of(lockout: Option<Lockout>, now: DateTime<Utc>) -> Self {
        lockout.map_or(Self::InFlight, |lockout| Self::LockedOut { seconds: seconds_until(lockout.until, now) })
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Exceeded(exceeded) => exceeded.into(),
            Refusal::LockedOut { seconds } => Self::new(ProblemCode::PasswordAttemptsExceeded).retry_after(seconds),
            Refusal::InFlight => Self::new(ProblemCode::PasswordAttemptsExceeded).retry_after(1),
        }
    }
}
