//! A cache of rows with a TTL of one second, so that repeated lookups of the same row do not reach Postgres.
//!
//! A change made by this instance evicts the row immediately, so a revocation made here applies to the very next request. A change
//! made by another instance applies within [`TTL`].
//!
//! A row that was read before a change must not be cached after it. A caller therefore takes the [`Generation`] before it reads, every
//! change starts a new generation, and only rows read in the current generation are cached.
//!
//! A change evicts what it concerns, and never the rows of others: one company would otherwise slow down all others by saving one of its
//! records again and again. There is no way to evict everything.

use std::hash::Hash;
use std::sync::{Arc, PoisonError, RwLock};

use chrono::{DateTime, TimeDelta, Utc};
use quick_cache::sync::Cache;

use crate::kernel::cache_metrics::CacheMetrics;

/// For so long, an instance may still use a row that another instance has changed.
pub const TTL: TimeDelta = TimeDelta::seconds(1);

/// A cache of rows. Clones share it.
#[derive(Debug)]
pub struct TtlCache<K, V>(Arc<Rows<K, V>>);

impl<K, V> Clone for TtlCache<K, V> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

#[derive(Debug)]
struct Rows<K, V> {
    generation: RwLock<Generation>,
    rows: Cache<K, (DateTime<Utc>, Arc<V>)>,
    metrics: CacheMetrics,
}

/// A counter of the changes made by this instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation(u64);

impl<K: Eq + Hash, V> TtlCache<K, V> {
    /// A cache of at most `rows` rows.
    pub fn new(rows: usize) -> Self {
        Self(Arc::new(Rows { generation: RwLock::new(Generation(0)), rows: Cache::new(rows), metrics: CacheMetrics::default() }))
    }

    /// The current generation. Must be taken before reading a row that will be cached.
    pub fn generation(&self) -> Generation {
        *self.0.generation.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cached row, unless it has expired. A row dated in the future, after the clock was set back, counts as expired.
    pub fn get(&self, key: &K, now: DateTime<Utc>) -> Option<Arc<V>> {
        let found = self.0.rows.get(key).filter(|(since, _)| *since <= now && now - *since < TTL).map(|(_, row)| row);
        self.0.metrics.count(found.is_some());
        found
    }

    /// The cached row, or what is read now and cached.
    pub async fn get_or_read<E, F: Future<Output = Result<V, E>>>(
        &self,
        key: K,
        now: DateTime<Utc>,
        read: impl FnOnce() -> F,
    ) -> Result<Arc<V>, E> {
        if let Some(found) = self.get(&key, now) {
            return Ok(found);
        }
        let generation = self.generation();
        // Boxed, because otherwise every look-up would copy the large future of a query.
        let row = Arc::new(Box::pin(read()).await?);
        self.insert_if_current(generation, key, &row, now);
        Ok(row)
    }

    /// What is measured of the cache.
    pub fn metrics(&self) -> &CacheMetrics {
        &self.0.metrics
    }

    /// Caches a row that was read in `generation`, unless a newer generation has started.
    pub fn insert_if_current(&self, generation: Generation, key: K, row: &Arc<V>, now: DateTime<Utc>) {
        let present = self.0.generation.read().unwrap_or_else(PoisonError::into_inner);
        if *present == generation {
            self.0.rows.insert(key, (now, Arc::clone(row)));
        }
    }

    /// Evicts one row, after it changed.
    pub fn invalidate(&self, key: &K) {
        self.next_generation(|rows| {
            rows.remove(key);
        });
    }

    /// Evicts the rows for which `is_changed` returns true.
    pub fn invalidate_if(&self, is_changed: impl Fn(&K, &V) -> bool) {
        self.next_generation(|rows| rows.retain(|key, (_, row)| !is_changed(key, row)));
    }

    fn next_generation(&self, remove: impl FnOnce(&Cache<K, (DateTime<Utc>, Arc<V>)>)) {
        let mut generation = self.0.generation.write().unwrap_or_else(PoisonError::into_inner);
        generation.0 += 1;
        remove(&self.0.rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;

    #[test]
    fn a_row_is_cached_for_a_second() {
        let cache = TtlCache::new(10);
        cache.insert_if_current(cache.generation(), 7, &Arc::new("Acme"), NOW);
        assert_eq!(cache.get(&7, NOW + TimeDelta::milliseconds(999)).as_deref(), Some(&"Acme"));
        assert_eq!(cache.get(&7, NOW + TTL), None);
        assert_eq!(cache.get(&7, NOW - TimeDelta::milliseconds(1)), None);
        assert_eq!(cache.get(&8, NOW), None);
    }

    #[test]
    fn a_value_read_before_a_change_is_not_cached_after_it() {
        let cache = TtlCache::new(10);
        let changes: [fn(&TtlCache<i32, &'static str>); 2] = [|cache| cache.invalidate_if(|_, _| false), |cache| cache.invalidate(&8)];
        for change in changes {
            let generation = cache.generation();
            change(&cache);
            cache.insert_if_current(generation, 7, &Arc::new("Acme"), NOW);
            assert_eq!(cache.get(&7, NOW), None);
        }
    }

    #[test]
    fn a_changed_row_is_evicted_at_once() {
        let cache = TtlCache::new(10);
        for (key, row) in [(7, "Acme"), (8, "Best")] {
            cache.insert_if_current(cache.generation(), key, &Arc::new(row), NOW);
        }
        cache.invalidate_if(|_, row| *row == "Acme");
        assert_eq!((cache.get(&7, NOW), cache.get(&8, NOW).as_deref()), (None, Some(&"Best")));
        cache.invalidate(&8);
        assert_eq!(cache.get(&8, NOW), None);
    }
}
