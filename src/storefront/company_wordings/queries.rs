//! The SQL of the wordings of companies.

use serde_json::{Map, Value};
use sqlx::types::Json;

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, MessageWordingId};
use crate::storefront::company_wordings::StoredWording;

/// The wordings of a company, one for each language at most.
pub async fn list_wordings(conn: &mut Connection, company: CompanyId) -> Result<Vec<StoredWording>, sqlx::Error> {
    sqlx::query_as!(
        StoredWording,
        r#"select id as "id: MessageWordingId", version, language, messages as "messages: Json<Map<String, Value>>"
           from message_wordings where company_id = $1 and deleted_at is null order by language"#,
        company.uuid(),
    )
    .fetch_all(conn)
    .await
}
