//! The SQL of the secret keys of gateways.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::ids::{CompanyId, GatewayId};

pub struct CardGatewayRow {
    pub id: GatewayId,
    pub secret_key: Vec<u8>,
}

pub async fn find_card_gateway(conn: &mut PgConnection, company: CompanyId) -> Result<Option<CardGatewayRow>, sqlx::Error> {
    sqlx::query_as!(
        CardGatewayRow,
        r#"select id, secret_key as "secret_key!" from gateways
           where company_id = $1 and driver = 'card' and status = 'active' and deleted_at is null"#,
        company.uuid(),
    )
    .fetch_optional(conn)
    .await
}

/// The active card gateways of all companies.
pub async fn list_card_gateways(conn: &mut PgConnection) -> Result<Vec<CardGatewayRow>, sqlx::Error> {
    sqlx::query_as!(
        CardGatewayRow,
        r#"select id, secret_key as "secret_key!" from gateways where driver = 'card' and status = 'active' and deleted_at is null"#,
    )
    .fetch_all(conn)
    .await
}

pub async fn insert_gateway(
    conn: &mut PgConnection,
    id: GatewayId,
    company: CompanyId,
    driver: &str,
    name: &str,
    secret_key: &[u8],
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into gateways (id, company_id, version, created_at, updated_at, name, driver, status, secret_key)
         values ($1, $2, 1, $6, $6, $4, $3, 'active', $5)",
        id.uuid(),
        company.uuid(),
        driver,
        name,
        secret_key,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The company that owns the gateway.
pub async fn company_of_gateway(conn: &mut PgConnection, id: GatewayId) -> Result<Option<CompanyId>, sqlx::Error> {
    let found = sqlx::query_scalar!("select company_id from gateways where id = $1", id.uuid()).fetch_optional(conn).await?;
    Ok(found.map(CompanyId::from))
}

/// Returns `false` if the company does not have this gateway.
pub async fn set_secret_key(
    conn: &mut PgConnection,
    company: CompanyId,
    id: GatewayId,
    secret_key: &[u8],
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let changed = sqlx::query!(
        "update gateways set secret_key = $2, version = version + 1, updated_at = $3
         where id = $1 and company_id = $4 and deleted_at is null",
        id.uuid(),
        secret_key,
        now,
        company.uuid(),
    )
    .execute(conn)
    .await?;
    Ok(changed.rows_affected() == 1)
}
