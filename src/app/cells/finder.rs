//! Which cell knows what a request brings along.
//!
//! A stranger can make up what no cell knows, and each cell would look it up. So this is counted for the networks of the client before any cell is
//! asked, as one cell counts unknown keys. A request whose cell is remembered does not count.

use futures::StreamExt;
use futures::future::join_all;
use futures::stream::FuturesUnordered;
use ipnet::IpNet;
use quick_cache::sync::Cache;

use crate::app::cells::Cells;
use crate::app::cells::evidence::Evidence;
use crate::kernel::client_address::ClientAddress;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::{ConcurrencyLimiter, FailureLimiter, Slot};

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
    unknown: FailureLimiter<IpNet>,
}

impl Finder {
    pub(super) fn new(cells: Cells) -> Self {
        let (asking, unknown) =
            (ConcurrencyLimiter::new(ASKED_BY_ONE, ASKED_BY_ALL), cells.first().state.companies.unknown_to_all_cells.clone());
        Self { cells, remembered: Cache::new(MOST_REMEMBERED), asking, unknown }
    }

    /// The cell that knows this; if none does, one that cannot tell.
    ///
    /// # Errors
    /// Too many questions are under way, or the client has asked too often about what no cell knows.
    pub(super) async fn find(&self, evidence: &Evidence, client: ClientAddress) -> Result<Option<usize>, Problem> {
        if let Some(at) = self.remembered.get(evidence) {
            if !matches!(evidence.is_known(&self.cells[at].state).await, Ok(false)) {
                return Ok(Some(at));
            }
            // Not asked again without being counted.
            self.remembered.remove(evidence);
        }
        // Boxed, because a request whose cell is remembered would carry the large future in vain.
        let limited = self.unknown.look_up(client.network(), evidence, Box::pin(self.search(evidence, client))).await;
        let (found, _) = limited.map_err(|status| status.problem())?;
        found
    }

    async fn search(&self, evidence: &Evidence, client: ClientAddress) -> Result<Option<usize>, Problem> {
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
    /// As of [`Self::find`].
    pub(super) async fn find_all(&self, evidence: &Evidence, client: ClientAddress) -> Result<Vec<usize>, Problem> {
        let limited = self.unknown.look_up(client.network(), evidence, Box::pin(self.search_all(evidence, client))).await;
        let (found, _) = limited.map_err(|status| status.problem())?;
        Ok(found?.unwrap_or_default())
    }

    async fn search_all(&self, evidence: &Evidence, client: ClientAddress) -> Result<Option<Vec<usize>>, Problem> {
        let _place = self.place(client)?;
        for _ in 0..TIMES_ASKED {
            let asked = join_all(self.ask_each(evidence)).await;
            let that = |wanted: fn(&Result<bool, Problem>) -> bool| asked.iter().filter(move |(_, known)| wanted(known)).map(|(at, _)| *at);
            let by: Vec<_> = that(|known| matches!(known, Ok(true))).collect();
            let by = if by.is_empty() { that(Result::is_err).take(1).collect() } else { by };
            if !by.is_empty() {
                return Ok(Some(by));
            }
        }
        Ok(None)
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
