//! The SQL of changes that can be taken back.

use chrono::{DateTime, TimeDelta, Utc};

use crate::kernel::crypto::SecretDigest;
use crate::kernel::database::Connection;
use crate::kernel::ids::{ContactChangeId, CustomerId, StoreId};
use crate::storefront::customers::{Contacts, Customer};

/// How long a change is remembered that was taken back, so that the same request again is not told that its code is wrong.
const TAKEN_BACK_REMEMBERED: TimeDelta = TimeDelta::minutes(10);

pub(super) struct NewChange<'a> {
    pub(super) id: ContactChangeId,
    pub(super) store: StoreId,
    /// The customer from before the change.
    pub(super) before: &'a Customer,
    pub(super) sent_to: &'a [String],
    pub(super) digest: SecretDigest,
    pub(super) expires_at: DateTime<Utc>,
}

pub(super) async fn insert_change(conn: &mut Connection, change: &NewChange<'_>, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into contact_changes
             (id, store_id, customer_id, digest, sent_to, email, email_verified_at, phone, phone_verified_at, changed_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        change.id.uuid(),
        change.store.uuid(),
        change.before.id.uuid(),
        change.digest.as_ref(),
        change.sent_to,
        change.before.email,
        change.before.email_verified_at,
        change.before.phone,
        change.before.phone_verified_at,
        now,
        change.expires_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Since when the contacts of a customer may be somebody else's: the first change that can still be taken back.
pub(super) async fn find_first_open_change(
    conn: &mut Connection,
    customer: CustomerId,
    now: DateTime<Utc>,
) -> Result<Option<DateTime<Utc>>, sqlx::Error> {
    sqlx::query_scalar!("select min(changed_at) from contact_changes where customer_id = $1 and expires_at > $2", customer.uuid(), now)
        .fetch_one(conn)
        .await
}

/// A change that can be taken back or was, and the contacts from before it.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) id: ContactChangeId,
    pub(super) customer: CustomerId,
    pub(super) changed_at: DateTime<Utc>,
    pub(super) is_taken_back: bool,
    pub(super) before: Contacts,
}

/// Returns the change that was told to this identity with the code of one of these digests.
pub(super) async fn find_change(
    conn: &mut Connection,
    store: StoreId,
    digests: &[Vec<u8>],
    identity: &str,
    now: DateTime<Utc>,
) -> Result<Option<Change>, sqlx::Error> {
    let row = sqlx::query!(
        r#"select id, customer_id, changed_at, taken_back_at is not null as "is_taken_back!", email, email_verified_at, phone, phone_verified_at
           from contact_changes
           where store_id = $1 and digest = any($2) and $3 = any(sent_to) and (expires_at > $4 or taken_back_at is not null)"#,
        store.uuid(),
        digests,
        identity,
        now,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Change {
        id: row.id.into(),
        customer: row.customer_id.into(),
        changed_at: row.changed_at,
        is_taken_back: row.is_taken_back,
        before: Contacts {
            email: row.email,
            email_verified_at: row.email_verified_at,
            phone: row.phone,
            phone_verified_at: row.phone_verified_at,
        },
    }))
}

/// Ends a change, and deletes all later ones of the customer, which it takes back too. Returns `false` if somebody was faster. The caller has locked
/// the account.
pub(super) async fn consume_change(conn: &mut Connection, change: &Change, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let ended = sqlx::query!(
        "with later as (
             delete from contact_changes where customer_id = $1 and id <> $2 and changed_at >= $3
         )
         update contact_changes set expires_at = $4, taken_back_at = $4 where id = $2 and taken_back_at is null",
        change.customer.uuid(),
        change.id.uuid(),
        change.changed_at,
        now,
    );
    Ok(ended.execute(conn).await?.rows_affected() == 1)
}

/// Deletes the changes of a customer: nothing can be taken back any more.
pub async fn forget_changes_of(conn: &mut Connection, customer: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from contact_changes where customer_id = $1", customer.uuid()).execute(conn).await?;
    Ok(())
}

/// Deletes the changes that are too old to be taken back, and those that were taken back a while ago.
pub async fn forget_changes(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "delete from contact_changes where expires_at <= $1 and (taken_back_at is null or taken_back_at <= $2)",
        now,
        now - TAKEN_BACK_REMEMBERED,
    )
    .execute(conn)
    .await?;
    Ok(())
}
