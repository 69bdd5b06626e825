//! What a callback that was verified says.

use serde_json::Value;

use crate::gateways::accounts::Found;
use crate::gateways::callbacks::refusal::key_of;
use crate::gateways::driver::{NotUnderstood, Reading, Telling};
use crate::kernel::json;
use crate::kernel::problem::{Problem, ProblemCode};

/// The longest id and type that are taken as they are.
const LONGEST_WORD: usize = 255;

/// A callback that was verified.
#[derive(Debug)]
pub(super) struct Genuine {
    /// What it is told apart by.
    pub(super) key: String,
    /// The gateway's word for what happened.
    pub(super) kind: Option<String>,
    /// What it tells.
    pub(super) told: Result<Option<Telling>, NotUnderstood>,
}

impl Genuine {
    /// Reads what was verified, now or when it came.
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
