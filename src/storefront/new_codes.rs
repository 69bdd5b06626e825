//! New codes, which take the place of older ones. Where a code is stored depends on how it is sent: in a transaction of its own, or together
//! with the texts of the same moment ([`sms_guard`](crate::storefront::sms_guard)). The rest of a code's life is in
//! [`codes`](crate::storefront::codes).

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use uuid::Uuid;

use crate::kernel::crypto::SecretDigest;
use crate::kernel::database::{Connection, column};
use crate::kernel::ids::{CustomerId, StoreId, TestIdentityId};
use crate::storefront::purpose::{CODE_LIFETIME, Purpose};

/// How long a code stays before another one takes its place.
const RESEND_AFTER: TimeDelta = TimeDelta::minutes(1);

/// A code that is asked for.
#[derive(Clone)]
pub struct NewCode {
    pub id: Uuid,
    pub store: StoreId,
    pub purpose: Purpose,
    /// The identity that it is asked for, as a key.
    pub identity: String,
    /// The identity that it is sent to, as a key.
    pub sent_to: String,
    pub channel: &'static str,
    /// Who asks for it while signed in.
    pub requested_by: Option<CustomerId>,
    /// Whose account it opens.
    pub customer: Option<CustomerId>,
    pub digest: SecretDigest,
    /// The client that asks for it.
    pub asked_by: Vec<u8>,
    pub test_identity: Option<TestIdentityId>,
    pub issued_at: DateTime<Utc>,
}

impl std::fmt::Debug for NewCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewCode").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What became of a new code.
#[derive(Debug)]
pub enum Placed {
    /// It is stored, in the place of an older one if there was one: its row.
    Stored {
        /// The row of the older one.
        instead_of: Option<Value>,
    },
    /// Nothing was changed, because the older one is younger than a minute.
    Repeated,
}

/// Stores new codes, each in the place of the older one of the same purpose and identity. Returns what became of them by their ids. No two of
/// them may have the same place. Their rows, and those of the older ones, are locked in one order, so that two transactions cannot wait for
/// each other.
pub async fn store(conn: &mut Connection, codes: &[&NewCode]) -> Result<HashMap<Uuid, Placed>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"with new as (
             select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::uuid[], $9::bytea[],
                                  $10::timestamptz[], $11::timestamptz[], $12::bytea[], $13::uuid[])
                 as new (id, store_id, purpose, identity, sent_to, channel, requested_by, customer_id, digest, issued_at, expires_at,
                         asked_by, test_identity_id)
         ), before as (
             select new.id, to_jsonb(older) as code
             from new join verification_codes as older
                  on older.store_id = new.store_id and older.purpose = new.purpose and older.identity = new.identity
                     and older.requested_by is not distinct from new.requested_by
             order by new.store_id, new.purpose, new.identity, new.requested_by for update of older
         ), stored as (
             insert into verification_codes as older
                 (id, store_id, purpose, identity, sent_to, channel, requested_by, customer_id, digest, issued_at, expires_at, asked_by,
                  test_identity_id)
             select id, store_id, purpose, identity, sent_to, channel, requested_by, customer_id, digest, issued_at, expires_at, asked_by,
                    test_identity_id
             from new where (select count(*) from before) >= 0 order by store_id, purpose, identity, requested_by
             on conflict on constraint verification_codes_key do update set
                 id = excluded.id, sent_to = excluded.sent_to, channel = excluded.channel, customer_id = excluded.customer_id,
                 digest = excluded.digest, issued_at = excluded.issued_at, expires_at = excluded.expires_at, asked_by = excluded.asked_by,
                 test_identity_id = excluded.test_identity_id, superseded = false, guesses = 0, used_at = null
             where older.issued_at <= excluded.issued_at - $14::interval
             returning id
         )
         select new.id as "id!", stored.id is not null as "is_stored!", before.code as "code?"
         from new left join stored on stored.id = new.id left join before on before.id = new.id"#,
        &column(codes, |code| code.id),
        &column(codes, |code| code.store.uuid()),
        &column(codes, |code| code.purpose.as_str().to_owned()),
        &column(codes, |code| code.identity.clone()),
        &column(codes, |code| code.sent_to.clone()),
        &column(codes, |code| code.channel.to_owned()),
        &column(codes, |code| code.requested_by.map(CustomerId::uuid)) as &[Option<Uuid>],
        &column(codes, |code| code.customer.map(CustomerId::uuid)) as &[Option<Uuid>],
        &column(codes, |code| code.digest.as_ref().to_vec()),
        &column(codes, |code| code.issued_at),
        &column(codes, |code| code.issued_at + CODE_LIFETIME),
        &column(codes, |code| code.asked_by.clone()),
        &column(codes, |code| code.test_identity.map(TestIdentityId::uuid)) as &[Option<Uuid>],
        sqlx::postgres::types::PgInterval::try_from(RESEND_AFTER).expect("a minute is whole microseconds"),
    )
    .fetch_all(conn)
    .await?;
    let placed = rows.into_iter().map(|row| match row.is_stored {
        true => (row.id, Placed::Stored { instead_of: row.code }),
        false => (row.id, Placed::Repeated),
    });
    Ok(placed.collect())
}

/// Restores what was before a new code, in the transaction that has stored it: the older code, or none.
pub async fn restore(conn: &mut Connection, id: Uuid, instead_of: Option<&Value>) -> Result<(), sqlx::Error> {
    let Some(code) = instead_of else {
        sqlx::query!("delete from verification_codes where id = $1", id).execute(conn).await?;
        return Ok(());
    };
    sqlx::query!(
        "update verification_codes as code set
             (id, sent_to, channel, customer_id, digest, issued_at, expires_at, asked_by, test_identity_id, superseded, guesses, used_at)
             = (select id, sent_to, channel, customer_id, digest, issued_at, expires_at, asked_by, test_identity_id, superseded, guesses, used_at
                from jsonb_populate_record(null::verification_codes, $2))
         where code.id = $1",
        id,
        code,
    )
    .execute(conn)
    .await?;
    Ok(())
}
