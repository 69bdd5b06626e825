//! The SQL of the secret keys of gateways.

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, GatewayId};

pub struct CardGatewayRow {
    pub id: GatewayId,
    pub secret_key: Vec<u8>,
}

pub async fn find_card_gateway(conn: &mut Connection, company: CompanyId) -> Result<Option<CardGatewayRow>, sqlx::Error> {
    sqlx::query_as!(
        CardGatewayRow,
        r#"select id, secret_key as "secret_key!" from gateways
           where company_id = $1 and driver = 'card' and status = 'active' and deleted_at is null"#,
        company.uuid(),
    )
    .fetch_optional(conn)
    .await
}

pub async fn find_secret_key(conn: &mut Connection, gateway: GatewayId) -> Result<Option<Vec<u8>>, sqlx::Error> {
    let found = sqlx::query_scalar!("select secret_key from gateways where id = $1 and deleted_at is null", gateway.uuid());
    Ok(found.fetch_optional(conn).await?.flatten())
}

/// The active card gateways of all companies.
pub async fn list_card_gateways(conn: &mut Connection) -> Result<Vec<CardGatewayRow>, sqlx::Error> {
    sqlx::query_as!(
        CardGatewayRow,
        r#"select id, secret_key as "secret_key!" from gateways where driver = 'card' and status = 'active' and deleted_at is null"#,
    )
    .fetch_all(conn)
    .await
}
