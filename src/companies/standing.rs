//! Whether a company is served: not while it is suspended, and not while it moves to another cell. And how far it is on its way.

use std::fmt;

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
    /// This cell does not have it: it was deleted, or another cell has it.
    Gone,
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
            Self::Moving | Self::Gone => Err(Problem::new(ProblemCode::CompanyMoving).retry_after(MOVED_AFTER)),
        }
    }
}

/// How far a move is, as one of the two cells knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Stage {
    /// Its deliveries are held.
    Preparing,
    /// Its requests have to wait.
    Leaving,
    /// It was deleted here, but for its log.
    Left,
    /// It is here, and not yet for sure.
    Arriving,
    /// It is here for sure, and its log is on its way.
    Arrived,
}

/// A move under way.
#[derive(Clone, Debug)]
pub struct Step {
    /// The other cell.
    pub cell: String,
    /// How far it is.
    pub stage: Stage,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match self.stage {
            Stage::Preparing => "preparing",
            Stage::Leaving => "leaving",
            Stage::Left => "left",
            Stage::Arriving => "arriving",
            Stage::Arrived => "arrived",
        };
        write!(f, "{stage} {}", self.cell)
    }
}
