//! The look-up of tokens: sessions and their customers in one round trip (`docs/performance.md`).

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Bytes;
use chrono::{DateTime, Utc};

use crate::kernel::crypto::SecretDigest;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, SessionId, StoreId};
use crate::kernel::password_hashing::HashedPassword;
use crate::storefront::customers::{Customer, customer};
use crate::storefront::tokens::TokenId;

/// A session of an open account that is not banned.
#[derive(Debug)]
pub struct Session {
    pub id: SessionId,
    pub store: StoreId,
    pub company: CompanyId,
    pub digest: SecretDigest,
    pub began_at: DateTime<Utc>,
    pub last_used_at: DateTime<Utc>,
    /// Whether each use is noted.
    pub is_noted_closely: bool,
    /// When it ends unless it is used before.
    pub expires_at: DateTime<Utc>,
    /// When the customer last proved, in this session, who they are: by signing in, or by a later code or password.
    pub proven_at: DateTime<Utc>,
    pub customer: Arc<Customer>,
    /// The customer as JSON. Most requests ask for it.
    pub shown: Bytes,
}

/// Returns the sessions with these numbers that are not revoked, expired ones too, each with its customer, if the account is open and not banned.
pub(in crate::storefront::tokens) async fn find_sessions(
    conn: &mut Connection,
    numbers: &[i64],
) -> Result<HashMap<TokenId, Arc<Session>>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select t.id as number, t.uuid, t.digest, t.created_at as began_at, t.last_used_at, t.noted_closely, t.expires_at, t.proven_at, c.store_id, c.company_id, c.id, c.name, c.email, c.email_verified_at, c.phone, c.phone_verified_at, c.title, c.photo_url,
                c.meta, c.password_hash as "password_hash: HashedPassword", c.created_at, c.updated_at, c.banned_at
         from customer_tokens t join customers c on c.id = t.customer_id
         where t.id = any($1) and t.revoked_at is null and c.closed_at is null and c.banned_at is null"#,
        numbers,
    )
    .fetch_all(conn)
    .await?;
    let sessions = rows.into_iter().map(|row| {
        let number = TokenId(row.number);
        let customer = customer!(row);
        let shown = serde_json::to_string(&customer.present()).expect("an object can always be serialized").into();
        let session = Session {
            id: row.uuid.into(),
            store: row.store_id.into(),
            company: row.company_id.into(),
            digest: row.digest.into(),
            began_at: row.began_at,
            last_used_at: row.last_used_at,
            is_noted_closely: row.noted_closely,
            expires_at: row.expires_at,
            proven_at: row.proven_at.unwrap_or(row.began_at),
            customer: Arc::new(customer),
            shown,
        };
        (number, Arc::new(session))
    });
    Ok(sessions.collect())
}
