//! Idempotency keys: what is asked for again under the same key, because somebody clicked twice or no answer came, is repeated once.
//!
//! A key is good for a day. It is taken in the transaction that repeats; who asks at the same moment waits for that one's end, and is then
//! answered what it made.

use axum::http::StatusCode;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::kernel::crypto::sha256;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{Line, RecordTransaction};
use crate::webhooks::Webhooks;
use crate::webhooks::replays::queries::{self, Kept};

/// How long a key stands for what was asked for.
const LIFETIME: TimeDelta = TimeDelta::hours(24);

/// A key, and what is asked for under it.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) text: String,
    pub(super) digest: [u8; 32],
}

impl Key {
    pub(super) fn new(text: Line<255>, asked: &Value) -> Self {
        Self { text: text.into(), digest: sha256(asked.to_string().as_bytes()) }
    }
}

/// What came of a request.
#[derive(Debug)]
pub(super) struct Once<T> {
    pub(super) made: T,
    /// An earlier request under the same key made it.
    is_repeated: bool,
}

impl<T> Once<T> {
    pub(super) fn now(made: T) -> Self {
        Self { made, is_repeated: false }
    }

    pub(super) fn before(made: T) -> Self {
        Self { made, is_repeated: true }
    }

    /// `first`, unless nothing was made by this request.
    pub(super) fn status(&self, first: StatusCode) -> StatusCode {
        if self.is_repeated { StatusCode::OK } else { first }
    }
}

/// Takes a key, where there is one, for what will be `made` under it; or gives what was.
pub(super) async fn take(transaction: &mut RecordTransaction<Webhooks>, key: Option<&Key>, made: Uuid) -> Result<Option<Kept>, Problem> {
    let Some(key) = key else { return Ok(None) };
    let (company, now) = (transaction.company, transaction.now);
    if queries::take_key(transaction.conn(), company, key, made, now, now - LIFETIME).await? {
        return Ok(None);
    }
    let kept = queries::find_key(transaction.conn(), company, key).await?;
    match kept.digest == key.digest {
        true => Ok(Some(kept)),
        false => Err(Problem::new(ProblemCode::IdempotencyKeyUsed).detail("This key stood for another replay in the last 24 hours.")),
    }
}

/// Forgets the keys of more than a day ago.
pub(in crate::webhooks) async fn forget_keys(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    queries::delete_keys_until(conn, now - LIFETIME).await
}
