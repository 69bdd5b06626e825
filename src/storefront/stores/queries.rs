//! The SQL of stores and their keys.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::companies::{Standing, standing};
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, KeyId, StoreId};
use crate::storefront::stores::challenge_mode::ChallengeMode;
use crate::storefront::stores::one_tap::OneTap;
use crate::storefront::stores::relying_party::RelyingParty;
use crate::storefront::stores::text_limits::{Opening, Pause, TextLimits};

/// The stores of a company, the oldest first.
pub async fn list_stores(conn: &mut Connection, company: CompanyId) -> Result<Vec<(StoreId, String)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select id as "id: StoreId", name from stores where company_id = $1 and deleted_at is null order by created_at, id"#,
        company.uuid(),
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.name)).collect())
}

/// Whether the company has this store.
pub async fn is_store_of(conn: &mut Connection, company: CompanyId, store: StoreId) -> Result<bool, sqlx::Error> {
    let found = sqlx::query_scalar!(
        r#"select true as "is_there!" from stores where id = $1 and company_id = $2 and deleted_at is null for share"#,
        store.uuid(),
        company.uuid(),
    );
    Ok(found.fetch_optional(conn).await?.is_some())
}

/// A store key as the command line shows it.
#[derive(Debug)]
pub struct ListedStoreKey {
    /// Its id.
    pub id: KeyId,
    /// The store whose apps use it.
    pub store: StoreId,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it was revoked, or will be.
    pub revoked_at: Option<DateTime<Utc>>,
}

/// The keys of a company's stores, the oldest first.
pub async fn list_store_keys(conn: &mut Connection, company: CompanyId) -> Result<Vec<ListedStoreKey>, sqlx::Error> {
    sqlx::query_as!(
        ListedStoreKey,
        r#"select store_keys.id as "id: KeyId", store_keys.store_id as "store: StoreId", store_keys.created_at, store_keys.revoked_at
           from store_keys join stores on stores.id = store_keys.store_id
           where stores.company_id = $1 and stores.deleted_at is null order by store_keys.created_at, store_keys.id"#,
        company.uuid(),
    )
    .fetch_all(conn)
    .await
}

pub(super) async fn insert_store_key(
    conn: &mut Connection,
    id: KeyId,
    company: CompanyId,
    store: StoreId,
    digest: &[u8],
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let inserted = sqlx::query!(
        "insert into store_keys (id, store_id, digest, created_at)
         select $1, stores.id, $3, $4 from stores where stores.id = $2 and stores.company_id = $5 and stores.deleted_at is null",
        id.uuid(),
        store.uuid(),
        digest,
        now,
        company.uuid(),
    )
    .execute(conn)
    .await?;
    Ok(inserted.rows_affected() == 1)
}

#[derive(Clone, Debug)]
pub struct Store {
    pub key_id: KeyId,
    pub id: StoreId,
    pub company_id: CompanyId,
    pub name: String,
    /// What its texts end with.
    pub one_tap: OneTap,
    /// When it asks for a challenge.
    pub challenge: ChallengeMode,
    /// Whether it publishes every sign-in.
    pub sign_in_events: bool,
    /// For whom it takes passkeys, if it does.
    pub passkeys: Option<RelyingParty>,
    /// Whether it has test identities.
    pub has_test_identities: bool,
    /// Whether customers may set up a second factor.
    pub offers_second_factor: bool,
    /// Whether some of them may have one: a store that offers none any more still asks for those that there are.
    pub asks_second_factor: bool,
    /// Whether the company is served, or the store closed.
    pub standing: Standing,
}

/// Returns the store whose key has this digest, unless the key is revoked.
pub async fn find_store(conn: &mut Connection, digest: &[u8], now: DateTime<Utc>) -> Result<Option<Store>, sqlx::Error> {
    let found = sqlx::query!(
        r#"select store_keys.id as "key_id: KeyId", stores.id as "id: StoreId", stores.company_id as "company_id: CompanyId", stores.name,
                  stores.web_otp_domain, stores.android_app_hash, stores.challenge as "challenge: ChallengeMode", stores.sign_in_events,
                  stores.passkey_domain, stores.passkey_origins,
                  exists (
                      select from tested_identities where store_id = stores.id and deleted_at is null
                  ) as "has_test_identities!",
                  stores.second_factor <> 'off' as "offers_second_factor!",
                  stores.second_factor <> 'off' or exists (select from second_factors where store_id = stores.id) as "asks_second_factor!"
           from store_keys join stores on stores.id = store_keys.store_id
           where store_keys.digest = $1 and stores.deleted_at is null and (store_keys.revoked_at is null or store_keys.revoked_at > $2)"#,
        digest,
        now,
    )
    .fetch_optional(&mut *conn)
    .await?;
    let Some(found) = found else { return Ok(None) };
    let standing = standing(conn, found.company_id).await?;
    Ok(Some(Store {
        key_id: found.key_id,
        id: found.id,
        company_id: found.company_id,
        name: found.name,
        one_tap: OneTap { web_otp_domain: found.web_otp_domain, android_app_hash: found.android_app_hash },
        challenge: found.challenge,
        sign_in_events: found.sign_in_events,
        passkeys: found.passkey_domain.map(|domain| RelyingParty { domain, origins: found.passkey_origins }),
        has_test_identities: found.has_test_identities,
        offers_second_factor: found.offers_second_factor,
        asks_second_factor: found.asks_second_factor,
        standing,
    }))
}

