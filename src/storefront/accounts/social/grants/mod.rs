//! Grants: refresh tokens, which give the company's app access to a person's account at a provider. A grant comes with the exchange of an
//! authorization code and is used for nothing. It is revoked when the account is closed or the link is removed, as app stores require.
//!
//! A grant is kept, encrypted, only if the provider can revoke it. It is ended in the transaction of the caller, which waits for no provider. A
//! provider that does not answer is asked again every hour, for a week.

mod queries;

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;
use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::{ApplicationKey, CannotOpen};
use crate::kernel::database::Connection;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{CustomerId, ProviderGrantId, StoreId};
use crate::kernel::sealed_values::{Context, SealedColumn, SentTo};
use crate::providers::identity::{NoAnswer, VerifiedIdentity, VerifyError};
use crate::storefront::accounts::social::grants::queries::EndedGrant;
use crate::storefront::state::Storefront;

/// The column that holds grants.
pub const SEALED: SealedColumn = SealedColumn {
    table: "provider_grants",
    column: "sealed_token",
    content: "grants of identity providers",
    context: Context::OfId(|id| context(id.into())),
    // A company with a token_url of its own has no address where grants are revoked.
    sent_to: SentTo::Configured,
};

/// How many are given back at the same time.
const AT_ONCE: i64 = 20;
const RETRIED_AFTER: TimeDelta = TimeDelta::hours(1);
/// How long a provider is asked again.
const TRIED_FOR: TimeDelta = TimeDelta::days(7);

/// Why a grant was not given back.
#[derive(Debug, thiserror::Error)]
enum NotGivenBack {
    #[error("the grant cannot be decrypted")]
    Sealed(#[from] CannotOpen),
    #[error("the provider is not offered")]
    Provider(#[from] VerifyError),
    #[error("the settings do not say where the provider takes it back")]
    Nowhere,
    #[error("the provider does not take it")]
    NoAnswer(#[from] NoAnswer),
    #[error("the provider could not be looked up")]
    Database(#[from] sqlx::Error),
}

/// Keeps the grant that a sign-in has brought, if it has brought one. The account is the one that the identity is linked to.
pub(super) async fn keep(
    conn: &mut Connection,
    key: &ApplicationKey,
    owner: (StoreId, CustomerId),
    identity: &VerifiedIdentity,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let Some(grant) = &identity.grant else { return Ok(()) };
    let id = ProviderGrantId::new(now);
    let sealed = key.seal(&context(id), grant.expose_secret().as_bytes());
    queries::put_grant(conn, id, owner, identity, &sealed, now).await
}

/// Has every grant of a customer given back. The caller has locked the account.
pub async fn end_grants(conn: &mut Connection, customer: CustomerId, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    queries::end_grants(conn, customer, None, now).await
}

/// Has the grant of one provider given back. The caller has locked the account.
pub(super) async fn end_grants_of(
    conn: &mut Connection,
    customer: CustomerId,
    provider: &str,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    queries::end_grants(conn, customer, Some(provider), now).await
}

/// Forgets whose grants are still to be given back, when the account is erased.
pub async fn forget_subjects(conn: &mut Connection, customer: CustomerId) -> Result<(), sqlx::Error> {
    queries::forget_subjects(conn, customer).await
}

/// Gives back what an act has ended, after its commit, and to the end even if the client disconnects. What a provider does not take at once, it is
/// asked again later.
pub async fn give_back_at_once(storefront: &Storefront, now: DateTime<Utc>) {
    let this = storefront.clone();
    let giving_back = async move {
        if let Err(error) = give_grants_back(&this, now).await {
            tracing::warn!(error = chain(&error), "the grants that an act has ended could not be given back yet");
        }
    };
    storefront.lifecycle.finish(giving_back).await;
}

/// Gives back what has ended. No transaction is open meanwhile.
pub async fn give_grants_back(storefront: &Storefront, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    let ended = queries::claim_ended(&mut storefront.pool.acquire().await?, AT_ONCE, now, now + RETRIED_AFTER).await?;
    join_all(ended.iter().map(|grant| settle(storefront, grant, now))).await.into_iter().collect()
}

/// Gives one back, and forgets it if that is done or in vain.
async fn settle(storefront: &Storefront, grant: &EndedGrant, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    if let Err(error) = revoke(storefront, grant).await {
        let (provider, is_last) = (&*grant.provider, grant.ended_at + TRIED_FOR <= now);
        tracing::warn!(error = chain(&error), provider, is_last, "the grant of an identity provider could not be given back");
        if !is_last {
            return Ok(());
        }
    }
    queries::delete_grant(&mut storefront.pool.acquire().await?, grant.id).await
}

async fn revoke(storefront: &Storefront, grant: &EndedGrant) -> Result<(), NotGivenBack> {
    let token = open(&storefront.application_key, grant.id, &grant.sealed)?;
    let providers = storefront.company_providers.of(grant.company).await?;
    let listed = providers.listed(&grant.provider)?;
    if listed.oidc.offered()?.revoke(&token).await? { Ok(()) } else { Err(NotGivenBack::Nowhere) }
}

fn open(key: &ApplicationKey, id: ProviderGrantId, sealed: &[u8]) -> Result<SecretString, CannotOpen> {
    let opened = key.open(&context(id), sealed)?;
    Ok(std::str::from_utf8(opened.expose_secret()).map_err(|_| CannotOpen)?.into())
}

fn context(id: ProviderGrantId) -> String {
    format!("grant of an identity provider {id}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_grant_opens_only_in_its_own_row() {
        let key = ApplicationKey::parse(&ApplicationKey::generate()).unwrap();
        let [mine, other] = [7, 8].map(|number| ProviderGrantId::from(Uuid::from_u128(number)));
        let sealed = key.seal(&context(mine), b"r3fresh");
        assert_eq!(open(&key, mine, &sealed).unwrap().expose_secret(), "r3fresh");
        assert!(open(&key, other, &sealed).is_err());
    }
}
