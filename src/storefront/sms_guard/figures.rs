//! How many texts the guard let through and refused. Whole hours are counted once, by a periodic task; the last minutes are counted when
//! they are asked for.

use chrono::{DateTime, Utc};
use serde::Serialize;
use uuid::Uuid;

use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;

/// The texts with one verdict.
#[derive(Debug, Serialize)]
pub struct VerdictFigures {
    pub status: String,
    /// The rule that decided about a text that was not sent.
    pub rule: Option<String>,
    pub total: i64,
}

/// Adds the texts before `until` that are not counted yet to their hours. Does nothing while another instance does.
pub async fn count_hours(conn: &mut Connection, until: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "with last as (
             select counted_until from texts_counted_until for update skip locked
         ), moved as (
             update texts_counted_until set counted_until = $1 from last where last.counted_until < $1 returning last.counted_until as since
         )
         insert into text_hours as counted (company_id, hour, store_id, status, rule, total)
         select texts.company_id, date_trunc('hour', texts.created_at, 'UTC'), texts.store_id, texts.status, coalesce(texts.rule, ''), count(*)
         from moved join texts on texts.created_at >= moved.since and texts.created_at < $1 group by 1, 2, 3, 4, 5
         on conflict on constraint text_hours_pkey do update set total = counted.total + excluded.total",
        until,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The texts of a company since the beginning of an hour, by verdict.
pub async fn list_figures(conn: &mut Connection, company: CompanyId, since: DateTime<Utc>) -> Result<Vec<VerdictFigures>, sqlx::Error> {
    sqlx::query_as!(
        VerdictFigures,
        r#"select status as "status!", nullif(rule, '') as rule, sum(total)::bigint as "total!"
           from (
               select status, rule, total from text_hours where company_id = $1 and hour >= $2
               union all
               select status, coalesce(rule, ''), 1 from texts
               where company_id = $1 and created_at >= $2 and created_at >= (select counted_until from texts_counted_until)
           ) as entry
           group by status, rule order by 3 desc, 1, 2"#,
        company.uuid(),
        since,
    )
    .fetch_all(conn)
    .await
}

/// How many texts each store has sent since the beginning of an hour, those with the most first.
pub async fn count_sent(conn: &mut Connection, company: CompanyId, since: DateTime<Utc>) -> Result<Vec<(Uuid, i64)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select store_id as "store_id!", sum(total)::bigint as "total!"
           from (
               select store_id, total from text_hours where company_id = $1 and hour >= $2 and status = 'sent'
               union all
               select store_id, 1 from texts
               where company_id = $1 and created_at >= $2 and status = 'sent'
                     and created_at >= (select counted_until from texts_counted_until)
           ) as entry
           group by store_id order by 2 desc limit 100"#,
        company.uuid(),
        since,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.store_id, row.total)).collect())
}

pub async fn forget_hours(conn: &mut Connection, before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from text_hours where hour < $1", before).execute(conn).await?;
    Ok(())
}