/// Returns the open store with this id as the words of notices need it. Nobody asked with a key of it, so there is none, and what it offers to
/// those who do is left out.
pub async fn find_sender(conn: &mut Connection, id: StoreId) -> Result<Option<Store>, sqlx::Error> {
    let found =
        sqlx::query!(r#"select company_id as "company_id: CompanyId", name from stores where id = $1 and deleted_at is null"#, id.uuid(),);
    let found = found.fetch_optional(conn).await?;
    Ok(found.map(|found| Store {
        key_id: Uuid::nil().into(),
        id,
        company_id: found.company_id,
        name: found.name,
        one_tap: OneTap::default(),
        challenge: ChallengeMode::Off,
        sign_in_events: false,
        passkeys: None,
        has_test_identities: false,
        offers_second_factor: false,
        asks_second_factor: false,
        standing: Standing::Open,
    }))
}

/// The company whose store has this key.
pub async fn company_of_store_key(conn: &mut Connection, id: KeyId) -> Result<Option<CompanyId>, sqlx::Error> {
    let found = sqlx::query_scalar!(
        "select company_id from stores where id = (select store_id from store_keys where store_keys.id = $1)",
        id.uuid(),
    );
    Ok(found.fetch_optional(conn).await?.map(CompanyId::from))
}

pub(super) async fn revoke_store_key(
    conn: &mut Connection,
    company: CompanyId,
    id: KeyId,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let revoked = sqlx::query!(
        "update store_keys set revoked_at = $2 where id = $1 and (revoked_at is null or revoked_at > $2)
         and store_id in (select stores.id from stores where stores.company_id = $3)",
        id.uuid(),
        now,
        company.uuid(),
    )
    .execute(conn)
    .await?;
    Ok(revoked.rows_affected() == 1)
}

/// Returns the pause of the store's texts, if they are paused.
pub async fn find_pause(conn: &mut Connection, store: StoreId) -> Result<Option<Pause>, sqlx::Error> {
    let row = sqlx::query!("select texts_paused_at, texts_paused_reason from stores where id = $1", store.uuid()).fetch_one(conn).await?;
    Ok(pause_of(row.texts_paused_at, row.texts_paused_reason))
}

/// The budget of a store's texts.
#[derive(Debug)]
pub struct TextBudget {
    pub store: StoreId,
    pub name: String,
    pub per_day: i32,
}

/// The budgets of those of these stores that are open.
pub async fn list_text_budgets(conn: &mut Connection, ids: &[Uuid]) -> Result<Vec<TextBudget>, sqlx::Error> {
    sqlx::query_as!(
        TextBudget,
        r#"select id as "store: StoreId", name, texts_per_day as per_day from stores where id = any($1) and deleted_at is null"#,
        ids,
    )
    .fetch_all(conn)
    .await
}

fn pause_of(since: Option<DateTime<Utc>>, reason: Option<String>) -> Option<Pause> {
    Some(Pause { since: since?, reason: reason? })
}

/// The limits of these stores.
pub async fn list_text_limits(conn: &mut Connection, ids: &[Uuid]) -> Result<HashMap<StoreId, TextLimits>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select id as "id: StoreId", texts_paused_at, texts_paused_reason, text_countries, seconds_between_texts, texts_per_number_and_hour,
                  texts_per_number_and_day, numbers_per_range, numbers_per_address_and_day, texts_per_country_and_day, texts_per_day,
                  texts_reserved_percent, unused_codes_per_range, unused_codes_per_country, unused_codes_per_store, used_codes_percent,
                  opening_until, opening_texts
           from stores where id = any($1)"#,
        ids,
    )
    .fetch_all(conn)
    .await?;
    let limits = rows.into_iter().map(|row| {
        let limits = TextLimits {
            pause: pause_of(row.texts_paused_at, row.texts_paused_reason),
            countries: row.text_countries,
            between_texts: TimeDelta::seconds(row.seconds_between_texts.into()),
            per_number_and_hour: row.texts_per_number_and_hour.into(),
            per_number_and_day: row.texts_per_number_and_day.into(),
            numbers_per_range: row.numbers_per_range.into(),
            numbers_per_address_and_day: row.numbers_per_address_and_day.into(),
            per_country_and_day: row.texts_per_country_and_day.into(),
            per_day: row.texts_per_day.into(),
            reserved_percent: row.texts_reserved_percent.into(),
            unused_codes_per_range: row.unused_codes_per_range.into(),
            unused_codes_per_country: row.unused_codes_per_country.into(),
            unused_codes_per_store: row.unused_codes_per_store.into(),
            used_codes_percent: row.used_codes_percent.into(),
            opening: row.opening_until.map(|until| Opening { until, texts: row.opening_texts.into() }),
        };
        (row.id, limits)
    });
    Ok(limits.collect())
}
