//! The statement that issues a token. It also writes the entry in the audit, clears the wrong passwords and codes of the account, notes client
//! and device, and tells what was known before, because a sign-in waits for one commit instead of five and for no other statement
//! (`docs/performance.md`, A sign-in).

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

/// The clients that a customer is known by.
const KNOWN_CLIENTS: i64 = 20;
/// The interval at which a known client, or the use of a device, is noted again.
const SEEN_NOTED_EVERY: TimeDelta = TimeDelta::days(1);

/// How long a device has to be known until it is the customer's for sure: by then the notice of it was read, and what came by it cannot be taken
/// back any more.
const TRUSTED_AFTER: TimeDelta = TimeDelta::days(7);

/// What was known of the customer before a sign-in.
#[derive(Clone, Debug)]
pub struct Before {
    /// The number of live sessions.
    pub sessions: i64,
    /// Whether the customer is known to use other devices, but not this one.
    pub on_another_device: bool,
    /// Whether the device is the customer's for sure: the first one, or one that has been known for a week.
    pub on_own_device: bool,
    /// The languages that are kept of the customer.
    pub languages: Option<String>,
}

/// Inserts a token, records the attempt in the audit under the same id, forgets the wrong guesses at the account, and notes that the
/// customer is known by this client, and by this device unless it is another one, which is for
/// [`known_devices`](crate::storefront::accounts). All of it is one statement and one round trip, which also tells what was known before.
///
/// Returns `None` and changes nothing if the token is issued for a password that is no longer the customer's, or if the account
/// is closed or banned. The row lock serializes the statement with changes of either: the change sees the token, or the statement sees the
/// change.
pub async fn insert_token(
    conn: &mut Connection,
    token: &NewToken<'_>,
    attempt: &SignInAttempt<'_>,
    now: DateTime<Utc>,
) -> Result<Option<(TokenId, SessionId, Before)>, sqlx::Error> {
    let (client, session) = (attempt.client.client(), SessionId::new(now));
    let row = sqlx::query!(
        r#"with still_theirs as (
             select from customers where id = $2 and closed_at is null and banned_at is null and password_hash = $12 for share
         ), admitted as (
             select where $12::text is null or exists (select from still_theirs)
         ), entry as (
             insert into sign_ins (id, store_id, customer_id, method, identity, outcome, address, user_agent, created_at, company_id)
             select $1, $6, $2, $7, $8, 'signed_in', $9, $10, $4, $13 from admitted
         ), passwords as (
             delete from wrong_passwords where store_id = $6 and subject = $2::uuid::text and exists (select from admitted)
         ), codes as (
             delete from wrong_codes where store_id = $6 and identity = $2::uuid::text and exists (select from admitted)
         ), seen as (
             insert into known_clients as kept (customer_id, client, store_id, last_seen_at)
             select $2, $11, $6, $4 from admitted
             where not exists (select from known_clients where customer_id = $2 and client = $11 and last_seen_at > $14)
             on conflict on constraint known_clients_pkey do update set last_seen_at = excluded.last_seen_at
             returning true
         ), crowd as (
             delete from known_clients where customer_id = $2 and exists (select from seen) and client in (
                 select client from known_clients where customer_id = $2 and client <> $11 order by last_seen_at desc offset $15::bigint - 1
             )
         ), before as (
             select count(*) as known, count(*) filter (where device = $17) > 0 as has_this,
                    count(*) filter (where device = $17 and last_seen_at > $14) > 0 as is_recent,
                    count(*) = 0
                        or coalesce(min(first_seen_at) filter (where device = $17) <= greatest($18::timestamptz, min(first_seen_at)), false) as is_own
             from seen_devices where customer_id = $2
         ), used as (
             insert into seen_devices (customer_id, device, store_id, last_seen_at, first_seen_at)
             select $2, $17, $6, $4, $4 from admitted, before where not is_recent and (has_this or known = 0)
             on conflict on constraint seen_devices_pkey do update set last_seen_at = excluded.last_seen_at
         )
         insert into customer_tokens (uuid, customer_id, digest, created_at, last_used_at, expires_at, company_id, device_name)
         select $1, $2, $3, $4, $4, $5, $13, $16 from admitted
         returning id,
             (select count(*) from customer_tokens t where t.customer_id = $2 and t.revoked_at is null and t.expires_at > $4) as "sessions!",
             (select known > 0 and not has_this from before) as "on_another_device!",
             (select is_own from before) as "on_own_device!",
             (select languages from customers where id = $2) as "languages?""#,
        session.uuid(),
        token.customer.uuid(),
        token.digest.as_ref(),
        now,
        token.expires_at,
        attempt.store.id.uuid(),
        attempt.method.as_str(),
        attempt.identity.as_ref().map(Identity::key),
        attempt.client.address.ip().to_string(),
        attempt.client.user_agent,
        client.mark.as_slice(),
        token.password_hash.map(HashedPassword::expose),
        attempt.store.company_id.uuid(),
        now - SEEN_NOTED_EVERY,
        KNOWN_CLIENTS,
        attempt.client.device_name.as_ref().map(DeviceName::as_str),
        attempt.client.device(),
        now - TRUSTED_AFTER,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| {
        let (sessions, languages) = (row.sessions, row.languages);
        let before = Before { sessions, on_another_device: row.on_another_device, on_own_device: row.on_own_device, languages };
        (TokenId(row.id), session, before)
    }))
}
