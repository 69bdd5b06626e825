//! Bans that end by themselves.

use chrono::{DateTime, Utc};

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::Caller;
use crate::kernel::database::Connection;
use crate::storefront::customers;

/// The bans that are lifted in one transaction.
const LIFTED_AT_ONCE: usize = 200;

/// Lifts the bans that have ended. The sessions that ended with them stay ended.
pub async fn lift_ended(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    loop {
        let mut tx = conn.begin().await?;
        let lifted = customers::lift_ended_bans(&mut tx, LIFTED_AT_ONCE as i64, now).await?;
        for (company, customer) in &lifted {
            let changed = Action::Updated(&["banned_at", "banned_reason", "banned_until"]);
            audit_trail::record(&mut tx, &Caller::service(*company), changed, ChangedRecord::Customer(*customer), now).await?;
        }
        tx.commit().await?;
        if lifted.len() < LIFTED_AT_ONCE {
            return Ok(());
        }
    }
}
