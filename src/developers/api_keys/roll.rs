//! `POST api-keys/{uuid}/roll`: rotates an API key. The old key stays valid for an overlap.

use axum::http::StatusCode;
use axum::response::Response;
use chrono::TimeDelta;
use serde::Deserialize;

use crate::callers::Caller;
use crate::companies::Companies;
use crate::developers::api_keys::ApiKeyRecord;
use crate::kernel::ids::KeyId;
use crate::kernel::json::JsonOptions;
use crate::kernel::openapi::{OperationDoc, closed_object};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{GracePeriod, RecordTransaction, Resource, Shown, WriteRequest};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Roll {
    /// Seconds for which the old key stays valid.
    #[serde(default)]
    overlap: GracePeriod,
}

pub(super) fn doc() -> OperationDoc {
    OperationDoc::new("Replace an API key with a new one.")
        .taking_options(closed_object(&[], [("overlap", GracePeriod::schema())]))
        .showing(StatusCode::CREATED, ApiKeyRecord::SINGULAR)
        .refusing(&[ProblemCode::ApiKeyTooStrong, ProblemCode::ApiKeyEnded])
}

/// The response contains the new key in plain text.
pub(super) async fn roll(
    WriteRequest { state: companies, caller, id }: WriteRequest<ApiKeyRecord>,
    JsonOptions(Roll { overlap }): JsonOptions<Roll>,
) -> Result<Response, Problem> {
    let successor = roll_api_key(&companies, &caller, id, overlap).await?;
    Ok(successor.answer(StatusCode::CREATED))
}

/// Rotates an API key. The new key is among the fields shown, in plain text.
pub async fn roll_api_key(companies: &Companies, caller: &Caller, id: KeyId, overlap: GracePeriod) -> Result<Shown<ApiKeyRecord>, Problem> {
    ApiKeyRecord::require(caller, ApiKeyRecord::writing())?;
    let mut transaction = RecordTransaction::begin(companies, caller).await?;
    let old = transaction.lock::<ApiKeyRecord>(id).await?;
    if old.fields.is_over(transaction.now) {
        return Err(ProblemCode::ApiKeyEnded.into());
    }
    let new = ApiKeyRecord { replaces: Some(id), last_used_at: None, revoked_at: None, ..old.fields.clone() }.with_new_key();
    // The caller will see the new key, so its grant must be within the caller's own. This also limits a caller whose own key was
    // rotated.
    caller.must_cover(&new.fields.grant(), None)?;

    let mut successor = transaction.insert(KeyId::new(transaction.now), new.fields).await?;
    let until = transaction.now + TimeDelta::from(overlap);
    // Rotating a key again does not extend its validity.
    let ending = ApiKeyRecord { revoked_at: old.fields.revoked_at.into_iter().chain([until]).min(), ..old.fields.clone() };
    transaction.update(old, ending).await?;
    transaction.commit().await?;
    successor.members.extend(new.shown_once);
    Ok(successor)
}
