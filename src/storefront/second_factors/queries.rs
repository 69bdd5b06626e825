//! The SQL of authenticator apps and recovery codes.

use chrono::{DateTime, TimeDelta, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, StoreId};
use crate::storefront::guessing::lockouts::{self, Lockout};
use crate::storefront::second_factors::SecondFactor;

/// How long a secret waits for its first code.
const OFFER_LASTS: TimeDelta = TimeDelta::hours(1);

/// Stores a secret that waits for its first code, in place of one that waited. Returns `false` if the customer has a second factor.
pub async fn offer_secret(
    conn: &mut Connection,
    (store, customer): (StoreId, CustomerId),
    sealed: &[u8],
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let offered = sqlx::query!(
        "insert into authenticators as kept (id, store_id, sealed_secret, offered_at) values ($1, $2, $3, $4)
         on conflict on constraint authenticators_pkey
             do update set sealed_secret = excluded.sealed_secret, offered_at = excluded.offered_at where kept.enabled_at is null",
        customer.uuid(),
        store.uuid(),
        sealed,
        now,
    );
    Ok(offered.execute(conn).await?.rows_affected() == 1)
}

/// The sealed secret that waits for its first code.
pub async fn find_offered_secret(conn: &mut Connection, customer: CustomerId, now: DateTime<Utc>) -> Result<Option<Vec<u8>>, sqlx::Error> {
    sqlx::query_scalar!(
        "select sealed_secret from authenticators where id = $1 and enabled_at is null and offered_at > $2",
        customer.uuid(),
        now - OFFER_LASTS,
    )
    .fetch_optional(conn)
    .await
}

/// The sealed secret whose codes are asked for, and the step of the code that was accepted last.
pub async fn find_enabled_secret(conn: &mut Connection, customer: CustomerId) -> Result<Option<(Vec<u8>, i64)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"select sealed_secret, coalesce(last_step, 0) as "last_step!" from authenticators where id = $1 and enabled_at is not null"#,
        customer.uuid(),
    );
    Ok(row.fetch_optional(conn).await?.map(|row| (row.sealed_secret, row.last_step)))
}

/// Asks for codes of this secret from now on. Returns `false` if another one waits by now. `step` is that of the first code.
pub async fn enable(
    conn: &mut Connection,
    customer: CustomerId,
    sealed: &[u8],
    step: i64,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let enabled = sqlx::query!(
        "update authenticators set enabled_at = $4, last_step = $3 where id = $1 and enabled_at is null and sealed_secret = $2",
        customer.uuid(),
        sealed,
        step,
        now,
    );
    Ok(enabled.execute(conn).await?.rows_affected() == 1)
}

/// Accepts the step, unless it or a later one was accepted before, and forgets the wrong codes before it.
pub async fn use_step(conn: &mut Connection, customer: CustomerId, step: i64) -> Result<bool, sqlx::Error> {
    let used = sqlx::query!(
        "update authenticators set last_step = $2, wrong = 0, in_a_row = 0, lockouts = 0, locked_out_until = null, last_wrong_at = null
         where id = $1 and enabled_at is not null and last_step < $2",
        customer.uuid(),
        step,
    );
    Ok(used.execute(conn).await?.rows_affected() == 1)
}

