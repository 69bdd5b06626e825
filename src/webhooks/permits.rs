//! Permits: limit the deliveries that one instance has in flight, reserve capacity for first attempts, and share the capacity out.
//!
//! The shares follow from what is free, as switches share buffers among their ports: an endpoint may have a quarter of the free permits in
//! flight, and a company four times the free permits. One that is alone gets most of the capacity, and the more there are that
//! want much, the less each of them gets; but a part of the capacity always stays free for those that want little. Neither is held to less
//! than [`FEW`] deliveries.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use crate::kernel::ids::CompanyId;
use crate::webhooks::delivery_state::Lane;

/// The deliveries in flight that an endpoint and a company may have however few permits are free.
const FEW: usize = 4;
/// How many times the free permits a company may have in flight.
const OF_COMPANY: usize = 4;
/// The part of the free permits that an endpoint may have in flight.
const OF_ENDPOINT: usize = 4;

/// The permits of this instance. Retries and replays can hold some of them, but never all: however many endpoints fail, there is a
/// permit for a new event.
#[derive(Debug)]
pub struct Permits {
    count: usize,
    all: Arc<Semaphore>,
    repetitions: Arc<Semaphore>,
    held: Arc<Mutex<Held>>,
}

/// The permits that deliveries in flight hold.
#[derive(Debug, Default)]
struct Held {
    all: usize,
    /// Companies without any are left out.
    by_company: HashMap<CompanyId, usize>,
}

/// Permits that are taken together, and released together but for those that are used.
#[derive(Debug)]
pub struct Taken {
    places: OwnedSemaphorePermit,
    repetitions: Option<OwnedSemaphorePermit>,
    held: Arc<Mutex<Held>>,
}

/// A permit for one delivery in flight.
#[derive(Debug)]
pub struct Permit {
    _place: OwnedSemaphorePermit,
    repetition: Option<OwnedSemaphorePermit>,
    held: Arc<Mutex<Held>>,
    /// The company of the delivery that holds it.
    holder: Option<CompanyId>,
}

/// What a statement that takes deliveries into flight may take.
#[derive(Debug)]
pub struct Shares {
    /// The permits that are free.
    pub free: usize,
    /// Maximum number of deliveries in flight to one endpoint.
    pub endpoint: i32,
    /// Whether this is less than an endpoint may have when enough permits are free.
    pub scarce: bool,
    /// Maximum number of deliveries to take for a company that has none in flight,
    pub company: i32,
    /// and for each of those that have some.
    pub holders: Vec<Uuid>,
    pub rooms: Vec<i32>,
}

impl Shares {
    /// No other limit than that of the settings: `endpoint` deliveries in flight to one endpoint.
    pub fn unlimited(endpoint: i32) -> Self {
        Self { free: usize::MAX, endpoint, scarce: false, company: i32::MAX, holders: Vec::new(), rooms: Vec::new() }
    }
}

/// Counts the deliveries that are in flight, or have ended and are not in the batch that is being recorded. Clones share the count.
#[derive(Clone, Debug, Default)]
pub struct InFlight(Arc<()>);

/// A delivery in flight, with its permit.
#[derive(Debug)]
pub struct Flight {
    permit: Permit,
    _counted: Arc<()>,
}

impl InFlight {
    /// Begins the flight of a delivery of `company`.
    pub fn begin(&self, permit: Permit, company: CompanyId) -> Flight {
        Flight { permit: permit.held_by(company), _counted: Arc::clone(&self.0) }
    }

    /// The launcher and the recorder hold one clone each; all other clones belong to flights.
    pub fn count(&self) -> usize {
        Arc::strong_count(&self.0).saturating_sub(2)
    }
}

impl Flight {
    /// Ends the flight before its result is recorded; the permit is released when the returned value is dropped.
    pub fn into_permit(self) -> Permit {
        self.permit
    }
}

impl Iterator for Taken {
    type Item = Permit;

