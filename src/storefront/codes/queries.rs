//! The SQL of verification codes and of the tally of wrong codes.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::kernel::crypto::SecretDigest;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, StoreId};
use crate::storefront::codes::{Target, rules};
use crate::storefront::purpose::{CODE_LIFETIME, Purpose};

pub(super) struct NewCode<'a> {
    pub(super) id: Uuid,
    pub(super) store: StoreId,
    pub(super) purpose: Purpose,
    pub(super) identity: &'a str,
    pub(super) sent_to: &'a str,
    pub(super) channel: &'static str,
    pub(super) requested_by: Option<CustomerId>,
    pub(super) customer: Option<CustomerId>,
    pub(super) digest: SecretDigest,
}

/// Inserts the code in place of the previous one. Returns `false` and changes nothing if the previous code is younger than one
/// minute.
pub(super) async fn replace_code(conn: &mut Connection, code: &NewCode<'_>, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let replaced = sqlx::query!(
        "insert into verification_codes as older
             (id, store_id, purpose, identity, sent_to, channel, requested_by, customer_id, digest, issued_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         on conflict on constraint verification_codes_key do update set
             id = excluded.id, sent_to = excluded.sent_to, channel = excluded.channel, customer_id = excluded.customer_id,
             digest = excluded.digest, issued_at = excluded.issued_at, expires_at = excluded.expires_at, superseded = false, guesses = 0,
             used_at = null
         where older.issued_at <= $12",
        code.id,
        code.store.uuid(),
        code.purpose.as_str(),
        code.identity,
        code.sent_to,
        code.channel,
        code.requested_by.map(CustomerId::uuid),
        code.customer.map(CustomerId::uuid),
        code.digest.as_ref(),
        now,
        now + CODE_LIFETIME,
        now - rules::RESEND_AFTER,
    )
    .execute(conn)
    .await?;
    Ok(replaced.rows_affected() == 1)
}

pub async fn forget_codes(conn: &mut Connection, customer: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from verification_codes where requested_by = $1 or customer_id = $1", customer.uuid()).execute(conn).await?;
    Ok(())
}

/// Deletes the unused codes of an account.
pub async fn forget_open_codes(conn: &mut Connection, customer: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from verification_codes where (requested_by = $1 or customer_id = $1) and used_at is null", customer.uuid())
        .execute(conn)
        .await?;
    Ok(())
}

/// Lets the customer's code for this identity be the one that is used, not those of the same purpose for others. These stay, so that a
/// customer who asks for several in turn gets one message a minute for each.
pub(super) async fn supersede_others(
    conn: &mut Connection,
    store: StoreId,
    purpose: Purpose,
    identity: &str,
    requested_by: CustomerId,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update verification_codes set superseded = identity <> $4
         where store_id = $1 and purpose = $2 and requested_by = $3 and superseded <> (identity <> $4)",
        store.uuid(),
        purpose.as_str(),
        requested_by.uuid(),
        identity,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Returns the channel of the existing code, for the response to a repeated request.
pub(super) async fn find_channel(
    conn: &mut Connection,
    store: StoreId,
    purpose: Purpose,
    identity: &str,
    requested_by: Option<CustomerId>,
) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar!(
        "select channel from verification_codes
         where store_id = $1 and purpose = $2 and identity = $3 and requested_by is not distinct from $4",
        store.uuid(),
        purpose.as_str(),
        identity,
        requested_by.map(CustomerId::uuid),
    )
    .fetch_optional(conn)
    .await
}

/// Deletes a code whose message was not sent, so that the next request does not have to wait.
pub(super) async fn delete_code(conn: &mut Connection, id: Uuid) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from verification_codes where id = $1", id).execute(conn).await?;
    Ok(())
}

/// The state after a guess was counted.
pub(super) struct CountedGuess {
    pub(super) identity: String,
    pub(super) wrong: i32,
    pub(super) locked_out_until: Option<DateTime<Utc>>,
    pub(super) code: Option<CountedCode>,
}

/// The code that the guess was counted on.
pub(super) struct CountedCode {
    pub(super) id: Uuid,
    pub(super) sent_to: String,
    pub(super) digest: SecretDigest,
    pub(super) guesses: i32,
    pub(super) expires_at: DateTime<Utc>,
    pub(super) is_used: bool,
    pub(super) customer: Option<CustomerId>,
    /// Whether a right guess proves the identity: the code was sent to the identity itself, or the account had already proven the
    /// phone number.
    pub(super) proves_identity: bool,
}

