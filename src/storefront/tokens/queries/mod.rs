//! The SQL of customer tokens.

mod find_session;
mod insert_token;

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, CustomerId, SessionId};
use crate::storefront::tokens::TokenId;

pub use find_session::{Session, find_session};
pub use insert_token::{NewToken, insert_token};

/// Returns whether the session of the customer is live: not revoked, not expired, and its account and store are open.
pub async fn is_signed_in(conn: &mut Connection, customer: CustomerId, sign_in: TokenId, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (
             select from live_sessions where number = $1 and customer_id = $2 and expires_at > $3
           ) as "is_signed_in!""#,
        sign_in.0,
        customer.uuid(),
        now,
    )
    .fetch_one(conn)
    .await
}

/// Records the use of a session and prolongs it.
pub async fn note_use(conn: &mut Connection, id: TokenId, now: DateTime<Utc>, expires_at: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update customer_tokens set last_used_at = $2, expires_at = $3 where id = $1 and revoked_at is null",
        id.0,
        now,
        expires_at
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A session in the list of a customer's sessions.
pub struct ListedSession {
    pub id: TokenId,
    pub created_at: DateTime<Utc>,
    pub last_used_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    /// The method, the client address and the user agent of the sign-in. `None` once the audit entry is deleted.
    pub method: Option<String>,
    pub address: Option<String>,
    pub user_agent: Option<String>,
}

/// Returns the live sessions of a customer, most recently used first, at most 100.
pub async fn list_tokens(conn: &mut Connection, customer: CustomerId, now: DateTime<Utc>) -> Result<Vec<ListedSession>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select t.id, t.created_at, t.last_used_at, t.expires_at, s.method as "method?", s.address as "address?", s.user_agent
         from customer_tokens t left join sign_in_log s on s.id = t.uuid
         where t.customer_id = $1 and t.revoked_at is null and t.expires_at > $2 order by t.last_used_at desc, t.id desc limit 100"#,
        customer.uuid(),
        now,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| ListedSession {
            id: TokenId(row.id),
            created_at: row.created_at,
            last_used_at: row.last_used_at,
            expires_at: row.expires_at,
            method: row.method,
            address: row.address,
            user_agent: row.user_agent,
        })
        .collect())
}

/// Revokes one session of a customer. Returns `false` if the session is not the customer's or is revoked already.
pub async fn revoke_token(conn: &mut Connection, customer: CustomerId, id: TokenId, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let revoked = sqlx::query!(
        "update customer_tokens set revoked_at = $3 where id = $2 and customer_id = $1 and revoked_at is null",
        customer.uuid(),
        id.0,
        now,
    )
    .execute(conn)
    .await?;
    Ok(revoked.rows_affected() == 1)
}

pub async fn revoke_all_tokens(conn: &mut Connection, customer: CustomerId, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("update customer_tokens set revoked_at = $2 where customer_id = $1 and revoked_at is null", customer.uuid(), now)
        .execute(conn)
        .await?;
    Ok(())
}

/// Deletes the sessions that ended before `before`.
pub async fn forget_ended(conn: &mut Connection, before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from customer_tokens where least(expires_at, revoked_at) < $1", before).execute(conn).await?;
    Ok(())
}

/// Revokes a session by its public id. Returns `None` if the company has no such session or it is revoked already.
pub async fn revoke_session(
    conn: &mut Connection,
    company: CompanyId,
    id: SessionId,
    now: DateTime<Utc>,
) -> Result<Option<TokenId>, sqlx::Error> {
    let revoked = sqlx::query_scalar!(
        "update customer_tokens set revoked_at = $3 from session_records
         where customer_tokens.uuid = $1 and customer_tokens.revoked_at is null
           and session_records.id = customer_tokens.uuid and session_records.company_id = $2
         returning customer_tokens.id",
        id.uuid(),
        company.uuid(),
        now,
    )
    .fetch_optional(conn)
    .await?;
    Ok(revoked.map(TokenId))
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

/// A session that was ended before it expired.
#[derive(Debug)]
pub struct EndedSession {
    pub id: SessionId,
    pub created_at: DateTime<Utc>,
    pub revoked_at: DateTime<Utc>,
}

/// Returns the sessions of a customer that were ended before an instant, the last one first.
pub async fn list_ended(
    conn: &mut Connection,
    customer: CustomerId,
    before: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<EndedSession>, sqlx::Error> {
    sqlx::query_as!(
        EndedSession,
        r#"select uuid as "id: SessionId", created_at, revoked_at as "revoked_at!" from customer_tokens
           where customer_id = $1 and revoked_at < $2 order by revoked_at desc limit $3"#,
        customer.uuid(),
        before,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// The company whose customer the session belongs to.
pub async fn company_of_session(conn: &mut Connection, id: SessionId) -> Result<Option<CompanyId>, sqlx::Error> {
    let found = sqlx::query_scalar!(r#"select company_id as "company_id!" from session_records where id = $1"#, id.uuid());
    Ok(found.fetch_optional(conn).await?.map(CompanyId::from))
}

/// Returns every session of a customer for the export, oldest first.
pub async fn export_sessions(conn: &mut Connection, customer: CustomerId) -> Result<Value, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select coalesce(jsonb_agg(jsonb_build_object('uuid', uuid, 'created_at', created_at, 'last_used_at', last_used_at,
                                                        'expires_at', expires_at, 'revoked_at', revoked_at) order by created_at), '[]') as "sessions!"
         from customer_tokens where customer_id = $1"#,
        customer.uuid(),
    )
    .fetch_one(conn)
    .await
}
