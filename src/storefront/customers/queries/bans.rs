//! The SQL of bans.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, CustomerId};

/// Bans an account, or with `None` lifts the ban. A ban that lasts keeps its beginning and gets the new reason and the new end.
pub async fn set_ban(
    conn: &mut Connection,
    id: CustomerId,
    ban: Option<(&str, Option<DateTime<Utc>>)>,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let (reason, until) = ban.unzip();
    sqlx::query!(
        "update customers set banned_at = case when $2::text is not null then coalesce(banned_at, $3) end, banned_reason = $2,
             banned_until = $4, updated_at = $3
         where id = $1",
        id.uuid(),
        reason,
        now,
        until.flatten(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Lifts bans that have ended, at most `limit` of them, and returns whose they were.
pub async fn lift_ended_bans(conn: &mut Connection, limit: i64, now: DateTime<Utc>) -> Result<Vec<(CompanyId, CustomerId)>, sqlx::Error> {
    let lifted = sqlx::query!(
        r#"update customers set banned_at = null, banned_reason = null, banned_until = null, updated_at = $1
           where id in (select id from customers where banned_until <= $1 order by banned_until limit $2 for update skip locked)
           returning id as "id: CustomerId", company_id as "company_id: CompanyId""#,
        now,
        limit,
    );
    Ok(lifted.fetch_all(conn).await?.into_iter().map(|row| (row.company_id, row.id)).collect())
}
