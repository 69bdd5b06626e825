//! The SQL of customer tokens.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;

use crate::contact::Identity;
use crate::kernel::crypto::SecretDigest;
use crate::kernel::ids::{CompanyId, CustomerId, SessionId};
use crate::kernel::password_hashing::HashedPassword;
use crate::storefront::audit::SignInAttempt;
use crate::storefront::caches::Session;
use crate::storefront::customers::customer;
use crate::storefront::tokens::TokenId;

/// A token to be inserted.
pub(super) struct NewToken<'a> {
    pub(super) customer: CustomerId,
    pub(super) digest: SecretDigest,
    pub(super) expires_at: DateTime<Utc>,
    /// The hash of the password that the token is issued for, if it is issued for one.
    pub(super) password_hash: Option<&'a HashedPassword>,
}

/// Inserts a token, records the attempt in the audit under the same id, and clears the bucket that the attempt forgives. All of
/// it is one statement and one round trip.
///
/// Returns `None` and changes nothing if the token is issued for a password that is no longer the customer's, or if the account
/// is closed. The row lock serializes the statement with changes of either: the change sees the token, or the statement sees the
/// change.
pub(super) async fn insert_token(
    conn: &mut PgConnection,
    token: &NewToken<'_>,
    attempt: &SignInAttempt<'_>,
    now: DateTime<Utc>,
) -> Result<Option<TokenId>, sqlx::Error> {
    let id = sqlx::query_scalar!(
        "with still_theirs as (
             select from customers where id = $2 and closed_at is null and password_hash = $12 for share
         ), admitted as (
             select where $12::text is null or exists (select from still_theirs)
         ), entry as (
             insert into sign_ins (id, store_id, customer_id, method, identity, outcome, address, user_agent, created_at)
             select $1, $6, $2, $7, $8, 'signed_in', $9, $10, $4 from admitted
         ), forgiven as (
             delete from rate_limits where bucket = $11 and exists (select from admitted)
         )
         insert into customer_tokens (uuid, customer_id, digest, created_at, last_used_at, expires_at)
         select $1, $2, $3, $4, $4, $5 from admitted returning id",
        SessionId::new(now).uuid(),
        token.customer.uuid(),
        token.digest.as_ref(),
        now,
        token.expires_at,
        attempt.store.id.uuid(),
        attempt.method.as_str(),
        attempt.identity.as_ref().map(Identity::key),
        attempt.client.address.ip().to_string(),
        attempt.client.user_agent,
        attempt.forgives(),
        token.password_hash.map(HashedPassword::expose),
    )
    .fetch_optional(conn)
    .await?;
    Ok(id.map(TokenId))
}

/// Returns the live session with this number and its customer, if the account is open.
pub(super) async fn find_token(conn: &mut PgConnection, id: TokenId, now: DateTime<Utc>) -> Result<Option<Session>, sqlx::Error> {
    let row = sqlx::query!(
        r#"select t.digest, t.last_used_at, c.store_id, c.id, c.name, c.email, c.email_verified_at, c.phone, c.phone_verified_at, c.title, c.photo_url,
                c.meta, c.password_hash as "password_hash: HashedPassword", c.created_at, c.updated_at
         from customer_tokens t join customers c on c.id = t.customer_id
         where t.id = $1 and t.revoked_at is null and t.expires_at > $2 and c.closed_at is null"#,
        id.0,
        now,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| {
        let customer = customer!(row);
        let shown = Value::Object(customer.present()).to_string().into();
        Session {
            store: row.store_id.into(),
            digest: row.digest.into(),
            last_used_at: row.last_used_at,
            customer: Arc::new(customer),
            shown,
        }
    }))
}

