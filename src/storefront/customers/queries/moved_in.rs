//! The SQL of customers who move in from another service, many at a time.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use serde_json::Value;
use uuid::Uuid;

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, CustomerId, StoreId};
use crate::kernel::password_hashing::HashedPassword;
use crate::storefront::customers::MovedIn;

/// Returns which of these external ids customers of the store have, also closed ones: who has left does not move in again.
pub async fn list_external_ids(
    conn: &mut Connection,
    (company, store): (CompanyId, StoreId),
    external_ids: &[String],
) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select external_id as "external_id!" from customers where company_id = $3 and store_id = $1 and external_id = any($2)"#,
        store.uuid(),
        external_ids,
        company.uuid(),
    )
    .fetch_all(conn)
    .await
}

/// Returns which of these keys of addresses and numbers open accounts of the store list, proven or not, or test identities have.
pub async fn list_listed(
    conn: &mut Connection,
    store: StoreId,
    emails: &[String],
    phones: &[String],
) -> Result<(Vec<String>, Vec<String>), sqlx::Error> {
    let listed = sqlx::query!(
        r#"select email_key as "email?", null as "phone?" from customers where store_id = $1 and closed_at is null and email_key = any($2)
         union all
         select null, phone from customers where store_id = $1 and closed_at is null and phone = any($3)
         union all
         select identity, identity from tested_identities where store_id = $1 and deleted_at is null and identity = any($2::text[] || $3::text[])"#,
        store.uuid(),
        emails,
        phones,
    )
    .fetch_all(conn)
    .await?;
    let (emails, phones): (Vec<_>, Vec<_>) = listed.into_iter().map(|row| (row.email, row.phone)).unzip();
    Ok((emails.into_iter().flatten().collect(), phones.into_iter().flatten().collect()))
}

/// Inserts customers and returns those that are there now. One who would take an identity or external id that another has by now is left out.
pub async fn insert_moved_in(
    conn: &mut Connection,
    (company, store): (CompanyId, StoreId),
    newcomers: &[&MovedIn],
    now: DateTime<Utc>,
) -> Result<HashSet<CustomerId>, sqlx::Error> {
    let ids: Vec<Uuid> = newcomers.iter().map(|newcomer| newcomer.id.uuid()).collect();
    let external_ids: Vec<String> = newcomers.iter().map(|newcomer| newcomer.external_id.clone()).collect();
    let names: Vec<String> = newcomers.iter().map(|newcomer| newcomer.name.clone()).collect();
    let emails: Vec<_> = newcomers.iter().map(|newcomer| newcomer.email.as_ref().map(|email| email.as_str().to_owned())).collect();
    let proven_emails: Vec<bool> = newcomers.iter().map(|newcomer| newcomer.email_is_proven).collect();
    let phones: Vec<_> = newcomers.iter().map(|newcomer| newcomer.phone.as_ref().map(|phone| phone.as_str().to_owned())).collect();
    let proven_phones: Vec<bool> = newcomers.iter().map(|newcomer| newcomer.phone_is_proven).collect();
    let hash = |hash: &HashedPassword| hash.expose().to_owned();
    let hashes: Vec<_> = newcomers.iter().map(|newcomer| newcomer.password_hash.as_ref().map(hash)).collect();
    let metas: Vec<Value> = newcomers.iter().map(|newcomer| newcomer.meta.clone()).collect();
    let created_at: Vec<DateTime<Utc>> = newcomers.iter().map(|newcomer| newcomer.created_at).collect();
    let inserted = sqlx::query_scalar!(
        r#"insert into customers (id, store_id, company_id, external_id, name, email, email_verified_at, phone, phone_verified_at, password_hash,
             meta, created_at, updated_at)
         select id, $1, $2, external_id, name, email, case when email_is_proven then $3::timestamptz end, phone,
             case when phone_is_proven then $3::timestamptz end, password_hash, meta, created_at, $3
         from unnest($4::uuid[], $5::text[], $6::text[], $7::text[], $8::boolean[], $9::text[], $10::boolean[], $11::text[], $12::jsonb[],
                     $13::timestamptz[])
              as newcomer (id, external_id, name, email, email_is_proven, phone, phone_is_proven, password_hash, meta, created_at)
         on conflict do nothing
         returning id as "id: CustomerId""#,
        store.uuid(),
        company.uuid(),
        now,
        &ids,
        &external_ids,
        &names,
        &emails as &[Option<String>],
        &proven_emails,
        &phones as &[Option<String>],
        &proven_phones,
        &hashes as &[Option<String>],
        &metas,
        &created_at,
    )
    .fetch_all(conn)
    .await?;
    Ok(inserted.into_iter().collect())
}
