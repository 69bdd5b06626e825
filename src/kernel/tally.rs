//! Counts what many hold of something limited, so that nobody holds too much of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::kernel::limit_key::{LimitKey, places_of_larger};

/// How many each holder holds. Who holds nothing takes no memory. Clones share the counts.
#[derive(Debug)]
pub struct Tally<K>(Arc<Mutex<HashMap<K, usize>>>);

/// One that is held, counted until it is dropped.
#[derive(Debug)]
pub struct Counted<K: LimitKey> {
    tally: Tally<K>,
    holder: K,
}

impl<K: LimitKey> Tally<K> {
    /// Counts one more for `holder`, unless it holds `limit` already, of the `all` that there are. The larger network of a client holds what its
    /// networks hold ([`places_of_larger`]).
    ///
    /// With the number of free places as the limit, one holder gets at most half of all places, two get a third each, and so on: there
    /// is always room for another one. Network switches share their buffers in this way.
    pub fn take(&self, holder: K, limit: usize, all: usize) -> Option<Counted<K>> {
        let (larger, mut held) = (holder.larger(), self.held());
        let has = |holder: &K| held.get(holder).copied().unwrap_or_default();
        if has(&holder) >= limit || larger.as_ref().is_some_and(|larger| has(larger) >= places_of_larger(limit, all)) {
            return None;
        }
        for counted in [Some(holder.clone()), larger].into_iter().flatten() {
            *held.entry(counted).or_default() += 1;
        }
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

impl<K: LimitKey> Drop for Counted<K> {
    fn drop(&mut self) {
        let (larger, mut held) = (self.holder.larger(), self.tally.held());
        for counted in [Some(&self.holder), larger.as_ref()].into_iter().flatten() {
            if let Some(count) = held.get_mut(counted) {
                *count -= 1;
                if *count == 0 {
                    held.remove(counted);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ipnet::IpNet;

    use super::*;

    #[test]
    fn each_holder_has_a_limit_and_who_holds_nothing_is_forgotten() {
        let tally = Tally::default();
        let held: Vec<_> = (0..4).filter_map(|_| tally.take("a", 3, 9)).collect();
        assert_eq!(held.len(), 3);
        assert!(tally.take("b", 3, 9).is_some() && tally.take("a", 3, 9).is_none());
        drop(held);
        assert!(tally.take("a", 3, 9).is_some());
        assert!(tally.held().is_empty());
    }

    #[test]
    fn the_networks_of_a_48_hold_half_of_all_together() {
        let tally = Tally::default();
        let network = |number: u16| format!("2001:db8:1:{number:x}::/64").parse::<IpNet>().unwrap();
        let other: IpNet = "2001:db8:2::/64".parse().unwrap();
        let held: Vec<_> = (0..100).filter_map(|number| tally.take(network(number), 3, 40)).collect();
        assert_eq!(held.len(), 20);
        assert!(tally.take(other, 3, 40).is_some());
        drop(held);
        assert!(tally.held().is_empty());
    }
}
