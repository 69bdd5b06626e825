//! The statement that issues a token. It also writes the entry in the audit, clears the wrong passwords, and tells what was known before,
//! because a sign-in waits for one commit instead of three and for no other statement (`docs/performance.md`, A sign-in).

use chrono::{DateTime, TimeDelta, Utc};

use crate::contact::Identity;
use crate::kernel::crypto::SecretDigest;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, SessionId};
use crate::kernel::password_hashing::HashedPassword;
use crate::storefront::audit::{DeviceName, SignInAttempt};
use crate::storefront::tokens::TokenId;

pub struct NewToken<'a> {
    pub customer: CustomerId,
    pub digest: SecretDigest,
    pub expires_at: DateTime<Utc>,
    /// The hash of the password that the token is issued for, if it is issued for one.
    pub password_hash: Option<&'a HashedPassword>,
}

/// The interval at which the use of a device is recorded.
const DEVICE_NOTED_EVERY: TimeDelta = TimeDelta::days(1);

/// What was known of the customer before a sign-in.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    /// The number of live sessions.
    pub sessions: i64,
    pub device: SeenDevice,
}

/// The device of a sign-in, as far as it was known before.
#[derive(Clone, Copy, Debug)]
pub struct SeenDevice {
    /// Whether its use was recorded within the last day.
    pub is_recent: bool,
}

/// Inserts a token, records the attempt in the audit under the same id, and clears the bucket that the attempt forgives. All of
/// it is one statement and one round trip, which also tells what was known before.
///
/// Returns `None` and changes nothing if the token is issued for a password that is no longer the customer's, or if the account
/// is closed or banned. The row lock serializes the statement with changes of either: the change sees the token, or the statement sees the
/// change.
pub async fn insert_token(
    conn: &mut Connection,
    token: &NewToken<'_>,
    attempt: &SignInAttempt<'_>,
    now: DateTime<Utc>,
) -> Result<Option<(TokenId, Before)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"with still_theirs as (
             select from customers where id = $2 and closed_at is null and banned_at is null and password_hash = $12 for share
         ), admitted as (
             select where $12::text is null or exists (select from still_theirs)
         ), entry as (
             insert into sign_ins (id, store_id, customer_id, method, identity, outcome, address, user_agent, created_at, company_id)
             select $1, $6, $2, $7, $8, 'signed_in', $9, $10, $4, $13 from admitted
         ), forgiven as (
             delete from rate_limits where bucket = $11 and exists (select from admitted)
         )
         insert into customer_tokens (uuid, customer_id, digest, created_at, last_used_at, expires_at, company_id, device_name)
         select $1, $2, $3, $4, $4, $5, $13, $14 from admitted
         returning id,
             (select count(*) from customer_tokens t where t.customer_id = $2 and t.revoked_at is null and t.expires_at > $4) as "sessions!",
             exists (select from seen_devices where customer_id = $2 and device = $15 and last_seen_at > $16) as "is_recent!""#,
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
        attempt.store.company_id.uuid(),
        attempt.client.device_name.as_ref().map(DeviceName::as_str),
        attempt.client.device(),
        now - DEVICE_NOTED_EVERY,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| (TokenId(row.id), Before { sessions: row.sessions, device: SeenDevice { is_recent: row.is_recent } })))
}
