//! Suspending and resuming a company, as the command line does: its keys are refused, and its deliveries are held meanwhile.

use chrono::{DateTime, Utc};

use crate::companies;
use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;
use crate::webhooks::engine::endpoints;

/// Suspends a company and holds its deliveries. What is in flight is still recorded. Returns `false` if it is suspended already.
pub async fn suspend_company(conn: &mut Connection, company: CompanyId, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let mut transaction = conn.begin().await?;
    let changed = companies::suspend_company(&mut transaction, company, now).await?;
    if changed {
        endpoints::hold_all(&mut transaction, company).await?;
    }
    transaction.commit().await?;
    Ok(changed)
}

/// Ends the suspension of a company, and makes the deliveries that were held, except those of webhooks that are paused themselves. Returns
/// `false` if it is not suspended.
pub async fn resume_company(conn: &mut Connection, company: CompanyId) -> Result<bool, sqlx::Error> {
    let mut transaction = conn.begin().await?;
    let changed = companies::resume_company(&mut transaction, company).await?;
    if changed {
        endpoints::release_all(&mut transaction, company).await?;
        endpoints::notify_resumed(&mut transaction).await?;
    }
    transaction.commit().await?;
    Ok(changed)
}
