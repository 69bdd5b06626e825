//! The SQL of mails to operators.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, OperatorId};
use crate::operators::mail_language::MailLanguage;

/// A mail that is due, and whom it is for.
pub(super) struct Due {
    pub(super) operator: OperatorId,
    pub(super) email: String,
    pub(super) name: Option<String>,
    pub(super) language: MailLanguage,
    /// Whether the operator has chosen a password before.
    pub(super) accepted: bool,
    pub(super) company: CompanyId,
    /// Whether the operator is neither disabled nor deleted.
    pub(super) may_enter: bool,
    /// Number of failed attempts.
    pub(super) failures: i32,
}

pub(super) async fn store_mail(conn: &mut Connection, operator: OperatorId, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into operator_mails (operator_id, due_at) values ($1, $2)
         on conflict on constraint operator_mails_pkey do update set failures = 0, due_at = excluded.due_at",
        operator.uuid(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Takes a lease on one due mail, until `until`.
pub(super) async fn claim_mail(conn: &mut Connection, now: DateTime<Utc>, until: DateTime<Utc>) -> Result<Option<Due>, sqlx::Error> {
    sqlx::query_as!(
        Due,
        r#"with claimed as (
             update operator_mails set due_at = $2
             where operator_id = (select operator_id from operator_mails where due_at <= $1 order by due_at limit 1 for update skip locked)
             returning operator_id, failures
           )
           select operators.id as "operator: OperatorId", email, name, language as "language: MailLanguage",
                  accepted_at is not null as "accepted!", company_id as "company: CompanyId",
                  deleted_at is null and disabled_at is null as "may_enter!", failures
           from claimed join operators on operators.id = claimed.operator_id"#,
        now,
        until,
    )
    .fetch_optional(conn)
    .await
}

pub(super) async fn postpone_mail(
    conn: &mut Connection,
    operator: OperatorId,
    failures: i32,
    due_at: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update operator_mails set failures = failures + 1, due_at = $3 where operator_id = $1 and failures = $2",
        operator.uuid(),
        failures,
        due_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes a mail that was sent, or has no retries left.
pub(super) async fn delete_mail(conn: &mut Connection, operator: OperatorId, failures: i32) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from operator_mails where operator_id = $1 and failures = $2", operator.uuid(), failures).execute(conn).await?;
    Ok(())
}
