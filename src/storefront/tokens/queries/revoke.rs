//! The SQL that ends sessions before they expire. What belongs to a session ends with it: `accounts::ending`.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, CustomerId, SessionId};
use crate::storefront::tokens::TokenId;

/// Revokes one session of a customer. Returns `None` if the session is not the customer's or is revoked already.
pub async fn revoke_token(
    conn: &mut Connection,
    customer: CustomerId,
    id: SessionId,
    now: DateTime<Utc>,
) -> Result<Option<TokenId>, sqlx::Error> {
    let revoked = sqlx::query_scalar!(
        "update customer_tokens set revoked_at = $3 where uuid = $2 and customer_id = $1 and revoked_at is null returning id",
        customer.uuid(),
        id.uuid(),
        now,
    );
    Ok(revoked.fetch_optional(conn).await?.map(TokenId))
}

pub async fn revoke_all_tokens(conn: &mut Connection, customer: CustomerId, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("update customer_tokens set revoked_at = $2 where customer_id = $1 and revoked_at is null", customer.uuid(), now)
        .execute(conn)
        .await?;
    Ok(())
}

/// Revokes every session of a customer but one.
pub async fn revoke_other_tokens(
    conn: &mut Connection,
    customer: CustomerId,
    kept: SessionId,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update customer_tokens set revoked_at = $3 where customer_id = $1 and uuid <> $2 and revoked_at is null",
        customer.uuid(),
        kept.uuid(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whether a customer has more live sessions than are kept.
pub async fn has_surplus(conn: &mut Connection, customer: CustomerId, kept: i64, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select count(*) > $2 as "has_surplus!" from customer_tokens where customer_id = $1 and revoked_at is null and expires_at > $3"#,
        customer.uuid(),
        kept,
        now,
    )
    .fetch_one(conn)
    .await
}

/// Revokes the live sessions of a customer beyond the number that are kept, those first that were not used for the longest time, and returns
/// them.
pub async fn revoke_least_used(
    conn: &mut Connection,
    customer: CustomerId,
    kept: i64,
    now: DateTime<Utc>,
) -> Result<Vec<SessionId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"update customer_tokens set revoked_at = $3
         where id in (
             select id from customer_tokens where customer_id = $1 and revoked_at is null and expires_at > $3
             order by last_used_at desc, id desc offset $2
         ) and revoked_at is null
         returning uuid as "id: SessionId""#,
        customer.uuid(),
        kept,
        now,
    )
    .fetch_all(conn)
    .await
}

/// Revokes a session by its public id. Returns `None` if the company has no such session or it is revoked already.
pub async fn revoke_session(
    conn: &mut Connection,
    company: CompanyId,
    id: SessionId,
    now: DateTime<Utc>,
) -> Result<Option<(TokenId, CustomerId)>, sqlx::Error> {
    let revoked = sqlx::query!(
        "update customer_tokens set revoked_at = $3 from session_records
         where customer_tokens.uuid = $1 and customer_tokens.revoked_at is null
           and session_records.id = customer_tokens.uuid and session_records.company_id = $2
         returning customer_tokens.id, customer_tokens.customer_id",
        id.uuid(),
        company.uuid(),
        now,
    )
    .fetch_optional(conn)
    .await?;
    Ok(revoked.map(|row| (TokenId(row.id), row.customer_id.into())))
}

/// Revokes every session of a customer and returns their number. Returns `None` if the company has no such customer.
pub async fn revoke_customer(
    conn: &mut Connection,
    company: CompanyId,
    id: CustomerId,
    now: DateTime<Utc>,
) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"with customer as (
             select id from customer_records where id = $1 and company_id = $2
         ), revoked as (
             update customer_tokens set revoked_at = $3 from customer
             where customer_tokens.customer_id = customer.id and customer_tokens.revoked_at is null
             returning customer_tokens.id
         )
         select (select count(*) from revoked) as "revoked!" from customer"#,
        id.uuid(),
        company.uuid(),
        now,
    )
    .fetch_optional(conn)
    .await
}
