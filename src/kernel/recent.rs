//! A cache of rows with a TTL of one second, so that repeated lookups of the same row do not reach Postgres.
//!
//! A change made by this instance evicts the row immediately, so a revocation made here applies to the very next request. A change
//! made by another instance applies within [`FRESH_FOR`].
//!
//! A row that was read before a change must not be cached after it. A caller therefore takes the [`Epoch`] before it reads, every
//! change starts a new epoch, and only rows read in the current epoch are cached.

use std::hash::Hash;
use std::sync::{Arc, PoisonError, RwLock};

use chrono::{DateTime, TimeDelta, Utc};
use quick_cache::sync::Cache;

/// The TTL of a cached row.
pub const FRESH_FOR: TimeDelta = TimeDelta::seconds(1);

/// A cache of rows. Clones share it.
#[derive(Debug)]
pub struct Recent<K, V>(Arc<Rows<K, V>>);

impl<K, V> Clone for Recent<K, V> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

#[derive(Debug)]
struct Rows<K, V> {
    epoch: RwLock<Epoch>,
    rows: Cache<K, (DateTime<Utc>, Arc<V>)>,
}

/// A counter of the changes made by this instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch(u64);

impl<K: Eq + Hash, V> Recent<K, V> {
    /// A cache of at most `rows` rows.
    pub fn new(rows: usize) -> Self {
        Self(Arc::new(Rows { epoch: RwLock::new(Epoch(0)), rows: Cache::new(rows) }))
    }

    /// The current epoch. Must be taken before reading a row that will be cached.
    pub fn epoch(&self) -> Epoch {
        *self.0.epoch.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cached row, unless it has expired. A row dated in the future, after the clock was set back, counts as expired.
    pub fn get(&self, key: &K, now: DateTime<Utc>) -> Option<Arc<V>> {
        self.0.rows.get(key).filter(|(since, _)| *since <= now && now - *since < FRESH_FOR).map(|(_, row)| row)
    }

    /// Caches a row that was read in `epoch`, unless a newer epoch has started.
    pub fn keep(&self, epoch: Epoch, key: K, row: &Arc<V>, now: DateTime<Utc>) {
        let present = self.0.epoch.read().unwrap_or_else(PoisonError::into_inner);
        if *present == epoch {
            self.0.rows.insert(key, (now, Arc::clone(row)));
        }
    }

    /// Evicts one row, after it changed.
    pub fn forget(&self, key: &K) {
        self.begin_epoch(|rows| {
            rows.remove(key);
        });
    }

    /// Evicts the rows for which `is_changed` returns true.
    pub fn forget_where(&self, is_changed: impl Fn(&V) -> bool) {
        self.begin_epoch(|rows| rows.retain(|_, (_, row)| !is_changed(row)));
    }

    /// Evicts all rows.
    pub fn forget_everything(&self) {
        self.begin_epoch(Cache::clear);
    }

    fn begin_epoch(&self, forget: impl FnOnce(&Cache<K, (DateTime<Utc>, Arc<V>)>)) {
        let mut epoch = self.0.epoch.write().unwrap_or_else(PoisonError::into_inner);
        epoch.0 += 1;
        forget(&self.0.rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;

    #[test]
    fn a_row_is_believed_for_a_second() {
        let recent = Recent::new(10);
        recent.keep(recent.epoch(), 7, &Arc::new("Acme"), NOW);
        assert_eq!(recent.get(&7, NOW + TimeDelta::milliseconds(999)).as_deref(), Some(&"Acme"));
        assert_eq!(recent.get(&7, NOW + FRESH_FOR), None);
        assert_eq!(recent.get(&7, NOW - TimeDelta::milliseconds(1)), None);
        assert_eq!(recent.get(&8, NOW), None);
    }

    #[test]
    fn what_was_read_before_a_change_is_not_remembered_after_it() {
        let recent = Recent::new(10);
        for change in [Recent::forget_everything, |recent: &Recent<i32, &str>| recent.forget(&8)] {
            let epoch = recent.epoch();
            change(&recent);
            recent.keep(epoch, 7, &Arc::new("Acme"), NOW);
            assert_eq!(recent.get(&7, NOW), None);
        }
    }

    #[test]
    fn what_has_changed_is_forgotten_at_once() {
        let recent = Recent::new(10);
        for (key, row) in [(7, "Acme"), (8, "Best")] {
            recent.keep(recent.epoch(), key, &Arc::new(row), NOW);
        }
        recent.forget_where(|row| *row == "Acme");
        assert_eq!((recent.get(&7, NOW), recent.get(&8, NOW).as_deref()), (None, Some(&"Best")));
        recent.forget(&8);
        assert_eq!(recent.get(&8, NOW), None);
    }
}
