//! The SQL of the mails about failing endpoints.

use chrono::{DateTime, Utc};

use crate::contact::EmailAddress;
use crate::kernel::database::Connection;
use crate::kernel::ids::{LetterId, SubscriptionId};
use crate::webhooks::failing::letter::Words;

/// A mail that waits to be sent.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) id: LetterId,
    pub(super) address: EmailAddress,
    pub(super) words: Words,
    /// Number of failed attempts.
    pub(super) failures: i16,
}

/// Stores a mail. It replaces an unsent mail to the same address about the same webhook. If that one is being sent at this moment,
/// the new mail is still sent, because it has a new id.
pub(super) async fn store_letter(
    conn: &mut Connection,
    subscription: SubscriptionId,
    address: &EmailAddress,
    words: &Words,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into operator_letters (id, subscription_id, address, subject, body, due_at) values ($1, $2, $3, $4, $5, $6)
         on conflict on constraint operator_letters_latest do update
         set id = excluded.id, subject = excluded.subject, body = excluded.body, failures = 0, due_at = excluded.due_at",
        LetterId::new(now).uuid(),
        subscription.uuid(),
        address.as_str(),
        words.subject,
        words.text,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Takes leases on up to `limit` due mails, until `until`.
pub(super) async fn claim_letters(
    conn: &mut Connection,
    limit: i64,
    now: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<Vec<Kept>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"update operator_letters set due_at = $3
           where id in (select id from operator_letters where due_at <= $2 order by due_at limit $1 for update skip locked)
           returning id as "id: LetterId", address as "address: EmailAddress", subject, body, failures"#,
        limit,
        now,
        until,
    )
    .fetch_all(conn)
    .await?;
    let kept = rows.into_iter().map(|row| Kept {
        id: row.id,
        address: row.address,
        words: Words { subject: row.subject, text: row.body },
        failures: row.failures,
    });
    Ok(kept.collect())
}

/// Counts a failed attempt and schedules the retry of a mail for `due_at`.
pub(super) async fn postpone_letter(conn: &mut Connection, id: LetterId, due_at: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("update operator_letters set failures = failures + 1, due_at = $2 where id = $1", id.uuid(), due_at).execute(conn).await?;
    Ok(())
}

/// Deletes a mail that was sent, or has no retries left.
pub(super) async fn delete_letter(conn: &mut Connection, id: LetterId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from operator_letters where id = $1", id.uuid()).execute(conn).await?;
    Ok(())
}
