//! A limit of what each caller has under way at the same time, counted in memory by each instance.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A limit for each caller, identified by `K`, and for all of them together. Only callers who have something under way are remembered.
/// Clones share the counters.
#[derive(Debug)]
pub struct ConcurrencyLimiter<K: Hash + Eq>(Arc<Limits<K>>);

#[derive(Debug)]
struct Limits<K> {
    each: usize,
    all: usize,
    under_way: Mutex<UnderWay<K>>,
}

#[derive(Debug)]
struct UnderWay<K> {
    of_each: HashMap<K, usize>,
    of_all: usize,
}

/// Something that is under way, until this is dropped.
#[derive(Debug)]
pub struct Slot<K: Hash + Eq> {
    limits: Arc<Limits<K>>,
    caller: K,
}

/// Why nothing more may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The caller has as much under way as one may have.
    Caller,
    /// All callers together have.
    Everybody,
}

impl<K: Hash + Eq> Clone for ConcurrencyLimiter<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Hash + Eq + Copy> ConcurrencyLimiter<K> {
    /// Allows `each` for a caller, and `all` for all callers.
    pub fn new(each: usize, all: usize) -> Self {
        Self(Arc::new(Limits { each, all, under_way: Mutex::new(UnderWay { of_each: HashMap::new(), of_all: 0 }) }))
    }

    /// Counts one more of `caller`, if the limits allow it.
    pub fn enter(&self, caller: K) -> Result<Slot<K>, Full> {
        let mut under_way = self.0.lock();
        let own = under_way.of_each.get(&caller).copied().unwrap_or(0);
        match () {
            () if own >= self.0.each => Err(Full::Caller),
            () if under_way.of_all >= self.0.all => Err(Full::Everybody),
            () => {
                under_way.of_each.insert(caller, own + 1);
                under_way.of_all += 1;
                Ok(Slot { limits: Arc::clone(&self.0), caller })
            }
        }
    }
}

impl<K> Limits<K> {
    fn lock(&self) -> MutexGuard<'_, UnderWay<K>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Hash + Eq> Drop for Slot<K> {
    fn drop(&mut self) {
        let mut under_way = self.limits.lock();
        under_way.of_all -= 1;
        if let Some(own) = under_way.of_each.get_mut(&self.caller) {
            *own -= 1;
            if *own == 0 {
                under_way.of_each.remove(&self.caller);
            }
        }
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
        assert_eq!(limiter.0.lock().of_each.len(), 2, "who has nothing under way is forgotten");
    }
}
