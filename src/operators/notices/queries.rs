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

pub(super) async fn store_notice(
    conn: &mut Connection,
    id: LetterId,
    operator: OperatorId,
    about: Notice,
    detail: Option<&str>,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into operator_notices (id, operator_id, about, detail, happened_at, due_at) values ($1, $2, $3, $4, $5, $5)",
        id.uuid(),
        operator.uuid(),
        about as Notice,
        detail,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Takes a lease on one due notice, until `until`. An operator who was disabled or deleted meanwhile is told as well: a thief may have done that.
pub(super) async fn claim_notice(conn: &mut Connection, now: DateTime<Utc>, until: DateTime<Utc>) -> Result<Option<Due>, sqlx::Error> {
    sqlx::query_as!(
        Due,
        r#"with claimed as (
             update operator_notices set due_at = $2
             where id = (select id from operator_notices where due_at <= $1 order by due_at, id limit 1 for update skip locked)
             returning id, operator_id, about, detail, happened_at, failures
           )
           select claimed.id as "id!: LetterId", operators.id as "operator: OperatorId", email, name, language as "language: MailLanguage",
                  company_id as "company: CompanyId", about as "about!: Notice", detail as "detail?", happened_at as "happened_at!",
                  failures as "failures!"
           from claimed join operators on operators.id = claimed.operator_id"#,
        now,
        until,
    )
    .fetch_optional(conn)
    .await
}

/// Stores that a notice has failed this many times by now, and when it is tried again.
pub(super) async fn postpone_notice(conn: &mut Connection, id: LetterId, failures: i32, due_at: DateTime<Utc>) -> Result<(), sqlx::Error> {
    let postponed = sqlx::query!("update operator_notices set failures = $2, due_at = $3 where id = $1", id.uuid(), failures, due_at);
    postponed.execute(conn).await?;
    Ok(())
}

/// Deletes a notice that was sent, or has no retries left.
pub(super) async fn delete_notice(conn: &mut Connection, id: LetterId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from operator_notices where id = $1", id.uuid()).execute(conn).await?;
    Ok(())
}
