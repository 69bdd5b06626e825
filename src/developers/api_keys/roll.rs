//! `POST api-keys/{uuid}/roll`: rotates an API key. The old key stays valid for an overlap.

use axum::http::StatusCode;
use axum::response::Response;
use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::companies::{CallingCompany, company_of_key};
use crate::developers::Developers;
use crate::developers::api_keys::{ApiKeyRecord, check};
use crate::kernel::ids::{KeyId, TypedId};
use crate::kernel::json::Json;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{Edit, Overlap, Shown, Writing};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Roll {
    /// Seconds for which the old key stays valid.
    #[serde(default)]
    overlap: Overlap,
}

/// The response contains the new key in plain text.
pub(super) async fn roll(
    Writing { room: developers, caller, id }: Writing<ApiKeyRecord>,
    Json(Roll { overlap }): Json<Roll>,
) -> Result<Response, Problem> {
    let successor = developers.roll_api_key(&caller, id, overlap).await?;
    Ok(successor.answer(StatusCode::CREATED))
}

impl Developers {
    async fn roll_api_key(&self, caller: &CallingCompany, id: KeyId, overlap: Overlap) -> Result<Shown<ApiKeyRecord>, Problem> {
        roll_in(Edit::by(self, caller).await?, id, overlap).await
    }

    /// Rotates a key for an operator of the service, without a caller. Returns the fields of the new key, including the key in
    /// plain text.
    pub async fn roll_api_key_by_hand(&self, id: KeyId, overlap: Overlap) -> Result<Map<String, Value>, Problem> {
        let company = company_of_key(&mut *self.pool.acquire().await?, id).await?.ok_or(ProblemCode::RecordNotFound)?;
        Ok(roll_in(Edit::begin(self, company).await?, id, overlap).await?.members)
    }
}

async fn roll_in(mut edit: Edit<Developers>, id: KeyId, overlap: Overlap) -> Result<Shown<ApiKeyRecord>, Problem> {
    let old = edit.lock::<ApiKeyRecord>(id).await?;
    if old.fields.is_over(edit.now) {
        return Err(ProblemCode::ApiKeyEnded.into());
    }
    let new = ApiKeyRecord { replaces: Some(id), last_used_at: None, revoked_at: None, ..old.fields.clone() }.with_new_key();
    // The caller will see the new key, so its grant must be within the caller's own. This also limits a caller whose own key was rotated.
    check(&edit, &new.fields.grant())?;

    let mut successor = edit.insert(KeyId::fresh(edit.now), new.fields).await?;
    let until = edit.now + TimeDelta::from(overlap);
    // Rotating a key again does not extend its validity.
    let ending = ApiKeyRecord { revoked_at: old.fields.revoked_at.into_iter().chain([until]).min(), ..old.fields.clone() };
    edit.update(old, ending).await?;
    edit.commit().await?;
    successor.members.extend(new.shown_once);
    Ok(successor)
}
