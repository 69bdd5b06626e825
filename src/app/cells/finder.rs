//! Which cell knows what a request brings along.

use futures::StreamExt;
use futures::future::join_all;
use futures::stream::FuturesUnordered;
use ipnet::IpNet;
use quick_cache::sync::Cache;

use crate::app::cells::Cells;
use crate::app::cells::evidence::Evidence;
use crate::kernel::client_address::ClientAddress;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::{ConcurrencyLimiter, Slot};

/// How many keys and ids the cell is remembered of.
const MOST_REMEMBERED: usize = 50_000;
/// How many questions to all cells are under way at a time, for one client network and in all. Strangers can ask too, and a cell that hangs must
/// not use up the connections of the others.
const ASKED_BY_ONE: usize = 8;
const ASKED_BY_ALL: usize = 64;
/// How often the cells are asked what none of them knows. A company that moves is in its new cell before it is gone from its old one, so whoever has asked
/// the first too early and the second too late finds it the second time.
const TIMES_ASKED: usize = 2;

pub(super) struct Finder {
    cells: Cells,
    /// Which cell knew what. Only a guess of whom to ask first.
    remembered: Cache<Evidence, usize>,
    asking: ConcurrencyLimiter<IpNet>,
}

impl Finder {
    pub(super) fn new(cells: Cells) -> Self {
        Self { cells, remembered: Cache::new(MOST_REMEMBERED), asking: ConcurrencyLimiter::new(ASKED_BY_ONE, ASKED_BY_ALL) }
    }

    /// The cell that knows this; if none does, one that cannot tell.
    ///
    /// # Errors
    /// Too many questions are under way.
    pub(super) async fn find(&self, evidence: &Evidence, client: ClientAddress) -> Result<Option<usize>, Problem> {
        if let Some(at) = self.remembered.get(evidence)
            && !matches!(evidence.is_known(&self.cells[at].state).await, Ok(false))
        {
            return Ok(Some(at));
        }
        let _place = self.place(client)?;
        for _ in 0..TIMES_ASKED {
            let mut asked: FuturesUnordered<_> = self.ask_each(evidence).collect();
            let mut away = None;
            while let Some((at, known)) = asked.next().await {
                match known {
                    // The others need not be waited for: one of them may hang.
                    Ok(true) => {
                        self.remembered.insert(evidence.clone(), at);
                        return Ok(Some(at));
                    }
                    Ok(false) => {}
                    Err(_) => away = away.or(Some(at)),
                }
            }
            if away.is_some() {
                return Ok(away);
            }
        }
        Ok(None)
    }

    /// Every cell that knows this; if none does, one that cannot tell.
    ///
    /// # Errors
    /// Too many questions are under way.
    pub(super) async fn find_all(&self, evidence: &Evidence, client: ClientAddress) -> Result<Vec<usize>, Problem> {
        let _place = self.place(client)?;
        for _ in 0..TIMES_ASKED {
            let asked = join_all(self.ask_each(evidence)).await;
            let that = |wanted: fn(&Result<bool, Problem>) -> bool| asked.iter().filter(move |(_, known)| wanted(known)).map(|(at, _)| *at);
            let by: Vec<_> = that(|known| matches!(known, Ok(true))).collect();
            let by = if by.is_empty() { that(Result::is_err).take(1).collect() } else { by };
            if !by.is_empty() {
                return Ok(by);
            }
        }
        Ok(Vec::new())
    }

    fn place(&self, client: ClientAddress) -> Result<Slot<IpNet>, Problem> {
        self.asking.enter(client.network()).map_err(|_| ProblemCode::Overloaded.into())
    }

    /// Asks each cell, to the end: no connection is given up in the middle of a statement because another cell was faster.
    fn ask_each(&self, evidence: &Evidence) -> impl Iterator<Item = impl Future<Output = (usize, Result<bool, Problem>)>> {
        self.cells.iter().enumerate().map(move |(at, cell)| {
            let (evidence, state) = (evidence.clone(), cell.state.clone());
            let asking = cell.state.lifecycle.finish(async move { evidence.is_known(&state).await });
            async move { (at, asking.await) }
        })
    }
}
