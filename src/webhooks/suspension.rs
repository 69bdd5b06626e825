//! Suspending and resuming a company, as the command line does: its keys are refused, and its deliveries are held meanwhile.

use chrono::{DateTime, Utc};

use crate::callers::Caller;
use crate::companies;
use crate::kernel::database::Connection;
use crate::webhooks::engine::endpoints;

/// Suspends the caller's company and holds its deliveries. What is in flight is still recorded. Returns `false` if it is suspended already.
///
/// A request that came before may be about to add or resume a webhook. Either it has done so when the company's row is free, and its endpoint
/// is held with the others, or it finds the company suspended and is refused.
pub async fn suspend_company(conn: &mut Connection, caller: &Caller, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let mut transaction = conn.begin().await?;
    let changed = companies::suspend_company(&mut transaction, caller, now).await?;
    if changed {
        endpoints::hold_all(&mut transaction, caller.company).await?;
    }
    transaction.commit().await?;
    Ok(changed)
}

/// Ends the suspension of the caller's company, and makes the deliveries that were held, except those of webhooks that are paused themselves. Returns
/// `false` if it is not suspended.
pub async fn resume_company(conn: &mut Connection, caller: &Caller, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let mut transaction = conn.begin().await?;
    let changed = companies::resume_company(&mut transaction, caller, now).await?;
    if changed {
        endpoints::release_all(&mut transaction, caller.company).await?;
        endpoints::notify_resumed(&mut transaction).await?;
    }
    transaction.commit().await?;
    Ok(changed)
}
