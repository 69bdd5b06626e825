//! Sign-ins whose first factor was right, and which wait five minutes for the second one. The app names one by a *handle*, which is worth
//! nothing without the second factor, works once, and in the app that was given it alone. That it was used is remembered for these five minutes,
//! because a request is sent twice easily. The network may change in between, as it does on a
//! phone whose customer looks at another app.

use chrono::{DateTime, TimeDelta, Utc};
use ipnet::IpNet;
use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::{random_base62, sha256};
use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, KeyId, StoreId};
use crate::kernel::password_hashing::HashedPassword;

/// How long a sign-in waits.
const LASTS: TimeDelta = TimeDelta::minutes(5);
/// How many sign-ins of one customer wait that one place has begun, and how many altogether; with a further one, the oldest of them ends.
/// So nobody who has the first factor alone ends the sign-ins of the customer with a few of their own.
const OF_PLACE: i64 = 5;
const OF_CUSTOMER: i64 = 50;
/// In characters: 238 bits.
const HANDLE_LEN: usize = 40;

/// What names a pending sign-in.
#[derive(Clone, Debug)]
pub struct Handle(SecretString);

impl Handle {
    /// The handle that a request claims to have.
    pub fn claimed(sent: &SecretString) -> Self {
        Self(sent.clone())
    }

    /// The handle in plain text, for the answer.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }

    fn digest(&self) -> [u8; 32] {
        sha256(self.reveal())
    }
}

/// The digest by which an app is known again: its store key and its user agent.
pub fn app_of(key: KeyId, user_agent: Option<&str>) -> [u8; 32] {
    sha256([key.uuid().as_bytes(), user_agent.unwrap_or_default().as_bytes()].concat())
}

/// A sign-in that begins to wait.
#[derive(Debug)]
pub struct NewPending<'a> {
    pub store: StoreId,
    pub customer: CustomerId,
    /// [`app_of`]
    pub app: [u8; 32],
    /// The [place](crate::kernel::client_address::ClientAddress::place) of the client, in the column `network`.
    pub place: IpNet,
    /// What was typed as identity, as a key.
    pub identity: Option<String>,
    /// The password that is set once the second factor is right.
    pub new_password: Option<&'a HashedPassword>,
}

/// A sign-in that waits, or did until a moment ago.
#[derive(Debug)]
pub struct PendingSignIn {
    pub customer: CustomerId,
    pub identity: Option<String>,
    pub new_password: Option<HashedPassword>,
    /// Whether it waits no longer, because its second factor was right: the request has come twice.
    pub is_consumed: bool,
}

/// Has a sign-in wait, in the transaction that consumes the first factor. The caller has locked the account.
pub async fn insert_pending(conn: &mut Connection, pending: &NewPending<'_>, now: DateTime<Utc>) -> Result<Handle, sqlx::Error> {
    let handle = Handle(random_base62(HANDLE_LEN).into());
    let digest = handle.digest();
    sqlx::query!(
        "delete from pending_sign_ins where customer_id = $1 and digest in (
             (select digest from pending_sign_ins
              where customer_id = $1 and network = $2 and consumed_at is null order by created_at desc, digest offset $3)
             union all
             (select digest from pending_sign_ins where customer_id = $1 and consumed_at is null order by created_at desc, digest offset $4)
         )",
        pending.customer.uuid(),
        pending.place.to_string(),
        OF_PLACE - 1,
        OF_CUSTOMER - 1,
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "insert into pending_sign_ins (digest, store_id, customer_id, app, network, identity, password_hash, created_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        digest.as_slice(),
        pending.store.uuid(),
        pending.customer.uuid(),
        pending.app.as_slice(),
        pending.place.to_string(),
        pending.identity,
        pending.new_password.map(HashedPassword::expose),
        now,
        now + LASTS,
    )
    .execute(conn)
    .await?;
    Ok(handle)
}

/// Returns the sign-in that waits under this handle in this app, or that has waited under it.
pub async fn find_pending(
    conn: &mut Connection,
    (store, app): (StoreId, [u8; 32]),
    handle: &Handle,
    now: DateTime<Utc>,
) -> Result<Option<PendingSignIn>, sqlx::Error> {
    let digest = handle.digest();
    sqlx::query_as!(
        PendingSignIn,
        r#"select customer_id as "customer: CustomerId", identity, password_hash as "new_password: HashedPassword",
                  consumed_at is not null as "is_consumed!"
           from pending_sign_ins where digest = $1 and store_id = $2 and app = $3 and expires_at > $4"#,
        digest.as_slice(),
        store.uuid(),
        app.as_slice(),
        now,
    )
    .fetch_optional(conn)
    .await
}

/// Whether a sign-in of the customer waits in this app.
pub async fn is_pending(conn: &mut Connection, customer: CustomerId, app: [u8; 32], now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (
               select from pending_sign_ins where customer_id = $1 and app = $2 and expires_at > $3 and consumed_at is null
           ) as "is_one!""#,
        customer.uuid(),
        app.as_slice(),
        now,
    )
    .fetch_one(conn)
    .await
}

/// How a wait stands that is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It has ended now.
    Ended,
    /// A parallel request with the same handle has ended it.
    EndedBefore,
    /// Something else has ended it: a new password, a sign-out everywhere, the time.
    Gone,
}

/// Ends the wait, and keeps that it has ended until the handle expires. The caller has locked the account.
pub async fn consume_pending(conn: &mut Connection, handle: &Handle, now: DateTime<Utc>) -> Result<Wait, sqlx::Error> {
    let digest = handle.digest();
    let consumed = sqlx::query!(
        "update pending_sign_ins set consumed_at = $2, network = '', identity = null, password_hash = null where digest = $1 and consumed_at is null",
        digest.as_slice(),
        now,
    );
    if consumed.execute(&mut *conn).await?.rows_affected() == 1 {
        return Ok(Wait::Ended);
    }
    let is_there =
        sqlx::query_scalar!(r#"select exists (select from pending_sign_ins where digest = $1) as "is_there!""#, digest.as_slice(),);
    Ok(if is_there.fetch_one(conn).await? { Wait::EndedBefore } else { Wait::Gone })
}

/// Ends all sign-ins of a customer that wait.
pub async fn forget_pending(conn: &mut Connection, customer: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from pending_sign_ins where customer_id = $1 and consumed_at is null", customer.uuid()).execute(conn).await?;
    Ok(())
}

/// Deletes those that have waited too long.
pub async fn sweep_pending(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from pending_sign_ins where expires_at <= $1", now).execute(conn).await?;
    Ok(())
}
