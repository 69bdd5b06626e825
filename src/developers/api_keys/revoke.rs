//! Revoking an API key, from the command line. The API deletes keys instead.

use crate::callers::Caller;
use crate::companies::Companies;
use crate::developers::api_keys::ApiKeyRecord;
use crate::kernel::ids::KeyId;
use crate::kernel::problem::Problem;
use crate::resources::{Record, RecordTransaction, Resource};

/// Revokes an API key immediately. Returns `false` if the caller's company has no live key with this id.
pub async fn revoke_api_key(companies: &Companies, caller: &Caller, id: KeyId) -> Result<bool, Problem> {
    ApiKeyRecord::require(caller, ApiKeyRecord::writing())?;
    let mut transaction = RecordTransaction::begin(companies, caller).await?;
    let now = transaction.now;
    let is_live = |key: &Record<ApiKeyRecord>| key.fields.revoked_at.is_none_or(|end| end > now);
    let Some(key) = transaction.lock_all::<ApiKeyRecord>(&[id]).await?.pop().filter(is_live) else { return Ok(false) };
    let revoked = ApiKeyRecord { revoked_at: Some(now), ..key.fields.clone() };
    transaction.update(key, revoked).await?;
    transaction.commit().await?;
    Ok(true)
}
