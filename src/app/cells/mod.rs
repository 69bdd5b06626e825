//! Cells: the databases that companies live in, when one is not enough.
//!
//! A cell is one database with companies of its own, and the state of every module on it. A process has one of everything else, and serves any
//! number of cells. No statement concerns two of them.
//!
//! There is no directory that says which company is where, and would have to be kept right and be there always. What a request brings along says it:
//! a key, a link, an address ([`evidence`]). All cells are asked at once whether they know it, in memory or by an index, and the one that did is
//! asked alone from then on ([`finder`]). So a cell that is away is missed by its own companies only. The routes of all cells are behind one
//! router ([`front`]). A company can be moved from one to another ([`moving`]).

mod evidence;
mod finder;
mod front;
mod moving;

use std::ops::Deref;
use std::sync::Arc;

use axum::Router;

use crate::app::{AppState, single_router};
use crate::config::Config;
use crate::kernel::database::CellName;

pub use moving::{Move, Moved, Side, Stuck, Undone};

/// A cell that this process serves.
#[derive(Clone)]
pub struct Cell {
    /// What it is called.
    pub name: CellName,
    /// The state of every module on its database.
    pub state: AppState,
}

/// The cells that a process serves, at least one. Clones share them.
#[derive(Clone)]
pub struct Cells(Arc<[Cell]>);

impl Cells {
    /// # Panics
    /// If there are none.
    #[must_use]
    pub fn new(cells: Vec<Cell>) -> Self {
        assert!(!cells.is_empty(), "a process serves a cell");
        Self(cells.into())
    }

    /// The one that answers what concerns no company.
    #[must_use]
    pub fn first(&self) -> &Cell {
        &self.0[0]
    }

    /// Whether the names of cells mean something.
    #[must_use]
    pub fn are_several(&self) -> bool {
        self.0.len() > 1
    }

    /// The routes of all of them.
    pub(super) fn router(&self, config: &Config) -> Router {
        match self.are_several() {
            true => front::router(self, config),
            false => single_router(self.first().state.clone(), config),
        }
    }
}

impl Deref for Cells {
    type Target = [Cell];

    fn deref(&self) -> &[Cell] {
        &self.0
    }
}

impl From<AppState> for Cells {
    fn from(state: AppState) -> Self {
        Self::new(vec![Cell { name: CellName::main(), state }])
    }
}
