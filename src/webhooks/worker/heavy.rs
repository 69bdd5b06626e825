//! The heavy tracks: who has much to do is served beside the others and not in front of them.
//!
//! A company has much to do while fan-out has not finished its events, and while it has more than a few deliveries in flight. Each track
//! fans out the unfinished companies in turns, a slice each, and has a recorder of its own.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::kernel::ids::CompanyId;
use crate::webhooks::engine::fan_out::{COMPANIES_PER_BATCH, Whose};
use crate::webhooks::tracks::{HEAVY_TRACKS, Track};
use crate::webhooks::worker::fan_out::FanOut;
use crate::webhooks::worker::rounds::Rounds;

/// A company with more deliveries in flight in this instance has much to do.
const FEW_FLIGHTS: usize = 16;

/// The companies of this instance with more events to fan out, by the track that does it.
#[derive(Debug, Default)]
pub struct Heavy([Unfinished; HEAVY_TRACKS]);

#[derive(Debug, Default)]
struct Unfinished {
    /// The first one is served next.
    companies: Mutex<VecDeque<CompanyId>>,
    taken_over: Notify,
}

impl Heavy {
    /// Leaves these companies to their tracks.
    pub fn take_over(&self, unfinished: Vec<CompanyId>) {
        for company in unfinished {
            let own = self.of(company);
            let mut companies = own.companies();
            if !companies.contains(&company) {
                companies.push_back(company);
            }
            own.taken_over.notify_one();
        }
    }

    /// All of them.
    pub fn companies(&self) -> Vec<CompanyId> {
        self.0.iter().flat_map(|own| own.companies().clone()).collect()
    }

    /// The track of a delivery of a company that has so many in flight.
    pub fn track_of(&self, company: CompanyId, in_flight: usize) -> Track {
        if in_flight > FEW_FLIGHTS || self.of(company).companies().contains(&company) { Track::heavy(company) } else { Track::Light }
    }

    fn of(&self, company: CompanyId) -> &Unfinished {
        match Track::heavy(company) {
            Track::Heavy(number) => &self.0[number],
            Track::Light | Track::Lanes => unreachable!("heavy tracks are heavy"),
        }
    }
}

impl Unfinished {
    /// The companies that are served next.
    fn next(&self) -> Vec<CompanyId> {
        self.companies().iter().take(COMPANIES_PER_BATCH).copied().collect()
    }

    /// Notes that `served` were served; those that are still `unfinished` are the last in the line now.
    fn served(&self, served: &[CompanyId], unfinished: &[CompanyId]) {
        let mut companies = self.companies();
        companies.retain(|company| !served.contains(company));
        companies.extend(unfinished);
    }

    fn companies(&self) -> MutexGuard<'_, VecDeque<CompanyId>> {
        self.companies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fans out the companies of one heavy track.
pub struct HeavyDispatcher {
    number: usize,
    heavy: Arc<Heavy>,
    fan_out: FanOut,
}

impl HeavyDispatcher {
    pub fn new(number: usize, heavy: Arc<Heavy>, fan_out: FanOut) -> Self {
        Self { number, heavy, fan_out }
    }

    fn own(&self) -> &Unfinished {
        &self.heavy.0[self.number]
    }
}

impl Rounds for HeavyDispatcher {
    async fn round(&mut self) -> Result<bool, sqlx::Error> {
        let companies = self.own().next();
        if companies.is_empty() {
            return Ok(false);
        }
        let fanned_out = self.fan_out.batch(Whose::These(&companies)).await?;
        self.own().served(&companies, &fanned_out.unfinished);
        if fanned_out.unfinished.len() < companies.len() {
            // What was published after the statement had begun, and while the dispatcher passed over the company, is for the dispatcher.
            self.fan_out.wake.published();
        }
        Ok(true)
    }

    fn next_round(&self) -> Instant {
        Instant::now() + self.fan_out.webhooks.settings.poll_interval
    }

    fn failed(&mut self) {}

    async fn woken(&mut self) {
        self.own().taken_over.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn company(number: u128) -> CompanyId {
        Uuid::from_u128(number * HEAVY_TRACKS as u128).into()
    }

    #[test]
    fn unfinished_companies_take_turns_until_they_are_finished() {
        let heavy = Heavy::default();
        let many: Vec<_> = (0..COMPANIES_PER_BATCH as u128 + 2).map(company).collect();
        heavy.take_over(many.clone());
        heavy.take_over(many[..1].to_vec());
        let served = heavy.0[0].next();
        assert_eq!((served.len(), served[0], heavy.companies().len()), (COMPANIES_PER_BATCH, many[0], many.len()));
        heavy.0[0].served(&served, &served[3..4]);
        assert_eq!(heavy.companies(), [many[COMPANIES_PER_BATCH], many[COMPANIES_PER_BATCH + 1], many[3]]);
    }

    #[test]
    fn a_company_has_much_to_do_while_it_is_unfinished_or_has_many_deliveries_in_flight() {
        let heavy = Heavy::default();
        let (busy, idle) = (company(1), company(2));
        heavy.take_over(vec![busy]);
        assert_eq!((heavy.track_of(busy, 1), heavy.track_of(idle, FEW_FLIGHTS)), (Track::Heavy(0), Track::Light));
        assert_eq!(heavy.track_of(idle, FEW_FLIGHTS + 1), Track::Heavy(0));
    }
}
