//! Permits: what bounds the deliveries one instance has in flight, and keeps places for first attempts.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::webhooks::claim::Lane;

/// Deliveries in flight, by this instance: some of them may be repetitions, but never all. However many endpoints fail and are tried again,
/// there is a place for an event that has just happened.
#[derive(Debug)]
pub(super) struct Permits {
    all: Arc<Semaphore>,
    repetitions: Arc<Semaphore>,
}

/// One place in flight.
#[derive(Debug)]
pub(super) struct Permit {
    _place: OwnedSemaphorePermit,
    _repetition: Option<OwnedSemaphorePermit>,
}

/// Counts the deliveries that are in flight or have come back and are not being written down yet. Clones count together.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight(Arc<()>);

/// A delivery in flight, and the place it takes.
#[derive(Debug)]
pub(super) struct Flight {
    permit: Permit,
    _counted: Arc<()>,
}

impl InFlight {
    pub(super) fn begin(&self, permit: Permit) -> Flight {
        Flight { permit, _counted: Arc::clone(&self.0) }
    }

    /// The rounds and the recorder, who begin flights and end them, have a clone each.
    pub(super) fn count(&self) -> usize {
        Arc::strong_count(&self.0).saturating_sub(2)
    }
}

impl Flight {
    /// It is about to be written down, and then its place is free.
    pub(super) fn land(self) -> Permit {
        self.permit
    }
}

impl Permits {
    pub(super) fn new(all: usize) -> Self {
        let repetitions = (all - all / 4).min(all.saturating_sub(1)).max(1);
        Self { all: Arc::new(Semaphore::new(all)), repetitions: Arc::new(Semaphore::new(repetitions)) }
    }

    /// As many permits as there are for `lane`, `most` at most.
    pub(super) fn take(&self, lane: Lane, most: usize) -> Vec<Permit> {
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
