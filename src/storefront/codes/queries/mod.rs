//! The SQL of verification codes and of the tally of wrong codes.

mod count_guess;

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, StoreId, TestIdentityId};
use crate::storefront::guessing::lockouts::{self, Lockout};
use crate::storefront::purpose::Purpose;

pub(super) use count_guess::{CountedCode, CountedGuess, count_guess};

/// How long lock-outs are remembered, and wrong codes of accounts.
const LOCKOUTS_REMEMBERED: TimeDelta = TimeDelta::days(30);

/// Deletes the codes of an account that is closed, but the one that has closed it: the same request may come twice, and must not be told that its
/// code is wrong.
pub async fn forget_codes_of_closed(conn: &mut Connection, customer: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "delete from verification_codes where (requested_by = $1 or customer_id = $1) and (used_at is null or purpose <> $2)",
        customer.uuid(),
        Purpose::CloseAccount.as_str(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes every code of an account.
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

/// Deletes the code that another one of the same purpose and identity would replace.
pub(super) async fn forget_code(
    conn: &mut Connection,
    store: StoreId,
    purpose: Purpose,
    identity: &str,
    requested_by: Option<CustomerId>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "delete from verification_codes
         where store_id = $1 and purpose = $2 and identity = $3 and requested_by is not distinct from $4",
        store.uuid(),
        purpose.as_str(),
        identity,
        requested_by.map(CustomerId::uuid),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whether the customer has asked for a code of this purpose lately, in whatever state it is now.
pub async fn was_requested_by(conn: &mut Connection, store: StoreId, purpose: Purpose, customer: CustomerId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (
             select from verification_codes where store_id = $1 and purpose = $2 and requested_by = $3
           ) as "was_requested!""#,
        store.uuid(),
        purpose.as_str(),
        customer.uuid(),
    )
    .fetch_one(conn)
    .await
}

/// The test identity whose fixed code this is.
pub(super) async fn find_test_identity(conn: &mut Connection, code: Uuid) -> Result<Option<TestIdentityId>, sqlx::Error> {
    let found = sqlx::query_scalar!(r#"select test_identity_id as "id: TestIdentityId" from verification_codes where id = $1"#, code);
    Ok(found.fetch_optional(conn).await?.flatten())
}

/// Deletes a code whose message was not sent, so that the next request does not have to wait.
pub(super) async fn delete_code(conn: &mut Connection, id: Uuid) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from verification_codes where id = $1", id).execute(conn).await?;
    Ok(())
}

/// Marks the code as used, and forgets the wrong codes for the subject that it proves, if it proves one. Returns `false` and changes nothing if
/// another request has used it, or if it is the fixed code of a test identity that is gone; one that is there stays until the transaction
/// ends, and one that is being changed counts as gone: waiting could deadlock.
pub(super) async fn consume_code(
    conn: &mut Connection,
    id: Uuid,
    (store, proven): (StoreId, Option<&str>),
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    // The row of the code is locked before the row of the subject.
    sqlx::query_scalar!(
        r#"with used as (
             update verification_codes set used_at = $2
             where id = $1 and used_at is null and (
                 test_identity_id is null or exists (
                     select from tested_identities where tested_identities.id = test_identity_id and deleted_at is null for share skip locked
                 )
             )
             returning id
           ), forgotten as (
             delete from wrong_codes where store_id = $3 and identity = $4 and exists (select from used)
           )
           select exists (select from used) as "is_used!""#,
        id,
        now,
        store.uuid(),
        proven,
    )
    .fetch_one(conn)
    .await
}

/// Whether somebody has used the code.
pub(super) async fn is_used(conn: &mut Connection, id: Uuid) -> Result<bool, sqlx::Error> {
    let found = sqlx::query_scalar!(r#"select used_at is not null as "is_used!" from verification_codes where id = $1"#, id);
    Ok(found.fetch_optional(conn).await?.unwrap_or_default())
}

/// Takes back a guess that was none, because the code was used before: on the code, and as a wrong one on the subject.
pub(super) async fn forget_guess(conn: &mut Connection, id: Uuid, (store, subject): (StoreId, &str)) -> Result<(), sqlx::Error> {
    let mut tx = conn.begin().await?;
    // The row of the code is locked before the row of the subject.
    sqlx::query!("update verification_codes set guesses = guesses - 1 where id = $1 and guesses > 0", id).execute(&mut *tx).await?;
    take_wrong_back(&mut tx, store, subject).await?;
    tx.commit().await
}

/// Takes back the wrong guess that a right one was counted as. Earlier wrong guesses stay counted, because the code does not
/// prove that the identity belongs to the customer.
pub(super) async fn take_wrong_back(conn: &mut Connection, store: StoreId, identity: &str) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update wrong_codes set wrong = wrong - 1, in_a_row = in_a_row - case when wrong > $3 then 0 else 1 end,
             lockouts = lockouts - case when wrong = $3 then 1 else 0 end,
             locked_out_until = case when wrong > $3 then locked_out_until end
         where store_id = $1 and identity = $2 and wrong > 0",
        store.uuid(),
        identity,
        lockouts::WRONG_GUESSES,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes codes that expired before `before`.
pub async fn sweep_codes(conn: &mut Connection, before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from verification_codes where expires_at < $1", before).execute(conn).await?;
    Ok(())
}

/// Deletes tallies without a wrong guess since `before`, except lock-outs and wrong codes of accounts.
pub async fn sweep_wrong_codes(conn: &mut Connection, before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from wrong_codes where lockouts = 0 and not of_account and last_wrong_at < $1", before).execute(conn).await?;
    Ok(())
}

/// Deletes lock-outs, and wrong codes of accounts, that were no longer remembered at `before`.
pub async fn sweep_lockouts(conn: &mut Connection, before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from wrong_codes where last_wrong_at < $1", before - LOCKOUTS_REMEMBERED).execute(conn).await?;
    Ok(())
}

/// How one of these identities is locked out, the longest one; `None` if none is.
pub async fn find_lockout(
    conn: &mut Connection,
    store: StoreId,
    identities: &[String],
    now: DateTime<Utc>,
) -> Result<Option<Lockout>, sqlx::Error> {
    let rows = sqlx::query!(
        "select locked_out_until, in_a_row, lockouts from wrong_codes where store_id = $1 and identity = any($2)",
        store.uuid(),
        identities,
    )
    .fetch_all(conn)
    .await?;
    let lockouts = rows.into_iter().filter_map(|row| Lockout::at(now, row.locked_out_until, row.in_a_row, row.lockouts));
    Ok(lockouts.max_by_key(|lockout| lockout.until))
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
