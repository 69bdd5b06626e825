//! Second tries: an attempt whose connection was refused, or whose name was not resolved, is tried once more before it counts.
//!
//! A deployment or a restart at the endpoint takes seconds, and the schedule waits minutes. Waiting holds a permit of the instance, so
//! few may wait at a time, and no company may hold more of these places than are free: whoever has many dead endpoints leaves room for
//! the others. Without a place the attempt just counts.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::kernel::ids::CompanyId;
use crate::kernel::tally::{Counted, Tally};

/// The wait before a second try.
pub const WAIT: Duration = Duration::from_secs(2);
/// The number of attempts of one instance that wait at a time.
const PLACES: usize = 32;

/// The attempts that wait for their second try. Clones share them.
#[derive(Clone, Debug)]
pub struct SecondTries {
    places: Arc<Semaphore>,
    by_company: Tally<CompanyId>,
}

/// One attempt that waits.
#[derive(Debug)]
pub struct Place {
    _counted: Counted<CompanyId>,
    _place: OwnedSemaphorePermit,
}

impl SecondTries {
    pub fn new() -> Self {
        Self { places: Arc::new(Semaphore::new(PLACES)), by_company: Tally::default() }
    }

    /// A place to wait, if there is one for this company.
    pub fn place(&self, company: CompanyId) -> Option<Place> {
        let counted = self.by_company.take(company, self.places.available_permits(), PLACES)?;
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        Some(Place { _counted: counted, _place: place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_company_with_many_dead_endpoints_leaves_places_to_others() {
        let tries = SecondTries::new();
        let places_of = |company| std::iter::from_fn(|| tries.place(Uuid::from_u128(company).into())).collect::<Vec<_>>();
        let held = [places_of(1), places_of(2), places_of(3)];
        assert_eq!(held.each_ref().map(Vec::len), [16, 8, 4]);
        drop(held);
        assert_eq!(places_of(4).len(), 16);
    }
}
