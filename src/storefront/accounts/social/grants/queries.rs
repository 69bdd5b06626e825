//! The SQL of grants.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, CustomerId, ProviderGrantId, StoreId};
use crate::providers::identity::VerifiedIdentity;

/// Keeps a grant in place of the one before for the same subject, even if that is about to be given back: it is used again.
pub(super) async fn put_grant(
    conn: &mut Connection,
    id: ProviderGrantId,
    (store, customer): (StoreId, CustomerId),
    identity: &VerifiedIdentity,
    sealed: &[u8],
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into provider_grants (id, store_id, provider, subject, customer_id, sealed_token, created_at) values ($1, $2, $3, $4, $5, $6, $7)
         on conflict on constraint provider_grants_subject do update set id = excluded.id, customer_id = excluded.customer_id,
             sealed_token = excluded.sealed_token, created_at = excluded.created_at, ended_at = null, revoke_at = null",
        id.uuid(),
        store.uuid(),
        identity.provider.as_str(),
        identity.subject.as_str(),
        customer.uuid(),
        sealed,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Has the grants of a customer given back: those of one provider, or all.
pub(super) async fn end_grants(
    conn: &mut Connection,
    customer: CustomerId,
    provider: Option<&str>,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update provider_grants set ended_at = $3, revoke_at = $3
         where customer_id = $1 and ended_at is null and ($2::text is null or provider = $2)",
        customer.uuid(),
        provider,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Forgets whose grants these are. They are given back all the same.
pub(super) async fn forget_subjects(conn: &mut Connection, customer: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!("update provider_grants set subject = null where customer_id = $1", customer.uuid()).execute(conn).await?;
    Ok(())
}

/// A grant that is to be given back.
pub(super) struct EndedGrant {
    pub(super) id: ProviderGrantId,
    pub(super) company: CompanyId,
    /// The word of the provider.
    pub(super) provider: String,
    pub(super) sealed: Vec<u8>,
    pub(super) ended_at: DateTime<Utc>,
}

/// Takes grants that are due, until they are due `again`.
pub(super) async fn claim_ended(
    conn: &mut Connection,
    limit: i64,
    now: DateTime<Utc>,
    again: DateTime<Utc>,
) -> Result<Vec<EndedGrant>, sqlx::Error> {
    sqlx::query_as!(
        EndedGrant,
        r#"update provider_grants set revoke_at = $3
           where id in (select id from provider_grants where revoke_at <= $2 order by revoke_at limit $1 for update skip locked)
           returning id as "id: ProviderGrantId", provider, sealed_token as sealed, ended_at as "ended_at!",
               (select company_id from store_companies where store_companies.id = provider_grants.store_id) as "company!: CompanyId""#,
        limit,
        now,
        again,
    )
    .fetch_all(conn)
    .await
}

/// Deletes a grant, unless another one has taken its place.
pub(super) async fn delete_grant(conn: &mut Connection, id: ProviderGrantId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from provider_grants where id = $1", id.uuid()).execute(conn).await?;
    Ok(())
}
