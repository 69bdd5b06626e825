//! How many sign-ins there were, leaving out those with test identities. Whole hours are counted once, by a periodic task; the last minutes
//! are counted when they are asked for.

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;

/// The sign-ins by one method.
#[derive(Debug, Serialize)]
pub struct MethodFigures {
    pub method: String,
    pub succeeded: i64,
    pub refused: i64,
}

/// Adds the entries before `until` that are not counted yet to their hours. Does nothing while another instance does.
pub async fn count_hours(conn: &mut Connection, until: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "with last as (
             select counted_until from sign_ins_counted for update skip locked
         ), moved as (
             update sign_ins_counted set counted_until = $1 from last where last.counted_until < $1 returning last.counted_until as since
         )
         insert into sign_in_hours as counted (company_id, hour, method, outcome, total)
         select sign_ins.company_id, date_trunc('hour', sign_ins.created_at, 'UTC'), sign_ins.method, sign_ins.outcome, count(*)
         from moved join sign_ins on sign_ins.created_at >= moved.since and sign_ins.created_at < $1
         where not exists (
             select from tested_identities as tested where tested.store_id = sign_ins.store_id and tested.identity = sign_ins.identity
         )
         group by 1, 2, 3, 4
         on conflict on constraint sign_in_hours_pkey do update set total = counted.total + excluded.total",
        until,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The sign-ins of a company since the beginning of an hour, by method.
pub async fn list_figures(conn: &mut Connection, company: CompanyId, since: DateTime<Utc>) -> Result<Vec<MethodFigures>, sqlx::Error> {
    sqlx::query_as!(
        MethodFigures,
        r#"select method as "method!", coalesce(sum(total) filter (where outcome = 'signed_in'), 0)::bigint as "succeeded!",
                  coalesce(sum(total) filter (where outcome <> 'signed_in'), 0)::bigint as "refused!"
           from (
               select method, outcome, total from sign_in_hours where company_id = $1 and hour >= $2
               union all
               select method, outcome, 1 from sign_ins
               where company_id = $1 and created_at >= $2 and created_at >= (select counted_until from sign_ins_counted)
                     and not exists (
                         select from tested_identities as tested
                         where tested.store_id = sign_ins.store_id and tested.identity = sign_ins.identity
                     )
           ) as entry
           group by method order by sum(total) desc, method"#,
        company.uuid(),
        since,
    )
    .fetch_all(conn)
    .await
}

pub async fn forget_hours(conn: &mut Connection, before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from sign_in_hours where hour < $1", before).execute(conn).await?;
    Ok(())
}
