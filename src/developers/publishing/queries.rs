//! The SQL of idempotency keys.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::developers::publishing::body::Key;
use crate::developers::publishing::keys::PublishedKey;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, EventId};

/// The stored keys among `keys` that are still valid, that is, were created after `cutoff`.
pub(super) async fn list_keys(
    conn: &mut Connection,
    company: CompanyId,
    keys: &[String],
    cutoff: DateTime<Utc>,
) -> Result<Vec<PublishedKey>, sqlx::Error> {
    sqlx::query_as!(
        PublishedKey,
        "select key, digest, event_id, created_at from publishing_keys where company_id = $1 and key = any($2) and created_at > $3",
        company.uuid(),
        keys,
        cutoff,
    )
    .fetch_all(conn)
    .await
}

/// Idempotency keys as one array per column, the parameters of one statement.
#[derive(Debug, Default)]
pub(super) struct NewKeys {
    texts: Vec<String>,
    digests: Vec<Vec<u8>>,
    events: Vec<Uuid>,
}

impl NewKeys {
    pub(super) fn push(&mut self, key: &Key, event: EventId) {
        self.texts.push(key.text.clone());
        self.digests.push(key.digest.to_vec());
        self.events.push(event.uuid());
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }
}

/// Inserts keys that are unused or expired (created until `cutoff`), and returns how many were inserted. Waits for concurrent
/// inserts of the same keys. The keys are inserted in sorted order, to prevent deadlocks.
pub(super) async fn insert_keys(
    conn: &mut Connection,
    company: CompanyId,
    keys: &NewKeys,
    now: DateTime<Utc>,
    cutoff: DateTime<Utc>,
) -> Result<usize, sqlx::Error> {
    let taken = sqlx::query_scalar!(
        "insert into publishing_keys (company_id, key, digest, event_id, created_at)
         select $1, new.key, new.digest, new.event_id, $5
         from unnest($2::text[], $3::bytea[], $4::uuid[]) as new (key, digest, event_id) order by new.key
         on conflict (company_id, key) do update
         set digest = excluded.digest, event_id = excluded.event_id, created_at = excluded.created_at
         where publishing_keys.created_at <= $6
         returning key",
        company.uuid(),
        &keys.texts,
        &keys.digests,
        &keys.events,
        now,
        cutoff,
    )
    .fetch_all(conn)
    .await?;
    Ok(taken.len())
}

pub(super) async fn delete_keys_until(conn: &mut Connection, cutoff: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from publishing_keys where created_at <= $1", cutoff).execute(conn).await?;
    Ok(())
}
