//! Whether a company is served: not while it is suspended, and not while it moves to another cell.

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
