//! What was looked up within the last second, so that who asks for the same row over and over is answered without Postgres.
//!
//! What this instance changes it forgets at once, so a revocation made here counts for the very next request; one made elsewhere counts
//! within [`FRESH_FOR`].
//!
//! A row read before a change must not be remembered after it. So who looks something up takes the [`Epoch`] first, every change begins a
//! new one, and only what was read in the present epoch is kept.

use std::hash::Hash;
use std::sync::{Arc, PoisonError, RwLock};

use chrono::{DateTime, TimeDelta, Utc};
use quick_cache::sync::Cache;

/// How long a row is believed without looking again.
pub const FRESH_FOR: TimeDelta = TimeDelta::seconds(1);

/// Remembers rows for a second. Clones share them.
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

/// The time between two changes of this instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch(u64);

impl<K: Eq + Hash, V> Recent<K, V> {
    /// Remembers so many rows at most.
    pub fn new(rows: usize) -> Self {
        Self(Arc::new(Rows { epoch: RwLock::new(Epoch(0)), rows: Cache::new(rows) }))
    }

    /// To be taken before a row is read that will be remembered.
    pub fn epoch(&self) -> Epoch {
        *self.0.epoch.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The row, if it was read within the last second. One from the future, after a clock stepped back, is not believed.
    pub fn get(&self, key: &K, now: DateTime<Utc>) -> Option<Arc<V>> {
        self.0.rows.get(key).filter(|(since, _)| *since <= now && now - *since < FRESH_FOR).map(|(_, row)| row)
    }

    /// Remembers a row that was read in `epoch`, unless that is over.
    pub fn keep(&self, epoch: Epoch, key: K, row: &Arc<V>, now: DateTime<Utc>) {
        let present = self.0.epoch.read().unwrap_or_else(PoisonError::into_inner);
        if *present == epoch {
            self.0.rows.insert(key, (now, Arc::clone(row)));
        }
    }

    /// A row has changed.
    pub fn forget(&self, key: &K) {
        self.begin_epoch(|rows| {
            rows.remove(key);
        });
    }

    /// Some rows have changed.
    pub fn forget_where(&self, is_changed: impl Fn(&V) -> bool) {
        self.begin_epoch(|rows| rows.retain(|_, (_, row)| !is_changed(row)));
    }

    /// Any of them may have changed.
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