/// Returns whether the session of the customer is live: not revoked, not expired, and its account and store are open.
pub async fn is_signed_in(
    conn: &mut PgConnection,
    customer: CustomerId,
    sign_in: TokenId,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (
             select from customer_tokens t join customers c on c.id = t.customer_id join stores s on s.id = c.store_id
             where t.id = $1 and c.id = $2 and t.revoked_at is null and t.expires_at > $3 and c.closed_at is null and s.deleted_at is null
           ) as "is_signed_in!""#,
        sign_in.0,
        customer.uuid(),
        now,
    )
    .fetch_one(conn)
    .await
}

pub(super) async fn note_use(
    conn: &mut PgConnection,
    id: TokenId,
    now: DateTime<Utc>,
    expires_at: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
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
pub(in crate::storefront) struct ListedSession {
    pub(in crate::storefront) id: TokenId,
    pub(in crate::storefront) created_at: DateTime<Utc>,
    pub(in crate::storefront) last_used_at: DateTime<Utc>,
    pub(in crate::storefront) expires_at: DateTime<Utc>,
    /// The method, the client address and the user agent of the sign-in. `None` once the audit entry is deleted.
    pub(in crate::storefront) method: Option<String>,
    pub(in crate::storefront) address: Option<String>,
    pub(in crate::storefront) user_agent: Option<String>,
}

/// Returns the live sessions of a customer, most recently used first, at most 100.
pub(in crate::storefront) async fn list_tokens(
    conn: &mut PgConnection,
    customer: CustomerId,
    now: DateTime<Utc>,
) -> Result<Vec<ListedSession>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select t.id, t.created_at, t.last_used_at, t.expires_at, s.method as "method?", s.address as "address?", s.user_agent
         from customer_tokens t left join sign_ins s on s.id = t.uuid
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
pub(in crate::storefront) async fn revoke_token(
    conn: &mut PgConnection,
    customer: CustomerId,
    id: TokenId,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
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

/// Revokes every session of a customer.
pub(in crate::storefront) async fn revoke_all_tokens(
    conn: &mut PgConnection,
    customer: CustomerId,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!("update customer_tokens set revoked_at = $2 where customer_id = $1 and revoked_at is null", customer.uuid(), now)
        .execute(conn)
        .await?;
    Ok(())
}

/// Deletes the sessions that ended before `before`.
pub(in crate::storefront) async fn forget_ended(conn: &mut PgConnection, before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from customer_tokens where least(expires_at, revoked_at) < $1", before).execute(conn).await?;
    Ok(())
}

/// Revokes a session by its public id. Returns `None` if the company has no such session or it is revoked already.
pub async fn revoke_session(
    conn: &mut PgConnection,
    company: Option<CompanyId>,
    id: SessionId,
    now: DateTime<Utc>,
) -> Result<Option<TokenId>, sqlx::Error> {
    let revoked = sqlx::query_scalar!(
        "update customer_tokens set revoked_at = $3 from customers, stores
         where customer_tokens.uuid = $1 and customer_tokens.revoked_at is null
           and customers.id = customer_tokens.customer_id and stores.id = customers.store_id and stores.company_id = coalesce($2, stores.company_id)
         returning customer_tokens.id",
        id.uuid(),
        company.map(CompanyId::uuid),
        now,
    )
    .fetch_optional(conn)
    .await?;
    Ok(revoked.map(TokenId))
}

/// Revokes every session of a customer and returns their number. Returns `None` if the company has no such customer.
pub async fn revoke_customer(
    conn: &mut PgConnection,
    company: Option<CompanyId>,
    id: CustomerId,
    now: DateTime<Utc>,
) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"with customer as (
             select customers.id from customers join stores on stores.id = customers.store_id
             where customers.id = $1 and stores.company_id = coalesce($2, stores.company_id)
         ), revoked as (
             update customer_tokens set revoked_at = $3 from customer
             where customer_tokens.customer_id = customer.id and customer_tokens.revoked_at is null
             returning customer_tokens.id
         )
         select (select count(*) from revoked) as "revoked!" from customer"#,
        id.uuid(),
        company.map(CompanyId::uuid),
        now,
    )
    .fetch_optional(conn)
    .await
}
