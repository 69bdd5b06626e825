//! Permits: limit the deliveries that one instance has in flight, reserve capacity for first attempts, and share the capacity
//! out ([`shares`]).

mod shares;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::kernel::ids::CompanyId;
use crate::webhooks::delivery_state::Lane;

pub use crate::webhooks::permits::shares::{AtOnce, Shares};

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
    /// Begins the flight of the delivery that holds `permit`.
    pub fn begin(&self, permit: Permit) -> Flight {
        Flight { permit, _counted: Arc::clone(&self.0) }
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

    /// The permit for a delivery of `company`, which has been claimed: it counts from now on, before its attempt begins.
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

#[cfg(test)]
mod tests {
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
}
