//! Suspending a company: its keys are refused, and nobody enters its console or its portal, until it is resumed.
//!
//! Its deliveries are held as well ([`crate::webhooks::suspend_company`]): this module knows no subscriber.

use chrono::{DateTime, Utc};

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::Caller;
use crate::companies::queries;
use crate::kernel::database::Connection;

/// Suspends the caller's company, but for its deliveries, in a transaction. Returns `false` if it is suspended already.
pub async fn suspend_company(conn: &mut Connection, caller: &Caller, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    set_suspended(conn, caller, Some(now), now).await
}

/// Ends the suspension of the caller's company, but for its deliveries, in a transaction. Returns `false` if it is not suspended.
pub async fn resume_company(conn: &mut Connection, caller: &Caller, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    set_suspended(conn, caller, None, now).await
}

async fn set_suspended(
    conn: &mut Connection,
    caller: &Caller,
    since: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let changed = queries::set_suspended(conn, caller.company, since).await?;
    if changed {
        let (entry, company) = (Action::Updated(&["suspended_at"]), ChangedRecord::Company(caller.company));
        audit_trail::record(conn, caller, entry, company, now).await?;
    }
    Ok(changed)
}
