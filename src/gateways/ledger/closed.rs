//! How a callback ends that needs no further try, and what its record says of that.

use crate::gateways::drivers::NotUnderstood;
use crate::gateways::genuine::GenuineCallback;
use crate::gateways::ledger::Status;
use crate::gateways::ledger::look_up::Known;

/// The reason of a callback that was booked, but for what its detail says.
const PARTLY_UNDERSTOOD: &str = "partly_understood";

/// The end of a callback.
#[derive(Debug)]
pub struct Closed {
    pub status: Status,
    /// As a word and as a sentence: why it was ignored, or that some of it was not booked.
    pub reason: Option<&'static str>,
    pub detail: Option<String>,
}

impl Closed {
    /// The end of a callback that was read; an error if it was not understood.
    pub fn of(callback: &GenuineCallback, known: &Known) -> Result<Self, NotUnderstood> {
        match (&callback.update, callback.ignored) {
            (Ok(Some(_)), _) => {
                let detail = known.remarks(callback);
                Ok(Self { status: Status::Processed, reason: detail.is_some().then_some(PARTLY_UNDERSTOOD), detail })
            }
            (Ok(None), Some(other)) => {
                Ok(Self { status: Status::Ignored, reason: Some(other.reason()), detail: Some(other.detail().to_owned()) })
            }
            (Ok(None), None) => Ok(Self { status: Status::Ignored, reason: None, detail: None }),
            (Err(not_understood), _) => Err(not_understood.clone()),
        }
    }
}
