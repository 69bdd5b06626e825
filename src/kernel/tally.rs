//! Counts what many hold of something limited, so that nobody holds too much of it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many each holder holds. Who holds nothing takes no memory. Clones share the counts.
#[derive(Debug)]
pub struct Tally<K>(Arc<Mutex<HashMap<K, usize>>>);

/// One that is held, counted until it is dropped.
#[derive(Debug)]
pub struct Counted<K: Clone + Eq + Hash> {
    tally: Tally<K>,
    holder: K,
}

impl<K: Clone + Eq + Hash> Tally<K> {
    /// Counts one more for `holder`, unless it holds `limit` already.
    ///
    /// With the number of free places as the limit, one holder gets at most half of all places, two get a third each, and so on: there
    /// is always room for another one. Network switches share their buffers in this way.
    pub fn take(&self, holder: K, limit: usize) -> Option<Counted<K>> {
        let mut held = self.held();
        if held.get(&holder).copied().unwrap_or_default() >= limit {
            return None;
        }
        *held.entry(holder.clone()).or_default() += 1;
        Some(Counted { tally: self.clone(), holder })
    }

    /// The number of those who hold something.
    #[cfg(test)]
    pub fn holders(&self) -> usize {
        self.held().len()
    }

    fn held(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> Default for Tally<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K> Clone for Tally<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Clone + Eq + Hash> Drop for Counted<K> {
    fn drop(&mut self) {
        let mut held = self.tally.held();
        if let Some(count) = held.get_mut(&self.holder) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_holder_has_a_limit_and_who_holds_nothing_is_forgotten() {
        let tally = Tally::default();
        let held: Vec<_> = (0..4).filter_map(|_| tally.take("a", 3)).collect();
        assert_eq!(held.len(), 3);
        assert!(tally.take("b", 3).is_some() && tally.take("a", 3).is_none());
        drop(held);
        assert!(tally.take("a", 3).is_some());
        assert!(tally.held().is_empty());
    }
}