/// Counts a guess at the latest code of the target: on the code, and on the identity as a wrong one. The statement must run
/// outside of a transaction, so that it commits on its own: the count stays, whatever happens to the request.
pub(super) async fn count_guess(
    conn: &mut Connection,
    store: StoreId,
    purpose: Purpose,
    target: Target,
    now: DateTime<Utc>,
) -> Result<CountedGuess, sqlx::Error> {
    let (identities, requested_by) = match target {
        Target::Identities(identities) => (identities, None),
        Target::RequestedBy(customer) => (vec![customer.to_string()], Some(customer)),
    };
    // `tally` reads `guessed`, so the row of the code is always locked before the row of the identity, here and where a code is
    // consumed. Different orders could deadlock.
    let row = sqlx::query!(
        r#"with latest as (
             select id from (
                 -- each by its own index: a store has as many codes as it sent within a day
                 select id, issued_at from verification_codes
                 where $4::uuid is null and store_id = $1 and purpose = $2 and requested_by is null and identity = any($3)
                 union all
                 select id, issued_at from verification_codes
                 where $4::uuid is null and store_id = $1 and purpose = $2 and requested_by is null and sent_to = any($3)
                 union all
                 select id, issued_at from verification_codes
                 where store_id = $1 and purpose = $2 and requested_by = $4 and not superseded
             ) as candidates
             order by issued_at desc limit 1
         ), guessed as (
             update verification_codes set guesses = guesses + 1 where id = (select id from latest)
             returning id, identity, sent_to, digest, guesses, expires_at, used_at is not null as is_used, customer_id,
                       sent_to = identity or exists (
                           select from customer_identities as account
                           where account.id = customer_id and account.phone = identity and account.phone_verified_at is not null
                       ) as proves_identity
         ), tally as (
             insert into wrong_codes as kept (store_id, identity, wrong, last_wrong_at)
             values ($1, coalesce((select identity from guessed), ($3::text[])[1]), 1, $5)
             on conflict on constraint wrong_codes_pkey do update set
                 wrong = case when kept.locked_out_until <= $5 then 1
                              when kept.locked_out_until is null and kept.last_wrong_at <= $6 then 1
                              else kept.wrong + 1 end,
                 locked_out_until = case when kept.locked_out_until > $5 then kept.locked_out_until
                                         when kept.locked_out_until <= $5 or kept.last_wrong_at <= $6 then null
                                         when kept.wrong + 1 >= $7 then $8 end,
                 last_wrong_at = $5
             returning identity, wrong, locked_out_until
         )
         select tally.identity, tally.wrong, tally.locked_out_until,
                guessed.id as "id?", guessed.sent_to as "sent_to?", guessed.digest as "digest?", guessed.guesses as "guesses?", guessed.expires_at as "expires_at?",
                guessed.is_used as "is_used?", guessed.customer_id as "customer_id?", guessed.proves_identity as "proves_identity?"
         from tally left join guessed on true"#,
        store.uuid(),
        purpose.as_str(),
        &identities,
        requested_by.map(CustomerId::uuid),
        now,
        now - rules::LOCKOUT_RESET_AFTER,
        rules::MAX_WRONG_CODES,
        now + rules::LOCKOUT,
    )
    .fetch_one(conn)
    .await?;
    let code = match (row.id, row.sent_to, row.digest.map(SecretDigest::from), row.guesses, row.expires_at, row.is_used) {
        (Some(id), Some(sent_to), Some(digest), Some(guesses), Some(expires_at), Some(is_used)) => {
            let proves_identity = row.proves_identity.unwrap_or_default();
            Some(CountedCode {
                id,
                sent_to,
                digest,
                guesses,
                expires_at,
                is_used,
                customer: row.customer_id.map(Into::into),
                proves_identity,
            })
        }
        _ => None,
    };
    Ok(CountedGuess { identity: row.identity, wrong: row.wrong, locked_out_until: row.locked_out_until, code })
}

/// Marks the code as used. Returns `false` if another request already has.
pub(super) async fn consume_code(conn: &mut Connection, id: Uuid, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let used = sqlx::query!("update verification_codes set used_at = $2 where id = $1 and used_at is null", id, now).execute(conn).await?;
    Ok(used.rows_affected() == 1)
}

/// Takes back the wrong guess that a right one was counted as. Earlier wrong guesses stay counted, because the code does not
/// prove that the identity belongs to the customer.
pub(super) async fn take_wrong_back(conn: &mut Connection, store: StoreId, identity: &str) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update wrong_codes set wrong = wrong - 1, locked_out_until = case when wrong > $3 then locked_out_until end
         where store_id = $1 and identity = $2",
        store.uuid(),
        identity,
        rules::MAX_WRONG_CODES,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes codes that expired before `before` and tallies without a wrong guess since then.
pub async fn sweep_codes(conn: &mut Connection, before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from verification_codes where expires_at < $1", before).execute(&mut *conn).await?;
    sqlx::query!("delete from wrong_codes where last_wrong_at < $1", before).execute(conn).await?;
    Ok(())
}

/// Until when one of these identities is locked out; `None` if none is.
pub async fn find_lockout(
    conn: &mut Connection,
    store: StoreId,
    identities: &[String],
    now: DateTime<Utc>,
) -> Result<Option<DateTime<Utc>>, sqlx::Error> {
    sqlx::query_scalar!(
        "select max(locked_out_until) from wrong_codes where store_id = $1 and identity = any($2) and locked_out_until > $3",
        store.uuid(),
        identities,
        now,
    )
    .fetch_one(conn)
    .await
}

/// Forgets the wrong codes for these identities, and so ends their lock-outs.
pub async fn forget_wrong_codes(conn: &mut Connection, store: StoreId, identities: &[String]) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from wrong_codes where store_id = $1 and identity = any($2)", store.uuid(), identities).execute(conn).await?;
    Ok(())
}

/// A code that was sent for a customer, without its digits.
#[derive(Debug)]
pub struct SentCode {
    pub purpose: String,
    pub channel: String,
    pub sent_to: String,
    pub issued_at: DateTime<Utc>,
    pub guesses: i32,
    pub used_at: Option<DateTime<Utc>>,
}

/// Returns the codes that were sent for a customer before an instant, newest first. Only the latest of each purpose and identity is there.
pub async fn list_sent(
    conn: &mut Connection,
    customer: CustomerId,
    before: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<SentCode>, sqlx::Error> {
    sqlx::query_as!(
        SentCode,
        "select purpose, channel, sent_to, issued_at, guesses, used_at from verification_codes
         where (requested_by = $1 or customer_id = $1) and issued_at < $2 order by issued_at desc limit $3",
        customer.uuid(),
        before,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Resets the tally of an identity after a right code.
pub(super) async fn reset_lockout(conn: &mut Connection, store: StoreId, identity: &str) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from wrong_codes where store_id = $1 and identity = $2", store.uuid(), identity).execute(conn).await?;
    Ok(())
}
