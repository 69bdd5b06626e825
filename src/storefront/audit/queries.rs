//! The SQL of the sign-in audit.

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;

use crate::contact::Identity;
use crate::kernel::ids::{CustomerId, SignInId};
use crate::kernel::problem::ProblemCode;
use crate::storefront::audit::SignInAttempt;

pub async fn insert_refusal(
    conn: &mut PgConnection,
    attempt: &SignInAttempt<'_>,
    refusal: ProblemCode,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into sign_ins (id, store_id, method, identity, outcome, address, user_agent, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        SignInId::new(now).uuid(),
        attempt.store.id.uuid(),
        attempt.method.as_str(),
        attempt.identity.as_ref().map(Identity::key),
        refusal.as_str(),
        attempt.client.address.ip().to_string(),
        attempt.client.user_agent,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn forget_sign_ins(conn: &mut PgConnection, before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from sign_ins where created_at < $1", before).execute(conn).await?;
    Ok(())
}

/// Blanks the personal data of customers whose accounts were closed before `closed_before` and are about to be erased: in their
/// own entries, and in refused attempts with their identities from before the closure.
pub async fn forget_leavers(conn: &mut PgConnection, closed_before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update sign_ins set identity = null, address = '', user_agent = null
         from customer_identities as leaver
         where leaver.closed_at <= $1 and leaver.erased_at is null and sign_ins.customer_id = leaver.id",
        closed_before,
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "update sign_ins set identity = null, address = '', user_agent = null
         from customer_identities as leaver
         where leaver.closed_at <= $1 and leaver.erased_at is null and sign_ins.store_id = leaver.store_id
           and sign_ins.identity in (leaver.email_key, leaver.phone) and sign_ins.customer_id is null
           and sign_ins.created_at <= leaver.closed_at",
        closed_before,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Returns the entries of a customer for the export, oldest first: their own, and refused attempts with an identity since they proved it.
pub async fn export_sign_ins(conn: &mut PgConnection, customer: CustomerId) -> Result<Value, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select coalesce(jsonb_agg(to_jsonb(sign_ins) order by sign_ins.created_at), '[]') as "sign_ins!"
         from sign_ins join customer_identities as account on account.id = $1
         where sign_ins.customer_id = account.id or sign_ins.customer_id is null and sign_ins.store_id = account.store_id
               and (sign_ins.identity = account.email_key and sign_ins.created_at >= account.email_verified_at
                    or sign_ins.identity = account.phone and sign_ins.created_at >= account.phone_verified_at)"#,
        customer.uuid(),
    )
    .fetch_one(conn)
    .await
}
