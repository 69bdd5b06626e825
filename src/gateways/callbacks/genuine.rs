//! The contents of a verified callback.

use serde_json::Value;

use crate::gateways::accounts::Found;
use crate::gateways::callbacks::refusal::key_of;
use crate::gateways::driver::{NotUnderstood, Reading, Telling};
use crate::kernel::json;
use crate::kernel::problem::{Problem, ProblemCode};

/// Maximum length of an id or type that is used as it is, in bytes.
const LONGEST_WORD: usize = 255;

/// A verified callback.
#[derive(Debug)]
pub(super) struct Genuine {
    /// The deduplication key.
    pub(super) key: String,
    /// The gateway's name for the type of event.
    pub(super) kind: Option<String>,
    /// The facts in the callback.
    pub(super) told: Result<Option<Telling>, NotUnderstood>,
}

impl Genuine {
    /// Reads a body that was verified, now or on arrival.
    pub(super) fn read(found: &Found, body: &[u8]) -> Self {
        let Ok(value) = json::parse::<Value>(body) else {
            let told = Err(NotUnderstood("The body is not valid JSON.".to_owned()));
            return Self { key: key_of(body), kind: None, told };
        };
        let Reading { id, kind, told } = found.account.read(&value);
        let short = |word: &String| word.len() <= LONGEST_WORD;
        let told = told.and_then(|telling| match telling {
            Some(telling) if !short(&telling.transaction) => Err(NotUnderstood("The name of the transaction is too long.".to_owned())),
            telling => Ok(telling),
        });
        Self { key: id.filter(short).unwrap_or_else(|| key_of(body)), kind: kind.filter(short), told }
    }
}

impl From<NotUnderstood> for Problem {
    fn from(not_understood: NotUnderstood) -> Self {
        Self::new(ProblemCode::CallbackNotUnderstood).detail(not_understood.to_string())
    }
}
