//! The SQL of the SMS guard.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use uuid::Uuid;

use crate::contact::PhoneNumber;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, CustomerId, StoreId, TextId};
use crate::storefront::sending::sms_guard::refusal::TextRefusal;
use crate::storefront::sending::sms_guard::rules::{History, RANGE_WINDOW, pumping_since};
use crate::storefront::stores::TextLimits;

pub(super) async fn count_texts(
    conn: &mut Connection,
    store: StoreId,
    number: &PhoneNumber,
    limits: &TextLimits,
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
        pumping_since(limits, now),
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

pub(super) async fn insert_sent(
    conn: &mut Connection,
    store: StoreId,
    number: &PhoneNumber,
    code: Option<Uuid>,
    now: DateTime<Utc>,
) -> Result<TextId, sqlx::Error> {
    let id = TextId::new(now);
    sqlx::query!(
        "insert into texts (id, store_id, code_id, number, number_range, country, status, created_at, company_id)
         values ($1, $2, $3, $4, $5, $6, 'sent', $7, (select company_id from store_companies where store_companies.id = $2))",
        id.uuid(),
        store.uuid(),
        code,
        number.as_str(),
        number.range(),
        number.country(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(id)
}

pub(super) async fn insert_refused(
    conn: &mut Connection,
    store: StoreId,
    number: Option<&PhoneNumber>,
    refusal: &TextRefusal,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into texts (id, store_id, number, number_range, country, status, refusal, rule, reason, details, created_at, company_id)
         values ($1, $2, $3, $4, $5, 'refused', $6, $7, $8, $9, $10,
                 (select company_id from store_companies where store_companies.id = $2))",
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
pub async fn take_back(conn: &mut Connection, code: Uuid, refusal: &TextRefusal) -> Result<(), sqlx::Error> {
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

/// The same for the text of a notice.
pub async fn take_notice_back(conn: &mut Connection, id: TextId, refusal: &TextRefusal) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update texts set status = 'given_back', refusal = $2, rule = $3, reason = $4, details = $5 where id = $1 and status = 'sent'",
        id.uuid(),
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
pub async fn note_code_used(conn: &mut Connection, code: Uuid, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("update texts set used_at = $2 where code_id = $1 and status = 'sent'", code, now).execute(conn).await?;
    Ok(())
}

/// How many of the codes texted to a number range were used.
#[derive(Debug, serde::Serialize)]
pub struct Conversion {
    country: Option<String>,
    number_range: String,
    texted: i64,
    used: i64,
    /// The ratio of used to texted codes, from 0 to 1.
    conversion: f64,
}

/// Returns the conversion of each number range since an instant, lowest first. SMS pumping shows as a low conversion. Notices have no code that
/// could be used.
pub async fn list_conversion(conn: &mut Connection, company: CompanyId, since: DateTime<Utc>) -> Result<Vec<Conversion>, sqlx::Error> {
    sqlx::query_as!(
        Conversion,
        r#"select country, number_range as "number_range!", count(*) as "texted!", count(used_at) as "used!",
                  count(used_at)::float8 / count(*) as "conversion!"
           from texts
           where company_id = $1 and status = 'sent' and code_id is not null and created_at > $2
           group by country, number_range order by 5, 3 desc, 2 limit 1000"#,
        company.uuid(),
        since,
    )
    .fetch_all(conn)
    .await
}

/// Blanks the numbers of customers whose accounts were closed before `closed_before` and are about to be erased, in texts from
/// before the closure.
pub async fn forget_leavers(conn: &mut Connection, closed_before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update texts set number = null
         from customer_identities as leaver
         where leaver.closed_at <= $1 and leaver.erased_at is null and texts.store_id = leaver.store_id
           and texts.number = leaver.phone and texts.created_at <= leaver.closed_at",
        closed_before,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn forget_texts(conn: &mut Connection, before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from texts where created_at < $1", before).execute(conn).await?;
    Ok(())
}

/// A text to the number of a customer.
#[derive(Debug)]
pub struct LoggedText {
    pub id: TextId,
    pub number: String,
    pub status: String,
    pub rule: Option<String>,
    pub reason: Option<String>,
    pub created_at: DateTime<Utc>,
    pub used_at: Option<DateTime<Utc>>,
}

/// Returns the latest texts to the proven number of a customer before an instant, refused ones included.
pub async fn list_texts(
    conn: &mut Connection,
    customer: CustomerId,
    before: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<LoggedText>, sqlx::Error> {
    sqlx::query_as!(
        LoggedText,
        r#"select texts.id as "id: TextId", texts.number as "number!", texts.status, texts.rule, texts.reason, texts.created_at, texts.used_at
           from customer_identities as account join texts on texts.store_id = account.store_id and texts.number = account.phone
           where account.id = $1 and account.phone_verified_at is not null and texts.created_at < $2
           order by texts.created_at desc, texts.id desc limit $3"#,
        customer.uuid(),
        before,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Returns the texts to the proven number of a customer for the export, oldest first.
pub async fn export_texts(conn: &mut Connection, customer: CustomerId) -> Result<Value, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select coalesce(jsonb_agg(jsonb_build_object('number', number, 'status', status, 'refusal', refusal, 'created_at', created_at)
                                     order by created_at), '[]') as "texts!"
         from texts join customer_identities as account on account.id = $1
         where texts.store_id = account.store_id and texts.number = account.phone and account.phone_verified_at is not null"#,
        customer.uuid(),
    )
    .fetch_one(conn)
    .await
}
