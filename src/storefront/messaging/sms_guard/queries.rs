//! The SQL of the SMS guard.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::contact::PhoneNumber;
use crate::kernel::ids::{CompanyId, StoreId, TextId};
use crate::storefront::messaging::sms_guard::refusal::{Pause, TextRefusal};
use crate::storefront::messaging::sms_guard::rules::{History, Limits, RANGE_WINDOW};

/// Returns the pause of the store's texts, if they are paused.
pub(super) async fn find_pause(conn: &mut PgConnection, store: StoreId) -> Result<Option<Pause>, sqlx::Error> {
    let row = sqlx::query!("select texts_paused_at, texts_paused_reason from stores where id = $1", store.uuid()).fetch_one(conn).await?;
    Ok(pause_of(row.texts_paused_at, row.texts_paused_reason))
}

fn pause_of(since: Option<DateTime<Utc>>, reason: Option<String>) -> Option<Pause> {
    Some(Pause { since: since?, reason: reason? })
}

/// Returns the store's limits and locks them until the transaction ends, so that no other text of the store is judged in the
/// meantime.
pub(super) async fn lock_limits(conn: &mut PgConnection, store: StoreId) -> Result<Limits, sqlx::Error> {
    let row = sqlx::query!(
        "select texts_paused_at, texts_paused_reason, texts_resumed_at, text_countries, seconds_between_texts, texts_per_number_and_hour,
                texts_per_number_and_day, numbers_per_range, texts_per_day
         from stores where id = $1 for no key update",
        store.uuid(),
    )
    .fetch_one(conn)
    .await?;
    Ok(Limits {
        pause: pause_of(row.texts_paused_at, row.texts_paused_reason),
        resumed_at: row.texts_resumed_at,
        countries: row.text_countries,
        between_texts: TimeDelta::seconds(row.seconds_between_texts.into()),
        per_number_and_hour: row.texts_per_number_and_hour.into(),
        per_number_and_day: row.texts_per_number_and_day.into(),
        numbers_per_range: row.numbers_per_range.into(),
        per_day: row.texts_per_day.into(),
    })
}

/// Returns the counters that the rules need.
pub(super) async fn count_texts(
    conn: &mut PgConnection,
    store: StoreId,
    number: &PhoneNumber,
    limits: &Limits,
    now: DateTime<Utc>,
) -> Result<History, sqlx::Error> {
    let row = sqlx::query!(
        r#"select coalesce(array_agg(created_at order by created_at desc) filter (where number = $2), '{}') as "to_number!",
                  count(distinct number) filter (where number_range = $3 and number <> $2 and created_at > $5) as "others_in_range!",
                  min(created_at) filter (where number_range = $3 and number <> $2 and created_at > $5) as range_since,
                  count(*) as "today!",
                  min(created_at) as today_since,
                  count(*) filter (where code_id is not null and created_at > $6) as "texted!",
                  count(*) filter (where used_at is not null and created_at > $6) as "used!"
           from texts where store_id = $1 and status = 'sent' and created_at > $4"#,
        store.uuid(),
        number.as_str(),
        number.range(),
        now - TimeDelta::days(1),
        now - RANGE_WINDOW,
        limits.pumping_since(now),
    )
    .fetch_one(conn)
    .await?;
    Ok(History {
        to_number: row.to_number,
        others_in_range: row.others_in_range,
        range_since: row.range_since,
        today: row.today,
        today_since: row.today_since,
        texted: row.texted,
        used: row.used,
    })
}

/// Inserts a text as sent.
pub(super) async fn insert_sent(
    conn: &mut PgConnection,
    store: StoreId,
    number: &PhoneNumber,
    code: Uuid,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into texts (id, store_id, code_id, number, number_range, country, status, created_at)
         values ($1, $2, $3, $4, $5, $6, 'sent', $7)",
        TextId::new(now).uuid(),
        store.uuid(),
        code,
        number.as_str(),
        number.range(),
        number.country(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Inserts a text as refused, with the reason.
pub(super) async fn insert_refused(
    conn: &mut PgConnection,
    store: StoreId,
    number: Option<&PhoneNumber>,
    refusal: &TextRefusal,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into texts (id, store_id, number, number_range, country, status, refusal, rule, reason, details, created_at)
         values ($1, $2, $3, $4, $5, 'refused', $6, $7, $8, $9, $10)",
        TextId::new(now).uuid(),
        store.uuid(),
        number.map(PhoneNumber::as_str),
        number.map(PhoneNumber::range),
        number.and_then(PhoneNumber::country),
        refusal.name(),
        refusal.rule(),
        refusal.to_string(),
        refusal.details(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Takes back the count of a text that no provider accepted, and stores the reason.
pub(in crate::storefront) async fn take_back(conn: &mut PgConnection, code: Uuid, refusal: &TextRefusal) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update texts set status = 'given_back', refusal = $2, rule = $3, reason = $4, details = $5 where code_id = $1 and status = 'sent'",
        code,
        refusal.name(),
        refusal.rule(),
        refusal.to_string(),
        refusal.details(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Marks the text that carried the code as used. The use of codes distinguishes customers from SMS pumping.
pub(in crate::storefront) async fn note_code_used(conn: &mut PgConnection, code: Uuid, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("update texts set used_at = $2 where code_id = $1 and status = 'sent'", code, now).execute(conn).await?;
    Ok(())
}

/// Pauses the store's texts until an operator ends the pause. Returns the company, or `None` if they were already paused.
pub(super) async fn pause(
    conn: &mut PgConnection,
    store: StoreId,
    reason: &str,
    now: DateTime<Utc>,
) -> Result<Option<CompanyId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"update stores set texts_paused_at = $2, texts_paused_reason = $3 where id = $1 and texts_paused_at is null
           returning company_id as "company_id: CompanyId""#,
        store.uuid(),
        now,
        reason,
    )
    .fetch_optional(conn)
    .await
}

/// How many of the codes texted to a number range were used.
#[derive(Debug, serde::Serialize)]
pub(in crate::storefront) struct Conversion {
    country: Option<String>,
    number_range: String,
    texted: i64,
    used: i64,
    /// The ratio of used to texted codes, from 0 to 1.
    conversion: f64,
}

/// Returns the conversion of each number range since an instant, lowest first. SMS pumping shows as a low conversion.
pub(in crate::storefront) async fn list_conversion(
    conn: &mut PgConnection,
    company: CompanyId,
    since: DateTime<Utc>,
) -> Result<Vec<Conversion>, sqlx::Error> {
    sqlx::query_as!(
        Conversion,
        r#"select country, number_range as "number_range!", count(*) as "texted!", count(texts.used_at) as "used!",
                  count(texts.used_at)::float8 / count(*) as "conversion!"
           from texts join stores on stores.id = texts.store_id
           where stores.company_id = $1 and texts.status = 'sent' and texts.created_at > $2
           group by country, number_range order by 5, 3 desc, 2 limit 1000"#,
        company.uuid(),
        since,
    )
    .fetch_all(conn)
    .await
}

/// Blanks the numbers of customers whose accounts were closed before `closed_before` and are about to be erased, in texts from
/// before the closure.
pub(in crate::storefront) async fn forget_leavers(conn: &mut PgConnection, closed_before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update texts set number = null
         from customers
         where customers.closed_at <= $1 and customers.erased_at is null and texts.store_id = customers.store_id
           and texts.number = customers.phone and texts.created_at <= customers.closed_at",
        closed_before,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes the texts created before `before`.
pub(in crate::storefront) async fn forget_texts(conn: &mut PgConnection, before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from texts where created_at < $1", before).execute(conn).await?;
    Ok(())
}
