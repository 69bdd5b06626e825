//! Permits: limit the deliveries that one instance has in flight, and reserve capacity for first attempts.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::webhooks::delivery_state::Lane;

/// The permits of this instance. Retries and replays can hold some of them, but never all: however many endpoints fail, there is a
/// permit for a new event.
#[derive(Debug)]
pub struct Permits {
    all: Arc<Semaphore>,
    repetitions: Arc<Semaphore>,
}

/// A permit for one delivery in flight.
#[derive(Debug)]
pub struct Permit {
    _place: OwnedSemaphorePermit,
    _repetition: Option<OwnedSemaphorePermit>,
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

impl Permit {
    /// The permit for a first attempt to the same endpoint.
    pub fn for_first_attempt(self) -> Self {
        Self { _repetition: None, ..self }
    }
}

impl Permits {
    pub fn new(all: usize) -> Self {
        let repetitions = (all - all / 4).min(all.saturating_sub(1)).max(1);
        Self { all: Arc::new(Semaphore::new(all)), repetitions: Arc::new(Semaphore::new(repetitions)) }
    }

    /// Takes as many permits as are available for `lane`, at most `most`.
    pub fn take(&self, lane: Lane, most: usize) -> Vec<Permit> {
        let take = || {
            let place = Arc::clone(&self.all).try_acquire_owned().ok()?;
            let repetition = match lane {
                Lane::Fresh => None,
                Lane::Again | Lane::Replay => Some(Arc::clone(&self.repetitions).try_acquire_owned().ok()?),
            };
            Some(Permit { _place: place, _repetition: repetition })
        };
        std::iter::from_fn(take).take(most).collect()
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
