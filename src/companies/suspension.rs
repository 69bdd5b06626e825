//! Suspending a company: its keys are refused, and nobody enters its console or its portal, until it is resumed. And who is refused.
//!
//! Its deliveries are held as well ([`crate::webhooks::suspend_company`]): this module knows no subscriber.

use chrono::{DateTime, Utc};

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::Caller;
use crate::companies::queries;
use crate::companies::standing::Standing;
use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;
use crate::kernel::problem::Problem;

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

/// Whether a company is served.
pub async fn standing(conn: &mut Connection, company: CompanyId) -> Result<Standing, sqlx::Error> {
    queries::find_standing(conn, company).await
}

/// Whether the company is suspended, be it for a move.
pub(super) async fn is_suspended(conn: &mut Connection, company: CompanyId) -> Result<bool, sqlx::Error> {
    Ok(matches!(standing(conn, company).await?, Standing::Suspended | Standing::Moving))
}

/// Refuses whoever acts for a company that is not served.
pub async fn must_be_open(conn: &mut Connection, company: CompanyId) -> Result<(), Problem> {
    standing(conn, company).await?.must_be_open()
}

/// Refuses whoever acts for a company that is not served, and otherwise keeps it from being suspended or moved until the transaction ends: what a
/// request does that came before is then seen by whoever suspends or moves the company.
pub async fn must_stay_open(conn: &mut Connection, company: CompanyId) -> Result<(), Problem> {
    queries::lock_against_suspension(conn, company).await?;
    must_be_open(conn, company).await
}
