//! What is built of rows, such as a client of their settings: kept until the row has another version, as long as there is room.

use std::hash::Hash;

use quick_cache::sync::Cache;

/// What is built, by the key of its row, with the version that it was built of.
#[derive(Debug)]
pub struct BuiltCache<K, S, V>(Cache<K, (S, V)>);

impl<K: Eq + Hash, S: Clone + PartialEq, V: Clone> BuiltCache<K, S, V> {
    /// Keeps what is built of so many rows.
    pub fn new(rows: usize) -> Self {
        Self(Cache::new(rows))
    }

    /// What was built of this version of the row, or is built now.
    pub fn get_or_build(&self, key: K, version: &S, build: impl FnOnce() -> V) -> V {
        if let Some((_, built)) = self.0.get(&key).filter(|(of, _)| of == version) {
            return built;
        }
        let built = build();
        self.0.insert(key, (version.clone(), built.clone()));
        built
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_built_once_in_each_version() {
        let cache = BuiltCache::new(10);
        assert_eq!(cache.get_or_build(7, &1, || "one"), "one");
        assert_eq!(cache.get_or_build(7, &1, || "again"), "one");
        assert_eq!(cache.get_or_build(8, &1, || "other"), "other");
        assert_eq!(cache.get_or_build(7, &2, || "two"), "two");
    }
}
