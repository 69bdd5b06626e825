//! The SQL of registration hooks.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{RegistrationHookId, StoreId};
use crate::storefront::registration_hooks::OnFailure;
use crate::webhooks::EndpointUrl;

/// A hook as it is stored.
#[derive(Debug)]
pub struct StoredHook {
    pub id: RegistrationHookId,
    pub version: i64,
    pub url: EndpointUrl,
    pub on_failure: OnFailure,
    pub sealed_secret: Vec<u8>,
    pub sealed_previous_secret: Option<Vec<u8>>,
    pub previous_secret_until: Option<DateTime<Utc>>,
}

/// The hook of a store, if it has one that is asked.
pub(super) async fn find_active_hook(conn: &mut Connection, store: StoreId) -> Result<Option<StoredHook>, sqlx::Error> {
    sqlx::query_as!(
        StoredHook,
        r#"select id as "id: RegistrationHookId", version, url as "url: EndpointUrl", on_failure as "on_failure: OnFailure", sealed_secret,
                  sealed_previous_secret, previous_secret_until
           from registration_hooks where store_id = $1 and deleted_at is null and status = 'active'"#,
        store.uuid(),
    )
    .fetch_optional(conn)
    .await
}
