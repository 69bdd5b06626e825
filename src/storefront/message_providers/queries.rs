//! The SQL of the message providers of companies.

use serde_json::{Map, Value};
use sqlx::types::Json;

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, MessageProviderId};
use crate::storefront::message_providers::StoredProvider;
use crate::storefront::message_providers::kind::{MessageChannel, ProviderKind};

/// The active providers of a company: one for each channel at most.
pub async fn list_active(conn: &mut Connection, company: CompanyId) -> Result<Vec<StoredProvider>, sqlx::Error> {
    sqlx::query_as!(
        StoredProvider,
        r#"select id as "id: MessageProviderId", version, channel as "channel: MessageChannel", kind as "kind: ProviderKind", falls_back,
                  settings as "settings: Json<Map<String, Value>>", secret
           from message_providers where company_id = $1 and status = 'active' and deleted_at is null"#,
        company.uuid(),
    )
    .fetch_all(conn)
    .await
}
