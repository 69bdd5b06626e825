//! The SQL of the guard's pauses.

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, StoreId, TextPauseId};
use crate::storefront::sms_guard::learnt::Learnt;
use crate::storefront::sms_guard::pauses::TextPause;
use crate::storefront::sms_guard::scope::Scope;
use crate::storefront::stores;

/// A row with the columns of a pause.
macro_rules! pause {
    ($row:ident) => {
        TextPause {
            id: $row.id,
            company: $row.company,
            store: $row.store,
            scope: Scope::read(&$row.scope, $row.name),
            texted: $row.texted,
            used: $row.used,
            reason: $row.reason,
            paused_at: $row.paused_at,
            paused_until: $row.paused_until,
            ended_at: $row.ended_at,
        }
    };
}

pub(super) async fn list_learnt(
    conn: &mut Connection,
    scopes: BTreeSet<(Uuid, &'static str, String)>,
) -> Result<HashMap<(StoreId, Scope), Learnt>, sqlx::Error> {
    let (mut stores, mut kinds, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for (store, kind, name) in scopes {
        stores.push(store);
        kinds.push(kind.to_owned());
        names.push(name);
    }
    let rows = sqlx::query!(
        r#"select store_id as "store!: StoreId", scope as "scope!", name as "name!", level, paused_at, coalesce(ended_at, paused_until) as "until!",
                  reason
           from unnest($1::uuid[], $2::text[], $3::text[]) as asked (store_id, scope, name) join text_pauses using (store_id, scope, name)"#,
        &stores,
        &kinds,
        &names,
    )
    .fetch_all(conn)
    .await?;
    let learnt = rows.into_iter().map(|row| {
        let learnt = Learnt { level: row.level, since: row.paused_at, until: row.until, reason: row.reason };
        ((row.store, Scope::read(&row.scope, row.name)), learnt)
    });
    Ok(learnt.collect())
}

/// Stores a pause in place of the one before of the same scope.
pub(super) async fn put(conn: &mut Connection, pause: &TextPause, level: i16) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into text_pauses (id, company_id, store_id, scope, name, level, texted, used, reason, paused_at, paused_until, mail_due_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $10)
         on conflict on constraint text_pauses_latest do update
         set id = excluded.id, level = excluded.level, texted = excluded.texted, used = excluded.used, reason = excluded.reason,
             paused_at = excluded.paused_at, paused_until = excluded.paused_until, ended_at = null, mail_due_at = excluded.mail_due_at,
             mail_failures = 0",
        pause.id.uuid(),
        pause.company.uuid(),
        pause.store.uuid(),
        pause.scope.kind(),
        pause.scope.name(),
        level,
        pause.texted,
        pause.used,
        pause.reason,
        pause.paused_at,
        pause.paused_until,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The pauses of a company's open stores that last, the latest first.
pub async fn list_lasting(conn: &mut Connection, company: CompanyId, now: DateTime<Utc>) -> Result<Vec<TextPause>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select id as "id: TextPauseId", company_id as "company: CompanyId", store_id as "store: StoreId", scope, name, texted, used, reason,
                  paused_at, paused_until, ended_at
           from text_pauses where company_id = $1 and ended_at is null and paused_until > $2 order by paused_at desc, id desc limit 1000"#,
        company.uuid(),
        now,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| pause!(row)).collect())
}

/// Ends a pause of the company before its time.
pub(super) async fn end(
    conn: &mut Connection,
    company: CompanyId,
    id: TextPauseId,
    now: DateTime<Utc>,
) -> Result<Option<TextPause>, sqlx::Error> {
    let row = sqlx::query!(
        r#"update text_pauses set ended_at = $3, mail_due_at = null
           where id = $1 and company_id = $2 and ended_at is null and paused_until > $3
           returning id as "id: TextPauseId", company_id as "company: CompanyId", store_id as "store: StoreId", scope, name, texted, used, reason,
                     paused_at, paused_until, ended_at"#,
        id.uuid(),
        company.uuid(),
        now,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| pause!(row)))
}

/// Notes that pauses have come to their end.
pub(super) async fn end_due(conn: &mut Connection, limit: i64, now: DateTime<Utc>) -> Result<Vec<TextPause>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"update text_pauses set ended_at = paused_until
           where id in (select id from text_pauses where ended_at is null and paused_until <= $2 order by paused_until limit $1
                        for update skip locked)
           returning id as "id: TextPauseId", company_id as "company: CompanyId", store_id as "store: StoreId", scope, name, texted, used, reason,
                     paused_at, paused_until, ended_at"#,
        limit,
        now,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| pause!(row)).collect())
}

/// Takes leases, until `until`, on pauses whose mail is due. The number beside each is how often it failed.
pub(super) async fn claim_mails(
    conn: &mut Connection,
    limit: i64,
    now: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<Vec<(TextPause, i16)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"update text_pauses set mail_due_at = $3
           where id in (select id from text_pauses where mail_due_at <= $2 order by mail_due_at limit $1 for update skip locked)
           returning id as "id: TextPauseId", company_id as "company: CompanyId", store_id as "store: StoreId", scope, name, texted, used, reason,
                     paused_at, paused_until, ended_at, mail_failures"#,
        limit,
        now,
        until,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let failures = row.mail_failures;
            (pause!(row), failures)
        })
        .collect())
}

/// Notes when the mail is tried again, if it is.
pub(super) async fn record_mail(conn: &mut Connection, id: TextPauseId, due_at: Option<DateTime<Utc>>) -> Result<(), sqlx::Error> {
    sqlx::query!("update text_pauses set mail_due_at = $2, mail_failures = mail_failures + 1 where id = $1", id.uuid(), due_at,)
        .execute(conn)
        .await?;
    Ok(())
}

/// The name of a store, for the mail.
pub(super) async fn store_name(conn: &mut Connection, store: StoreId) -> Result<String, sqlx::Error> {
    let found = stores::list_text_budgets(conn, &[store.uuid()]).await?;
    Ok(found.into_iter().next().map(|store| store.name).unwrap_or_default())
}

/// Forgets the pauses that ended before `before`.
pub(super) async fn forget(conn: &mut Connection, before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from text_pauses where ended_at is not null and paused_until < $1", before).execute(conn).await?;
    Ok(())
}
