//! A limit of what each caller has under way at the same time, counted in memory by each instance.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::kernel::limit_key::LimitKey;
use crate::kernel::tally::{Counted, Tally};

/// A limit for each caller, identified by `K`, for the larger network of a client, and for all of them together. Only callers who have something
/// under way are remembered. Clones share the counters.
#[derive(Clone, Debug)]
pub struct ConcurrencyLimiter<K> {
    each: usize,
    of_each: Tally<K>,
    most: usize,
    all: Arc<Semaphore>,
}

/// Something that is under way, until this is dropped.
#[derive(Debug)]
pub struct Slot<K: LimitKey> {
    _own: Counted<K>,
    _place: OwnedSemaphorePermit,
}

/// Why nothing more may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The caller, or its larger network, has as much under way as one may have.
    Caller,
    /// All callers together have.
    Everybody,
}

impl<K: LimitKey> ConcurrencyLimiter<K> {
    /// Allows `each` for a caller, and `all` for all callers.
    pub fn new(each: usize, all: usize) -> Self {
        Self { each, of_each: Tally::default(), most: all, all: Arc::new(Semaphore::new(all)) }
    }

    /// Counts one more of `caller`, if the limits allow it.
    pub fn enter(&self, caller: K) -> Result<Slot<K>, Full> {
        let own = self.of_each.take(caller, self.each, self.most).ok_or(Full::Caller)?;
        let place = Arc::clone(&self.all).try_acquire_owned().map_err(|_| Full::Everybody)?;
        Ok(Slot { _own: own, _place: place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_so_much_under_way_and_all_have_so_much_together() {
        let limiter = ConcurrencyLimiter::new(2, 3);
        let (first, _second) = (limiter.enter("ada").unwrap(), limiter.enter("ada").unwrap());
        assert_eq!(limiter.enter("ada").unwrap_err(), Full::Caller);
        let _third = limiter.enter("bob").unwrap();
        assert_eq!(limiter.enter("eve").unwrap_err(), Full::Everybody);
        drop(first);
        drop(limiter.enter("eve").unwrap());
        assert_eq!(limiter.of_each.holders(), 2, "who has nothing under way is forgotten");
    }
}
