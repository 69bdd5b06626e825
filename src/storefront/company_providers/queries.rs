//! The SQL of the identity providers of companies.

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, IdentityProviderId};
use crate::storefront::company_providers::StoredProvider;
use crate::webhooks::EndpointUrl;

/// The providers of a company, active or not.
pub async fn list_providers(conn: &mut Connection, company: CompanyId) -> Result<Vec<StoredProvider>, sqlx::Error> {
    sqlx::query_as!(
        StoredProvider,
        r#"select id as "id: IdentityProviderId", version, name, status = 'active' as "is_active!", issuers, audiences,
                  jwks_url as "jwks_url: EndpointUrl", client_id, client_secret, token_url as "token_url: EndpointUrl",
                  graph_url as "graph_url: EndpointUrl"
           from identity_providers where company_id = $1 and deleted_at is null order by created_at, id"#,
        company.uuid(),
    )
    .fetch_all(conn)
    .await
}
