//! The SQL of proofs with passkeys.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, PasskeyId, StoreId};
use crate::storefront::passkeys::Seen;

/// A passkey, as a proof with it is compared.
#[derive(Debug)]
pub struct KnownPasskey {
    pub id: PasskeyId,
    pub customer: CustomerId,
    /// COSE_Key.
    pub public_key: Vec<u8>,
    /// The signature counter that was seen last.
    pub counter: i64,
    /// Whether it signs nobody in until the customer resumes it.
    pub is_suspended: bool,
}

/// Returns the passkey of this store with this id, if it is of the customer whom the authenticator knows by this handle.
pub async fn find_passkey(
    conn: &mut Connection,
    store: StoreId,
    credential_id: &[u8],
    handle: &[u8],
) -> Result<Option<KnownPasskey>, sqlx::Error> {
    sqlx::query_as!(
        KnownPasskey,
        r#"select id as "id: PasskeyId", customer_id as "customer: CustomerId", public_key, counter,
                  suspended_at is not null as "is_suspended!"
           from passkeys join passkey_users using (customer_id)
           where passkeys.store_id = $1 and credential_id = $2 and handle = $3"#,
        store.uuid(),
        credential_id,
        handle,
    )
    .fetch_optional(conn)
    .await
}

/// Notes a proof with a passkey. Returns `false` if it was removed or suspended meanwhile, or a parallel proof has a later counter. The caller
/// has locked the account.
pub async fn note_use(conn: &mut Connection, id: PasskeyId, seen: Seen, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let noted = sqlx::query!(
        "update passkeys set counter = $2, backed_up = $3, last_used_at = $4, backup_eligible = $5
         where id = $1 and suspended_at is null and (counter < $2 or counter = 0 and $2 = 0)",
        id.uuid(),
        i64::from(seen.counter),
        seen.backed_up,
        now,
        seen.backup_eligible,
    );
    Ok(noted.execute(conn).await?.rows_affected() == 1)
}
