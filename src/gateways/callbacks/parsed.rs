//! The contents of a verified callback.

use serde_json::Value;

use crate::gateways::accounts::CallbackGateway;
use crate::gateways::callbacks::refusal::key_of;
use crate::gateways::driver::{NotUnderstood, PaymentUpdate, Reading};
use crate::kernel::json;
use crate::kernel::problem::{Problem, ProblemCode};

/// Maximum length of an id or type that is used as it is, in bytes.
const MAX_WORD_LEN: usize = 255;

/// A verified callback.
#[derive(Debug)]
pub(super) struct ParsedCallback {
    /// The deduplication key.
    pub(super) key: String,
    /// The gateway's name for the type of event.
    pub(super) kind: Option<String>,
    /// The facts in the callback.
    pub(super) update: Result<Option<PaymentUpdate>, NotUnderstood>,
}

impl ParsedCallback {
    /// Reads a body that was verified, now or on arrival.
    pub(super) fn read(found: &CallbackGateway, body: &[u8]) -> Self {
        let Ok(value) = json::parse::<Value>(body) else {
            let update = Err(NotUnderstood("The body is not valid JSON.".to_owned()));
            return Self { key: key_of(body), kind: None, update };
        };
        let Reading { id, kind, update } = found.account.read(&value);
        let short = |word: &String| word.len() <= MAX_WORD_LEN;
        let update = update.and_then(|update| match update {
            Some(update) if !short(&update.transaction) => Err(NotUnderstood("The id of the transaction is too long.".to_owned())),
            update => Ok(update),
        });
        Self { key: id.filter(short).unwrap_or_else(|| key_of(body)), kind: kind.filter(short), update }
    }
}

impl From<NotUnderstood> for Problem {
    fn from(not_understood: NotUnderstood) -> Self {
        Self::new(ProblemCode::CallbackNotUnderstood).detail(not_understood.to_string())
    }
}
