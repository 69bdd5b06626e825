//! Idempotency keys of replays: a request that is repeated with the same key, after a double click or a lost response, replays once.
//!
//! A key is valid for a day. It is stored in the transaction that creates the replay. A concurrent request with the same key waits
//! for this transaction to end, and then returns its result.

use axum::http::StatusCode;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use uuid::Uuid;

use crate::callers::Caller;
use crate::kernel::crypto::sha256;
use crate::kernel::database::Connection;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{Line, RecordTransaction};
use crate::webhooks::Webhooks;
use crate::webhooks::replays::queries::{self, Kept};

const LIFETIME: TimeDelta = TimeDelta::hours(24);

/// An idempotency key, with the digest of the request that contains it.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) text: String,
    pub(super) digest: [u8; 32],
}

impl Key {
    /// A caller who is restricted to one owner has keys of its own, which meet neither those of other owners nor the company's.
    pub(super) fn new(caller: &Caller, text: Line<255>, request: &Value) -> Self {
        let text = match &caller.grant.owner {
            None => text.into(),
            Some(owner) => format!("{}:{}", hex::encode(sha256(owner.as_str())), String::from(text)),
        };
        Self { text, digest: sha256(request.to_string().as_bytes()) }
    }
}

/// The result of a request that may be a repetition of an earlier one.
#[derive(Debug)]
pub(super) struct Once<T> {
    pub(super) made: T,
    /// Whether an earlier request with the same key created the result.
    is_repeated: bool,
}

impl<T> Once<T> {
    pub(super) fn created(made: T) -> Self {
        Self { made, is_repeated: false }
    }

    pub(super) fn repeated(made: T) -> Self {
        Self { made, is_repeated: true }
    }

    /// The status code: `first` if this request created the result, otherwise 200.
    pub(super) fn status(&self, first: StatusCode) -> StatusCode {
        if self.is_repeated { StatusCode::OK } else { first }
    }
}

/// Stores the key, if there is one, with the id of the result that will be `made`. Returns the stored key if an earlier request used it.
pub(super) async fn take(transaction: &mut RecordTransaction<Webhooks>, key: Option<&Key>, made: Uuid) -> Result<Option<Kept>, Problem> {
    let Some(key) = key else { return Ok(None) };
    let (company, now) = (transaction.caller.company, transaction.now);
    if queries::take_key(transaction.conn(), company, key, made, now, now - LIFETIME).await? {
        return Ok(None);
    }
    let kept = queries::find_key(transaction.conn(), company, key).await?;
    match kept.digest == key.digest {
        true => Ok(Some(kept)),
        false => Err(Problem::new(ProblemCode::IdempotencyKeyUsed).detail("This key was used for another replay in the last 24 hours.")),
    }
}

pub async fn delete_expired_keys(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    queries::delete_keys_until(conn, now - LIFETIME).await
}
