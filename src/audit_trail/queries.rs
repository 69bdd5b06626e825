//! The SQL of the audit trail.

use chrono::{DateTime, Utc};

use crate::audit_trail::{Action, ChangedRecord};
use crate::callers::Caller;
use crate::kernel::database::Connection;
use crate::kernel::ids::ChangeId;

pub(super) async fn insert_change(
    conn: &mut Connection,
    caller: &Caller,
    action: Action<'_>,
    changed: ChangedRecord,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into changes (id, company_id, caller, caller_id, action, kind, record_id, fields, request_id, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        ChangeId::new(now).uuid(),
        caller.company.uuid(),
        caller.who.kind(),
        caller.who.id(),
        action.name(),
        changed.kind(),
        changed.uuid(),
        &action.fields(),
        caller.request.map(|request| request.to_string()),
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn delete_changes_until(conn: &mut Connection, until: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from changes where created_at < $1", until).execute(conn).await?;
    Ok(())
}
