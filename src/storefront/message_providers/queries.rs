//! The SQL of the message providers of companies.

use serde_json::{Map, Value};
use sqlx::types::Json;

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, MessageProviderId};
use crate::storefront::message_providers::StoredProvider;
use crate::storefront::message_providers::kind::{MessageChannel, ProviderKind};

/// Whose provider this is, active or not.
pub async fn find(conn: &mut Connection, id: MessageProviderId) -> Result<Option<(CompanyId, StoredProvider)>, sqlx::Error> {
    let found = sqlx::query!(
        r#"select company_id as "company: CompanyId", version, channel as "channel: MessageChannel", kind as "kind: ProviderKind", falls_back,
                  settings as "settings: Json<Map<String, Value>>", secret
           from message_providers where id = $1 and deleted_at is null"#,
        id.uuid(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(found.map(|found| {
        let (version, channel, kind, falls_back) = (found.version, found.channel, found.kind, found.falls_back);
        (found.company, StoredProvider { id, version, channel, kind, falls_back, settings: found.settings, secret: found.secret })
    }))
}

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
