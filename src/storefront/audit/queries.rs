//! The SQL of the sign-in audit.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::contact::Identity;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, SignInId};
use crate::kernel::problem::ProblemCode;
use crate::storefront::audit::SignInAttempt;

/// Records a refusal. The customer is named if the client has proven a first factor.
pub async fn insert_refusal(
    conn: &mut Connection,
    attempt: &SignInAttempt<'_>,
    (refusal, customer): (ProblemCode, Option<CustomerId>),
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into sign_ins (id, store_id, method, identity, outcome, address, user_agent, created_at, company_id, customer_id)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        SignInId::new(now).uuid(),
        attempt.store.id.uuid(),
        attempt.method.as_str(),
        attempt.identity.as_ref().map(Identity::key),
        refusal.as_str(),
        attempt.client.address.ip().to_string(),
        attempt.client.user_agent,
        now,
        attempt.store.company_id.uuid(),
        customer.map(CustomerId::uuid),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Counts a refusal that is not recorded in the figures of its hour.
pub async fn count_refusal(
    conn: &mut Connection,
    attempt: &SignInAttempt<'_>,
    refusal: ProblemCode,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into sign_in_hours as counted (company_id, hour, method, outcome, total)
         values ($1, date_trunc('hour', $2::timestamptz, 'UTC'), $3, $4, 1)
         on conflict on constraint sign_in_hours_pkey do update set total = counted.total + 1",
        attempt.store.company_id.uuid(),
        now,
        attempt.method.as_str(),
        refusal.as_str(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn forget_sign_ins(conn: &mut Connection, before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from sign_ins where created_at < $1", before).execute(conn).await?;
    Ok(())
}

/// Blanks the personal data of a customer whose account is closed and about to be erased: in the customer's own entries, and in refused
/// attempts with the identities of the account from before the closure. An identity that the account only listed, and that another one
/// has proven, is not its own.
pub async fn forget_leaver(conn: &mut Connection, id: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update sign_ins set identity = null, address = '', user_agent = null
         from customer_identities as leaver
         where leaver.id = $1 and leaver.closed_at is not null and leaver.erased_at is null and sign_ins.customer_id = leaver.id",
        id.uuid(),
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "update sign_ins set identity = null, address = '', user_agent = null
         from customer_identities as leaver
         where leaver.id = $1 and leaver.closed_at is not null and leaver.erased_at is null and sign_ins.store_id = leaver.store_id
           and sign_ins.identity in (leaver.email_key, leaver.phone) and sign_ins.customer_id is null
           and not exists (
               select from customer_identities as owner
               where owner.store_id = leaver.store_id and owner.id <> leaver.id
                     and (owner.email_key = sign_ins.identity and owner.email_verified_at is not null and leaver.email_verified_at is null
                          or owner.phone = sign_ins.identity and owner.phone_verified_at is not null and leaver.phone_verified_at is null)
           )
           and sign_ins.created_at <= leaver.closed_at",
        id.uuid(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// An attempt to sign in, of a customer or with an identity of theirs. A successful one has the session that it began, as long as the
/// service knows it.
#[derive(Debug)]
pub struct LoggedSignIn {
    pub id: SignInId,
    pub method: String,
    pub identity: Option<String>,
    pub outcome: String,
    pub address: String,
    pub user_agent: Option<String>,
    pub created_at: DateTime<Utc>,
    pub last_used_at: Option<DateTime<Utc>>,
    pub expires_at: Option<DateTime<Utc>>,
    pub revoked_at: Option<DateTime<Utc>>,
}

/// Returns the latest entries of a customer before an instant: their own, and refused attempts with an identity since they proved it.
pub async fn list_sign_ins(
    conn: &mut Connection,
    customer: CustomerId,
    before: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<LoggedSignIn>, sqlx::Error> {
    // Each by its own index, which has the order, so that no more are read than are returned.
    sqlx::query_as!(
        LoggedSignIn,
        r#"select entry.id as "id!: SignInId", entry.method as "method!", entry.identity, entry.outcome as "outcome!",
                  entry.address as "address!", entry.user_agent, entry.created_at as "created_at!",
                  session.last_used_at as "last_used_at?", session.expires_at as "expires_at?", session.revoked_at as "revoked_at?"
           from (
               (select * from sign_ins where customer_id = $1 and created_at < $2 order by created_at desc, id desc limit $3)
               union all
               (select sign_ins.* from customer_identities as account
                    join sign_ins on sign_ins.store_id = account.store_id and sign_ins.identity = account.email_key
                where account.id = $1 and sign_ins.customer_id is null and sign_ins.created_at < $2
                      and sign_ins.created_at >= account.email_verified_at
                order by sign_ins.created_at desc, sign_ins.id desc limit $3)
               union all
               (select sign_ins.* from customer_identities as account
                    join sign_ins on sign_ins.store_id = account.store_id and sign_ins.identity = account.phone
                where account.id = $1 and sign_ins.customer_id is null and sign_ins.created_at < $2
                      and sign_ins.created_at >= account.phone_verified_at
                order by sign_ins.created_at desc, sign_ins.id desc limit $3)
           ) as entry left join session_records as session on session.id = entry.id
           order by entry.created_at desc, entry.id desc limit $3"#,
        customer.uuid(),
        before,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Returns the entries of a customer for the export, oldest first: their own, and refused attempts with an identity since they proved it.
pub async fn export_sign_ins(conn: &mut Connection, customer: CustomerId) -> Result<Value, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select coalesce(jsonb_agg(to_jsonb(sign_ins) - 'company_id' order by sign_ins.created_at), '[]') as "sign_ins!"
         from sign_ins join customer_identities as account on account.id = $1
         where sign_ins.customer_id = account.id or sign_ins.customer_id is null and sign_ins.store_id = account.store_id
               and (sign_ins.identity = account.email_key and sign_ins.created_at >= account.email_verified_at
                    or sign_ins.identity = account.phone and sign_ins.created_at >= account.phone_verified_at)"#,
        customer.uuid(),
    )
    .fetch_one(conn)
    .await
}
