//! The SQL of notices to operators.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, LetterId, OperatorId};
use crate::operators::mail_language::MailLanguage;
use crate::operators::notices::Notice;

/// A notice that is due, and whom it is for.
pub(super) struct Due {
    pub(super) id: LetterId,
    pub(super) operator: OperatorId,
    pub(super) email: String,
    pub(super) name: Option<String>,
    pub(super) language: MailLanguage,
    pub(super) company: CompanyId,
    pub(super) about: Notice,
    pub(super) detail: Option<String>,
    pub(super) happened_at: DateTime<Utc>,
    /// Number of failed attempts.
    pub(super) failures: i32,
}

/// A notice that is stored.
pub(super) struct NewNotice<'a> {
    pub(super) operator: OperatorId,
    pub(super) about: Notice,
    pub(super) detail: Option<&'a str>,
    pub(super) happened_at: DateTime<Utc>,
    pub(super) due_at: DateTime<Utc>,
}

pub(super) async fn store_notice(conn: &mut Connection, notice: NewNotice<'_>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into operator_notices (id, operator_id, about, detail, happened_at, due_at) values ($1, $2, $3, $4, $5, $6)",
        LetterId::new(notice.happened_at).uuid(),
        notice.operator.uuid(),
        notice.about as Notice,
        notice.detail,
        notice.happened_at,
        notice.due_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Takes a lease until `until` on one due notice, and on those that were gathered with it: of the same kind, to the same operator, and put off until
/// the same instant. In the order in which they happened. An operator who was disabled or deleted meanwhile is told as well: a thief may have done
/// that.
pub(super) async fn claim_notices(conn: &mut Connection, now: DateTime<Utc>, until: DateTime<Utc>) -> Result<Vec<Due>, sqlx::Error> {
    sqlx::query_as!(
        Due,
        r#"with first as (
             select id, operator_id, about, due_at, happened_at from operator_notices where due_at <= $1
             order by due_at, id limit 1 for update skip locked
           ),
           gathered as (
             select notice.id from operator_notices as notice
             join first on notice.operator_id = first.operator_id and notice.about = first.about and notice.due_at = first.due_at
             where first.due_at > first.happened_at and notice.due_at > notice.happened_at and notice.id <> first.id
             for update of notice skip locked
           ),
           claimed as (
             update operator_notices set due_at = $2 where id in (select id from first union all select id from gathered)
             returning id, operator_id, about, detail, happened_at, failures
           )
           select claimed.id as "id!: LetterId", operators.id as "operator: OperatorId", email, name, language as "language: MailLanguage",
                  company_id as "company: CompanyId", about as "about!: Notice", detail as "detail?", happened_at as "happened_at!",
                  failures as "failures!"
           from claimed join operators on operators.id = claimed.operator_id order by happened_at, claimed.id"#,
        now,
        until,
    )
    .fetch_all(conn)
    .await
}

/// Stores that notices have failed this many times by now, and when they are tried again.
pub(super) async fn postpone_notices(
    conn: &mut Connection,
    ids: &[LetterId],
    failures: i32,
    due_at: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let ids: Vec<_> = ids.iter().map(|id| id.uuid()).collect();
    let postponed = sqlx::query!("update operator_notices set failures = $2, due_at = $3 where id = any($1)", &ids, failures, due_at);
    postponed.execute(conn).await?;
    Ok(())
}

/// Deletes notices that were sent, or have no retries left.
pub(super) async fn delete_notices(conn: &mut Connection, ids: &[LetterId]) -> Result<(), sqlx::Error> {
    let ids: Vec<_> = ids.iter().map(|id| id.uuid()).collect();
    sqlx::query!("delete from operator_notices where id = any($1)", &ids).execute(conn).await?;
    Ok(())
}
