//! The SQL of provider links and used identity tokens.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, StoreId};
use crate::providers::identity::{PresentedToken, VerifiedIdentity};
use crate::storefront::guessing::Client;
use crate::storefront::tokens::TokenId;

/// The time in which the client that has used a token may present it again: the answer got lost, or a button was tapped twice.
const REPEATED_WITHIN: TimeDelta = TimeDelta::minutes(1);
/// How often it may.
const REPEATS: i32 = 2;

/// What a token is presented for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Use {
    First,
    /// Again, by the same client and in time. A second session is opened, because the app may keep the token of either answer. It is bound to
    /// the first one: to the same customer, and only as long as that session lasts.
    Repeated {
        customer: CustomerId,
        /// `None` if the first sign-in had to wait for the second factor. The second one waits too then, and only while one waits in the app.
        session: Option<TokenId>,
    },
    Spent,
}

/// Marks an identity token as used, and as one of this store: one that was used in another store is spent. Waits for a parallel use of the same
/// token, in whatever store.
pub(super) async fn use_token(
    conn: &mut Connection,
    store: StoreId,
    token: &PresentedToken,
    client: &Client,
    now: DateTime<Utc>,
) -> Result<Use, sqlx::Error> {
    let used = sqlx::query!(
        r#"with presented as (
             insert into presented_identity_tokens as earlier (store, digest, expires_at) values ($1, $2, $3)
             on conflict on constraint presented_identity_tokens_pkey do update set store = earlier.store
             returning store
         )
         insert into used_identity_tokens as kept (store_id, digest, expires_at, used_at, client, code_digest)
         select store, $2, $3, $4, $5, $8 from presented where store = $1
         on conflict on constraint used_identity_tokens_pkey do update set repeats = kept.repeats + 1
         where kept.client = $5 and kept.used_at > $6 and kept.repeats < $7 and kept.customer_id is not null
         returning customer_id as "customer_id: CustomerId", session"#,
        store.uuid(),
        token.digest.as_slice(),
        token.expires_at,
        now,
        client.mark.as_slice(),
        now - REPEATED_WITHIN,
        REPEATS,
        token.code.as_ref().map(<[u8; 32]>::as_slice),
    )
    .fetch_optional(conn)
    .await?;
    Ok(match used.map(|row| (row.customer_id, row.session)) {
        None => Use::Spent,
        Some((Some(customer), session)) => Use::Repeated { customer, session: session.map(TokenId::of) },
        Some((None, _)) => Use::First,
    })
}

/// Whether this client has used the token a moment ago, with the authorization code that came with it.
pub(super) async fn was_used_with_code(
    conn: &mut Connection,
    (store, client): (StoreId, &Client),
    token: &PresentedToken,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (
               select from used_identity_tokens
               where store_id = $1 and digest = $2 and code_digest = $3 and client = $4 and used_at > $5
           ) as "was_used!""#,
        store.uuid(),
        token.digest.as_slice(),
        token.code.as_ref().map(<[u8; 32]>::as_slice),
        client.mark.as_slice(),
        now - REPEATED_WITHIN,
    )
    .fetch_one(conn)
    .await
}