    fn next(&mut self) -> Option<Permit> {
        let place = self.places.split(1)?;
        let repetition = self.repetitions.as_mut().map(|repetitions| repetitions.split(1).expect("there are as many as places"));
        Some(Permit { _place: place, repetition, held: Arc::clone(&self.held), holder: None })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.places.num_permits(), Some(self.places.num_permits()))
    }
}

impl ExactSizeIterator for Taken {}

impl Permit {
    /// The permit for a first attempt to the same endpoint.
    pub fn for_first_attempt(mut self) -> Self {
        self.repetition = None;
        self
    }

    /// The permit for a delivery of `company`.
    pub fn held_by(mut self, company: CompanyId) -> Self {
        self.pass_to(Some(company));
        self
    }

    fn pass_to(&mut self, holder: Option<CompanyId>) {
        let mut held = lock(&self.held);
        if let Some(before) = self.holder
            && let Some(count) = held.by_company.get_mut(&before)
        {
            *count -= 1;
            if *count == 0 {
                held.by_company.remove(&before);
            }
            held.all -= 1;
        }
        if let Some(company) = holder {
            *held.by_company.entry(company).or_default() += 1;
            held.all += 1;
        }
        self.holder = holder;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.pass_to(None);
    }
}

fn lock(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Permits {
    pub fn new(all: usize) -> Self {
        let repetitions = (all - all / 4).min(all.saturating_sub(1)).max(1);
        Self { count: all, all: Arc::new(Semaphore::new(all)), repetitions: Arc::new(Semaphore::new(repetitions)), held: Arc::default() }
    }

    /// Takes as many permits as are available for `lane`, at most `most`.
    pub fn take(&self, lane: Lane, most: usize) -> Taken {
        let mut places = acquire_up_to(&self.all, most);
        let repetitions = match lane {
            Lane::Fresh => None,
            Lane::Again | Lane::Replay => {
                let repetitions = acquire_up_to(&self.repetitions, places.num_permits());
                drop(places.split(places.num_permits() - repetitions.num_permits()));
                Some(repetitions)
            }
        };
        Taken { places, repetitions, held: Arc::clone(&self.held) }
    }

    /// Takes permits for a statement that may find something for them: at most half of those that are free, because others look for
    /// something at the same time.
    pub fn take_some(&self, lane: Lane, most: usize) -> Taken {
        self.take(lane, most.min(self.all.available_permits().div_ceil(2)))
    }

    /// Takes permits for first attempts that are not begun at once: at most as many as leave half of all free.
    pub fn take_ahead(&self, most: usize) -> Taken {
        self.take(Lane::Fresh, most.min(self.all.available_permits().saturating_sub(self.count.div_ceil(2))))
    }

    /// The deliveries of a company that are in flight.
    pub fn in_flight(&self, company: CompanyId) -> usize {
        lock(&self.held).by_company.get(&company).copied().unwrap_or_default()
    }

    /// The permits that no delivery holds. Those of a statement that looks for deliveries are free until it has found some: shares that shrink
    /// whenever somebody looks would be too small for what is in flight already.
    pub fn free(&self) -> usize {
        self.count - lock(&self.held).all
    }

    /// What may be taken now, before any permits are: at most `most` deliveries in flight to one endpoint.
    pub fn shares(&self, most: i32) -> Shares {
        let free = self.free();
        let endpoint = as_sql(FEW.max(free / OF_ENDPOINT)).min(most);
        let (holders, rooms) =
            lock(&self.held).by_company.iter().map(|(company, flying)| (company.uuid(), as_sql(room_of_company(*flying, free)))).unzip();
        Shares { free, endpoint, scarce: endpoint < most, company: as_sql(room_of_company(0, free)), holders, rooms }
    }

    /// How many more deliveries these companies may take, all together.
    pub fn rooms(&self, companies: &[CompanyId]) -> usize {
        let free = self.free();
        companies.iter().map(|company| room_of_company(self.in_flight(*company), free)).sum()
    }

    /// Whether the company may go on with as many deliveries as it has in flight.
    pub fn may_keep(&self, company: CompanyId) -> bool {
        self.in_flight(company) <= FEW.max(OF_COMPANY * self.free())
    }
}

/// How many more deliveries a company may take that has `flying`: as many as leave it at most four times what is free then.
fn room_of_company(flying: usize, free: usize) -> usize {
    let few = FEW.saturating_sub(flying);
    few.max((OF_COMPANY * free).saturating_sub(flying) / (OF_COMPANY + 1))
}

/// As many permits as are available, at most `most`.
fn acquire_up_to(semaphore: &Arc<Semaphore>, most: usize) -> OwnedSemaphorePermit {
    loop {
        let count = u32::try_from(most.min(semaphore.available_permits())).unwrap_or(u32::MAX);
        // Another may have taken some of them meanwhile.
        if let Ok(permits) = Arc::clone(semaphore).try_acquire_many_owned(count) {
            return permits;
        }
    }
}

fn as_sql(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[test]
    fn repetitions_leave_places_for_first_attempts() {
        for (all, repetitions) in [(200, 150), (4, 3), (3, 2), (2, 1)] {
            let permits = Permits::new(all);
            let again = permits.take(Lane::Again, usize::MAX);
            assert_eq!(again.len(), repetitions, "of {all}");
            assert_eq!(permits.take(Lane::Replay, usize::MAX).len(), 0);
            assert_eq!(permits.take(Lane::Fresh, usize::MAX).len(), all - repetitions);
            drop(again);
            assert_eq!(permits.take(Lane::Fresh, usize::MAX).len(), all);
            assert_eq!(permits.take(Lane::Fresh, 1).len(), 1);
        }
    }

    #[test]
    fn however_much_companies_want_there_is_room_for_another() {
        let companies = [(); 3].map(|()| CompanyId::new(DateTime::UNIX_EPOCH));
        let (permits, in_flight, mut flights) = (Permits::new(500), InFlight::default(), Vec::new());
        let mut take_all_of = |company: CompanyId| loop {
            let shares = permits.shares(50);
            let place = shares.holders.iter().position(|holder| *holder == company.uuid());
            let room = place.map_or(shares.company, |place| shares.rooms[place]);
            if room == 0 {
                return (permits.all.available_permits(), shares.endpoint);
            }
            let taken = permits.take(Lane::Fresh, usize::try_from(room).unwrap());
            flights.extend(taken.map(|permit| in_flight.begin(permit, company)));
        };
        assert_eq!(take_all_of(companies[0]), (100, 25), "400 of 500: four times what is free");
        assert_eq!(take_all_of(companies[1]), (20, 5));
        assert_eq!(take_all_of(companies[2]), (4, 4));
        let of_first = 400;
        assert!(!permits.may_keep(companies[0]), "its ended deliveries are not followed by others until the second one has its share");
        drop(flights.drain(..of_first));
        assert_eq!(lock(&permits.held).by_company.len(), 2);
        assert!(permits.may_keep(companies[0]) && permits.may_keep(companies[1]));
    }

    #[test]
    fn a_few_deliveries_are_never_held_back() {
        let permits = Permits::new(4);
        let shares = permits.shares(50);
        assert_eq!((shares.endpoint, shares.company), (4, 4));
        assert_eq!((permits.shares(2).endpoint, permits.shares(2).scarce), (2, false));
    }

    #[test]
    fn companies_together_may_take_what_each_of_them_may() {
        let companies = [(); 2].map(|()| CompanyId::new(DateTime::UNIX_EPOCH));
        let (permits, in_flight) = (Permits::new(10), InFlight::default());
        assert_eq!(permits.rooms(&companies), 16, "eight each, of ten that are free");
        let _flights: Vec<_> = permits.take(Lane::Fresh, 8).map(|permit| in_flight.begin(permit, companies[0])).collect();
        assert_eq!(permits.rooms(&companies[..1]), 0);
        assert_eq!(permits.rooms(&companies), FEW);
    }
}
