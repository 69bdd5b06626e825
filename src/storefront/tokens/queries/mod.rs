//! The SQL of customer tokens.

mod find_sessions;
mod insert_token;
mod numbers;
mod revoke;

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, CustomerId, SessionId};
use crate::storefront::tokens::TokenId;

pub use find_sessions::Session;
pub(super) use find_sessions::find_sessions;
pub use insert_token::{Before, NewToken, insert_token};
pub use numbers::number_tokens_of;
pub use revoke::{has_surplus, revoke_all_tokens, revoke_customer, revoke_least_used, revoke_other_tokens, revoke_session, revoke_token};

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

/// From now on, each use of the customer's sessions is noted. A session that is written to just now is left to the next time: nobody waits.
pub async fn note_closely(conn: &mut Connection, customer: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update customer_tokens set noted_closely = true where id in (
             select id from customer_tokens where customer_id = $1 and revoked_at is null and not noted_closely for no key update skip locked
         )",
        customer.uuid(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Records that the customer has proven, in this session, who they are. Returns `false` if the session has ended.
pub async fn note_proof(conn: &mut Connection, id: TokenId, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let noted = sqlx::query!("update customer_tokens set proven_at = $2 where id = $1 and revoked_at is null", id.0, now);
    Ok(noted.execute(conn).await?.rows_affected() == 1)
}

/// Names the device of a session, or with `None` takes the name back. Returns `false` if the customer has no such live session.
pub async fn name_device(
    conn: &mut Connection,
    customer: CustomerId,
    id: SessionId,
    name: Option<&str>,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let named = sqlx::query!(
        "update customer_tokens set device_name = $3 where uuid = $1 and customer_id = $2 and revoked_at is null and expires_at > $4",
        id.uuid(),
        customer.uuid(),
        name,
        now,
    )
    .execute(conn)
    .await?;
    Ok(named.rows_affected() == 1)
}

/// Takes a shared lock on a session until the transaction ends. Returns `false` if it was revoked.
pub async fn lock_session_shared(conn: &mut Connection, id: SessionId) -> Result<bool, sqlx::Error> {
    let found = sqlx::query_scalar!(
        r#"select true as "is_live!" from customer_tokens where uuid = $1 and revoked_at is null for share"#,
        id.uuid(),
    );
    Ok(found.fetch_optional(conn).await?.is_some())
}

/// A session in the list of a customer's sessions.
pub struct ListedSession {
    pub id: SessionId,
    pub device_name: Option<String>,
    pub created_at: DateTime<Utc>,
    pub last_used_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    /// The method, the client address and the user agent of the sign-in. `None` once the audit entry is deleted.
    pub method: Option<String>,
    pub address: Option<String>,
    pub user_agent: Option<String>,
}

/// Returns a page of the live sessions of a customer, the one that was used last first. A page goes on after a session of the customer.
pub async fn list_tokens(
    conn: &mut Connection,
    customer: CustomerId,
    (after, limit): (Option<SessionId>, i64),
    now: DateTime<Utc>,
) -> Result<Vec<ListedSession>, sqlx::Error> {
    sqlx::query_as!(
        ListedSession,
        r#"select t.uuid as "id: SessionId", t.device_name, t.created_at, t.last_used_at, t.expires_at, s.method as "method?",
                s.address as "address?", s.user_agent
         from customer_tokens t left join sign_in_log s on s.id = t.uuid
         where t.customer_id = $1 and t.revoked_at is null and t.expires_at > $2 and ($3::uuid is null or (t.last_used_at, t.id) < (
             select last_used_at, id from customer_tokens where uuid = $3 and customer_id = $1
         ))
         order by t.last_used_at desc, t.id desc limit $4"#,
        customer.uuid(),
        now,
        after.map(SessionId::uuid),
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Blanks what a customer, whose account is closed and about to be erased, calls the devices.
pub async fn forget_leaver(conn: &mut Connection, id: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update customer_tokens set device_name = null from customer_identities as leaver
         where leaver.id = $1 and leaver.closed_at is not null and leaver.erased_at is null and customer_tokens.customer_id = leaver.id
           and customer_tokens.device_name is not null",
        id.uuid(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes the sessions that ended before `before`.
pub async fn forget_ended(conn: &mut Connection, before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from customer_tokens where least(expires_at, revoked_at) < $1", before).execute(conn).await?;
    Ok(())
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
        r#"select coalesce(jsonb_agg(jsonb_build_object('uuid', uuid, 'device_name', device_name, 'created_at', created_at, 'last_used_at', last_used_at,
                                                        'expires_at', expires_at, 'revoked_at', revoked_at) order by created_at), '[]') as "sessions!"
         from customer_tokens where customer_id = $1"#,
        customer.uuid(),
    )
    .fetch_one(conn)
    .await
}
