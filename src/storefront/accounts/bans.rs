//! Bans that end by themselves.

use chrono::{DateTime, Utc};

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::Caller;
use crate::kernel::database::Connection;
use crate::storefront::customers;

/// The bans that are lifted in one transaction. The next sweep lifts the others.
const LIFTED_AT_ONCE: i64 = 200;

/// Lifts the bans that have ended. The sessions that ended with them stay ended.
pub async fn lift_ended(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    let mut tx = conn.begin().await?;
    for (company, customer) in customers::lift_ended_bans(&mut tx, LIFTED_AT_ONCE, now).await? {
        let changed = Action::Updated(&["banned_at", "banned_reason", "banned_until"]);
        audit_trail::record(&mut tx, &Caller::service(company), changed, ChangedRecord::Customer(customer), now).await?;
    }
    tx.commit().await
}