/// Notes whom a token has signed in, and the session that it has opened, unless the sign-in waits for the second factor.
pub(super) async fn note_sign_in(
    conn: &mut Connection,
    store: StoreId,
    token: &PresentedToken,
    (customer, session): (CustomerId, Option<TokenId>),
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update used_identity_tokens set customer_id = $3, session = $4 where store_id = $1 and digest = $2",
        store.uuid(),
        token.digest.as_slice(),
        customer.uuid(),
        session.map(TokenId::number),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes the used tokens that have expired.
pub async fn sweep_used_tokens(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from used_identity_tokens where expires_at < $1", now).execute(conn).await?;
    Ok(())
}

/// Deletes the presented tokens that have expired.
pub async fn sweep_presented_tokens(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from presented_identity_tokens where expires_at < $1", now).execute(conn).await?;
    Ok(())
}

/// The open account that an identity is linked to.
pub(super) struct Linked {
    pub(super) customer: CustomerId,
    /// Whether the link signs nobody in until the customer links the identity again.
    pub(super) is_suspended: bool,
}

/// Returns the open account that this identity is linked to.
pub(super) async fn find_linked(conn: &mut Connection, store: StoreId, identity: &VerifiedIdentity) -> Result<Option<Linked>, sqlx::Error> {
    sqlx::query_as!(
        Linked,
        r#"select customer_id as "customer: CustomerId", suspended_at is not null as "is_suspended!" from provider_links join customer_identities as account on account.id = provider_links.customer_id
         where provider_links.store_id = $1 and provider = $2 and subject = $3 and account.closed_at is null"#,
        store.uuid(),
        identity.provider.as_str(),
        identity.subject.as_str(),
    )
    .fetch_optional(conn)
    .await
}

/// Links the identity to an account. Returns `false` if it is already linked to an open account. A link to a closed account is
/// replaced: a sign-in can create one while the account is being closed.
pub(super) async fn link(
    conn: &mut Connection,
    store: StoreId,
    identity: &VerifiedIdentity,
    customer: CustomerId,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let linked = sqlx::query!(
        "insert into provider_links as older (store_id, provider, subject, customer_id, linked_at) values ($1, $2, $3, $4, $5)
         on conflict on constraint provider_links_pkey do update set customer_id = excluded.customer_id, linked_at = excluded.linked_at, suspended_at = null
         where exists (select from customer_identities as account where account.id = older.customer_id and account.closed_at is not null)",
        store.uuid(),
        identity.provider.as_str(),
        identity.subject.as_str(),
        customer.uuid(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(linked.rows_affected() == 1)
}

/// Lets a suspended link sign its customer in again. The caller has locked the account.
pub(super) async fn resume_link(conn: &mut Connection, store: StoreId, identity: &VerifiedIdentity) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update provider_links set suspended_at = null where store_id = $1 and provider = $2 and subject = $3",
        store.uuid(),
        identity.provider.as_str(),
        identity.subject.as_str(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Suspends every link of a customer: who takes the account back cannot tell which of them are theirs. The caller has locked the account.
pub async fn suspend_links(conn: &mut Connection, customer: CustomerId, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("update provider_links set suspended_at = $2 where customer_id = $1 and suspended_at is null", customer.uuid(), now)
        .execute(conn)
        .await?;
    Ok(())
}

/// A link of a customer.
#[derive(Debug)]
pub struct Link {
    /// The word of the provider.
    pub provider: String,
    pub linked_at: DateTime<Utc>,
    pub suspended_at: Option<DateTime<Utc>>,
}

/// Returns the links of a customer, oldest first.
pub async fn list_links(conn: &mut Connection, customer: CustomerId) -> Result<Vec<Link>, sqlx::Error> {
    sqlx::query_as!(
        Link,
        "select provider, linked_at, suspended_at from provider_links where customer_id = $1 order by linked_at, provider, subject",
        customer.uuid(),
    )
    .fetch_all(conn)
    .await
}

/// Deletes the links of a customer to one provider. The caller has locked the account.
pub(super) async fn unlink(conn: &mut Connection, customer: CustomerId, provider: &str) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from provider_links where customer_id = $1 and provider = $2", customer.uuid(), provider).execute(conn).await?;
    Ok(())
}

/// Deletes every link of a customer. The caller has locked the account.
pub async fn forget_links(conn: &mut Connection, customer: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from provider_links where customer_id = $1", customer.uuid()).execute(conn).await?;
    Ok(())
}

/// Returns every link of a customer for the export, oldest first.
pub async fn export_links(conn: &mut Connection, customer: CustomerId) -> Result<Value, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select coalesce(jsonb_agg(jsonb_build_object('provider', provider, 'subject', subject, 'linked_at', linked_at,
                                                        'suspended_at', suspended_at) order by linked_at), '[]')
                  as "links!"
         from provider_links where customer_id = $1"#,
        customer.uuid(),
    )
    .fetch_one(conn)
    .await
}
