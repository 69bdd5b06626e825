//! The log of texts, which is also what the guard looks back at.

use chrono::{DateTime, TimeDelta, Utc};
use ipnet::IpNet;
use serde_json::Value;
use uuid::Uuid;

use crate::contact::PhoneNumber;
use crate::kernel::database::{Connection, column};
use crate::kernel::ids::{CompanyId, CustomerId, StoreId, TextId};
use crate::providers::sms::{DeliveryReceipt, Reporter, TakenText};
use crate::storefront::sms_guard::asked_text::AskedText;
use crate::storefront::sms_guard::recipient::Recipient;
use crate::storefront::sms_guard::refusal::TextRefusal;

/// A text that is sent.
pub(super) struct SentText<'a> {
    pub(super) id: TextId,
    pub(super) asked: &'a AskedText,
    /// Whether the store had not texted the number within the day before.
    pub(super) to_new_number: bool,
    /// Whether it would have been refused without a solved challenge.
    pub(super) by_challenge: bool,
}

/// Counts texts as sent.
pub(super) async fn insert_sent(conn: &mut Connection, texts: &[SentText<'_>]) -> Result<(), sqlx::Error> {
    if texts.is_empty() {
        return Ok(());
    }
    sqlx::query!(
        "insert into texts (id, store_id, company_id, code_id, number, number_range, country, asked_from, to_stranger, to_new_number, by_challenge, by_own,
                            created_at, status)
         select *, 'sent' from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bool[],
                                      $10::bool[], $11::bool[], $12::bool[], $13::timestamptz[])",
        &column(texts, |text| text.id.uuid()),
        &column(texts, |text| text.asked.store.uuid()),
        &column(texts, |text| text.asked.company.uuid()),
        &column(texts, |text| text.asked.code_id()) as &[Option<Uuid>],
        &column(texts, |text| text.asked.recipient.number.as_str().to_owned()),
        &column(texts, |text| text.asked.recipient.number.range().to_owned()),
        &column(texts, |text| text.asked.recipient.number.country()) as &[Option<String>],
        &column(texts, |text| text.asked.network.map(|network| network.to_string())) as &[Option<String>],
        &column(texts, |text| text.asked.is_to_stranger()),
        &column(texts, |text| text.to_new_number),
        &column(texts, |text| text.by_challenge),
        &column(texts, |text| text.asked.by_own),
        &column(texts, |text| text.asked.at),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Logs a refusal, with the recipient and the network of the client that asked. Without a recipient, no number could be read.
pub async fn insert_refused(
    conn: &mut Connection,
    (store, company): (StoreId, CompanyId),
    (recipient, network): (Option<&Recipient>, Option<IpNet>),
    refusal: &TextRefusal,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let number = recipient.map(|recipient| &recipient.number);
    sqlx::query!(
        "insert into texts (id, store_id, company_id, number, number_range, country, asked_from, to_stranger, status, refusal, rule, reason,
                            details, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, 'refused', $9, $10, $11, $12, $13)",
        TextId::new(now).uuid(),
        store.uuid(),
        company.uuid(),
        number.map(PhoneNumber::as_str),
        number.map(PhoneNumber::range),
        number.and_then(PhoneNumber::country),
        network.map(|network| network.to_string()),
        recipient.is_some_and(Recipient::is_stranger),
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

/// Takes back the count of a text that was not sent. Stores the reason if no provider accepted it.
pub async fn take_back(conn: &mut Connection, id: TextId, refusal: Option<&TextRefusal>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update texts set status = 'given_back', tallied = false, refusal = $2, rule = $3, reason = $4, details = $5 where id = $1 and status = 'sent'",
        id.uuid(),
        refusal.map(TextRefusal::name),
        refusal.map(TextRefusal::rule),
        refusal.map(TextRefusal::to_string),
        refusal.and_then(TextRefusal::details),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Marks the text that carried the code as used. The use of codes distinguishes customers from SMS pumping.
pub async fn note_code_used(conn: &mut Connection, code: Uuid, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    // One that is left out of what strangers were texted is none of theirs that were used.
    sqlx::query!(
        "update texts set used_at = $2, tallied = tallied and (not to_stranger or left_out) where code_id = $1 and status = 'sent'",
        code,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Remembers which provider has taken a text, and what it calls it in its receipts.
pub async fn note_taken(conn: &mut Connection, id: TextId, taken: &TakenText) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update texts set provider = $2, provider_message = $3 where id = $1",
        id.uuid(),
        taken.provider.to_string(),
        taken.message,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Texts of a store and a day that are left out because they did not arrive. Networks that earn on pumping report what they like.
const LEFT_OUT_A_DAY: i64 = 50;

/// Records what became of a text, in whatever order its receipts arrive and however often: what is delivered stays delivered, and so does what
/// its code shows to have arrived. The first text of the day to a stranger that did not arrive is left out of what the conversion of the country
/// and the store is made of, because the customer could not use it; but only [`LEFT_OUT_A_DAY`] are. It still counts against its range: numbers
/// that do not exist are what SMS pumping makes up. Returns whether it is news.
pub async fn note_delivery(
    conn: &mut Connection,
    provider: Reporter,
    receipt: &DeliveryReceipt,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let DeliveryReceipt { message, delivery, code, is_for_good } = receipt;
    let noted = sqlx::query!(
        "with news as (
             select id, $3 <> 'delivered' and to_stranger and to_new_number
                        and (select count(*) from texts as other
                             where other.store_id = texts.store_id and other.left_out and other.created_at > $7) < $8 as is_lost
             from texts
             where provider = $1 and provider_message = $2 and status = 'sent'
                   and case when $3 = 'delivered' then delivery is distinct from 'delivered' else delivery is null and used_at is null end
             for update
         )
         update texts set delivery = $3, delivery_code = $4, delivery_at = $5, unreachable = $6, left_out = left_out or is_lost,
                tallied = tallied and not is_lost
         from news where texts.id = news.id",
        provider.to_string(),
        message,
        delivery.as_str(),
        code.as_deref(),
        now,
        is_for_good,
        now - TimeDelta::days(1),
        LEFT_OUT_A_DAY,
    )
    .execute(conn)
    .await?;
    Ok(noted.rows_affected() > 0)
}

/// How many of the codes texted to a number range were used.
#[derive(Debug, serde::Serialize)]
pub struct Conversion {
    country: Option<String>,
    number_range: String,
    texted: i64,
    used: i64,
    /// Texts that providers reported as not delivered.
    undelivered: i64,
    /// The ratio of used to texted codes, from 0 to 1.
    conversion: f64,
}

/// Returns the conversion of each number range since an instant, lowest first. SMS pumping shows as a low conversion. Notices have no code that
/// could be used.
pub async fn list_conversion(conn: &mut Connection, company: CompanyId, since: DateTime<Utc>) -> Result<Vec<Conversion>, sqlx::Error> {
    sqlx::query_as!(
        Conversion,
        r#"select country, number_range as "number_range!", count(*) as "texted!", count(used_at) as "used!",
                  count(*) filter (where delivery in ('undelivered', 'failed')) as "undelivered!",
                  count(used_at)::float8 / count(*) as "conversion!"
           from texts
           where company_id = $1 and status = 'sent' and code_id is not null and created_at > $2
           group by country, number_range order by 6, 3 desc, 2 limit 1000"#,
        company.uuid(),
        since,
    )
    .fetch_all(conn)
    .await
}

/// Blanks the number of a customer whose account is closed and about to be erased, in texts from before the closure. A number that the account only listed, and that another one has proven, is not its own.
pub async fn forget_leaver(conn: &mut Connection, id: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update texts set number = null, asked_from = null
         from customer_identities as leaver
         where leaver.id = $1 and leaver.closed_at is not null and leaver.erased_at is null and texts.store_id = leaver.store_id
           and texts.number = leaver.phone and texts.created_at <= leaver.closed_at
           and (leaver.phone_verified_at is not null or not exists (
               select from customer_identities as owner
               where owner.store_id = leaver.store_id and owner.phone = leaver.phone and owner.phone_verified_at is not null
           ))",
        id.uuid(),
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
    pub delivery: Option<String>,
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
        r#"select texts.id as "id: TextId", texts.number as "number!", texts.status, texts.rule, texts.reason, texts.created_at, texts.used_at,
                  texts.delivery
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
        r#"select coalesce(jsonb_agg(jsonb_build_object('number', number, 'status', status, 'refusal', refusal, 'delivery', delivery, 'created_at', created_at)
                                     order by created_at), '[]') as "texts!"
         from texts join customer_identities as account on account.id = $1
         where texts.store_id = account.store_id and texts.number = account.phone and account.phone_verified_at is not null"#,
        customer.uuid(),
    )
    .fetch_one(conn)
    .await
}
