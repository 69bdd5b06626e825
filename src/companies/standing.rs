//! Whether a company is served: not while it is suspended, and not while it moves to another cell.

use crate::companies::queries;
use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;
use crate::kernel::problem::{Problem, ProblemCode};

/// After so many seconds, a request to a company that is moving may find it where it went.
const MOVED_AFTER: u64 = 2;

/// Whether a company is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is.
    Open,
    /// Its keys are refused until it is resumed.
    Suspended,
    /// It is on its way from or to another cell, and its requests have to wait for some seconds.
    Moving,
}

impl Standing {
    pub(super) fn of(suspended: bool, moving: bool) -> Self {
        match (suspended, moving) {
            (false, _) => Self::Open,
            (true, false) => Self::Suspended,
            (true, true) => Self::Moving,
        }
    }

    /// Refuses whoever acts for a company that is not served.
    pub fn must_be_open(self) -> Result<(), Problem> {
        match self {
            Self::Open => Ok(()),
            Self::Suspended => Err(ProblemCode::CompanySuspended.into()),
            Self::Moving => Err(Problem::new(ProblemCode::CompanyMoving).retry_after(MOVED_AFTER)),
        }
    }
}

/// Whether a company is served. One that does not exist is nobody's to refuse here.
pub async fn standing(conn: &mut Connection, company: CompanyId) -> Result<Standing, sqlx::Error> {
    queries::find_standing(conn, company).await
}

/// Whether the company is suspended, be it for a move.
pub(super) async fn is_suspended(conn: &mut Connection, company: CompanyId) -> Result<bool, sqlx::Error> {
    Ok(standing(conn, company).await? != Standing::Open)
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