/// Takes back a guess that was none, because the code of the app was used before: it is counted as a wrong one, and may have begun a lock-out.
pub async fn forget_guess(conn: &mut Connection, customer: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update authenticators set in_a_row = in_a_row - 1, wrong = case when wrong = 0 then $2 else wrong end - 1,
             lockouts = lockouts - case when wrong = 0 then 1 else 0 end,
             locked_out_until = case when wrong = 0 then null else locked_out_until end
         where id = $1 and in_a_row > 0",
        customer.uuid(),
        lockouts::WRONG_GUESSES,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whether sign-ins of the customer ask for a second factor.
pub async fn has_second_factor(conn: &mut Connection, customer: CustomerId) -> Result<bool, sqlx::Error> {
    let found = sqlx::query_scalar!(
        r#"select exists (select from authenticators where id = $1 and enabled_at is not null) as "has_one!""#,
        customer.uuid(),
    );
    found.fetch_one(conn).await
}

/// The second factor of a customer, if there is one.
pub async fn find_second_factor(conn: &mut Connection, customer: CustomerId) -> Result<Option<SecondFactor>, sqlx::Error> {
    sqlx::query_as!(
        SecondFactor,
        r#"select enabled_at as "enabled_at!",
                  (select count(*) from customer_recovery_codes where customer_id = $1) as "recovery_codes_left!"
           from authenticators where id = $1 and enabled_at is not null"#,
        customer.uuid(),
    )
    .fetch_optional(conn)
    .await
}

/// How wrong codes of the app lock the customer out, if they do.
pub async fn find_lockout(conn: &mut Connection, customer: CustomerId, now: DateTime<Utc>) -> Result<Option<Lockout>, sqlx::Error> {
    let row = sqlx::query!("select locked_out_until, in_a_row, lockouts from authenticators where id = $1", customer.uuid());
    let row = row.fetch_optional(conn).await?;
    Ok(row.and_then(|row| Lockout::at(now, row.locked_out_until, row.in_a_row, row.lockouts)))
}

/// Forgets the wrong codes of the app, and so ends the lock-out.
pub async fn forget_wrong_codes(conn: &mut Connection, customer: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update authenticators set wrong = 0, in_a_row = 0, lockouts = 0, locked_out_until = null, last_wrong_at = null where id = $1",
        customer.uuid(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Replaces the recovery codes of a customer by those with these digests.
pub async fn replace_recovery_codes(
    conn: &mut Connection,
    (store, customer): (StoreId, CustomerId),
    digests: &[Vec<u8>],
) -> Result<(), sqlx::Error> {
    delete_recovery_codes(conn, customer).await?;
    sqlx::query!(
        "insert into customer_recovery_codes (customer_id, digest, store_id) select $1, unnest($2::bytea[]), $3",
        customer.uuid(),
        digests,
        store.uuid(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// How a recovery code stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryCodeState {
    /// The customer has it.
    Good,
    /// It is the one that was used last.
    Used,
    /// The customer has no such code.
    Unknown,
    /// The customer has no second factor, and so no code to come upon.
    NoFactor,
}

/// How the recovery code of a customer with this digest stands.
pub async fn find_recovery_code(conn: &mut Connection, customer: CustomerId, digest: &[u8]) -> Result<RecoveryCodeState, sqlx::Error> {
    let found = sqlx::query!(
        r#"select exists (select from customer_recovery_codes where customer_id = $1 and digest = $2) as "is_good!",
                  exists (select from authenticators where id = $1 and last_recovery_code = $2) as "is_used!",
                  exists (select from authenticators where id = $1 and enabled_at is not null) as "has_factor!""#,
        customer.uuid(),
        digest,
    )
    .fetch_one(conn)
    .await?;
    Ok(match (found.is_good, found.is_used, found.has_factor) {
        (true, _, _) => RecoveryCodeState::Good,
        (false, true, _) => RecoveryCodeState::Used,
        (false, false, true) => RecoveryCodeState::Unknown,
        (false, false, false) => RecoveryCodeState::NoFactor,
    })
}

/// Uses up the recovery code with this digest, and remembers it as the last one. Returns `false` if the customer does not have it.
pub async fn use_recovery_code(conn: &mut Connection, customer: CustomerId, digest: &[u8]) -> Result<bool, sqlx::Error> {
    let used = sqlx::query!(
        "with used as (
             delete from customer_recovery_codes where customer_id = $1 and digest = $2 returning customer_id, digest
         )
         update authenticators set last_recovery_code = used.digest from used where authenticators.id = used.customer_id",
        customer.uuid(),
        digest,
    );
    Ok(used.execute(conn).await?.rows_affected() == 1)
}

pub(super) async fn delete_recovery_codes(conn: &mut Connection, customer: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from customer_recovery_codes where customer_id = $1", customer.uuid()).execute(conn).await?;
    Ok(())
}

/// Deletes the secret of a customer. Returns whether sign-ins asked for its codes.
pub(super) async fn delete_authenticator(conn: &mut Connection, customer: CustomerId) -> Result<bool, sqlx::Error> {
    let deleted = sqlx::query_scalar!(
        r#"delete from authenticators where id = $1 returning enabled_at is not null as "was_enabled!""#,
        customer.uuid(),
    );
    Ok(deleted.fetch_optional(conn).await?.unwrap_or_default())
}

/// Deletes the secrets that have waited too long for their first code.
pub async fn sweep_offers(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from authenticators where enabled_at is null and offered_at <= $1", now - OFFER_LASTS).execute(conn).await?;
    Ok(())
}
