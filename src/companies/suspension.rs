//! Suspending a company: its keys are refused, and nobody enters its console or its portal, until it is resumed.
//!
//! Its deliveries are held as well ([`crate::webhooks::suspend_company`]): this module knows no subscriber.

use chrono::{DateTime, Utc};

use crate::companies::queries;
use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;
use crate::kernel::problem::{Problem, ProblemCode};

/// Suspends a company, but for its deliveries. Returns `false` if it is suspended already.
pub async fn suspend_company(conn: &mut Connection, company: CompanyId, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    queries::set_suspended(conn, company, Some(now)).await
}

/// Ends the suspension of a company, but for its deliveries. Returns `false` if it is not suspended.
pub async fn resume_company(conn: &mut Connection, company: CompanyId) -> Result<bool, sqlx::Error> {
    queries::set_suspended(conn, company, None).await
}

/// Whether the company is suspended.
pub async fn is_suspended(conn: &mut Connection, company: CompanyId) -> Result<bool, sqlx::Error> {
    queries::is_suspended(conn, company).await
}

/// Refuses whoever acts for a company that is suspended.
pub async fn must_not_be_suspended(conn: &mut Connection, company: CompanyId) -> Result<(), Problem> {
    if is_suspended(conn, company).await? { Err(ProblemCode::CompanySuspended.into()) } else { Ok(()) }
}
