//! Limits over a sliding window, counted in memory by each instance: what is over the limit here need not be asked of the database.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};

use crate::kernel::limit_key::LimitKey;
use crate::kernel::rate_limit::Rule;

/// A rule for each caller, identified by `K`, and for the larger network of a client. Clones share the counters.
#[derive(Clone, Debug)]
pub struct LocalWindow<K> {
    rule: Rule,
    hits: Arc<Mutex<HashMap<K, VecDeque<DateTime<Utc>>>>>,
}

impl<K: LimitKey> LocalWindow<K> {
    /// A rule that this instance keeps.
    pub fn new(rule: Rule) -> Self {
        Self { rule, hits: Arc::default() }
    }

    /// Counts a hit of `caller` if the rule allows it; whether it does.
    pub fn hit(&self, caller: K, now: DateTime<Utc>) -> bool {
        let mut callers = self.callers();
        let counted = [Some((caller.clone(), self.rule)), caller.larger().map(|larger| (larger, self.rule.of_larger()))];
        let counted: Vec<_> = counted.into_iter().flatten().collect();
        let allowed = counted.iter().all(|(caller, rule)| {
            let hits = callers.entry(caller.clone()).or_default();
            self.forget(hits, now);
            hits.len() < rule.limit as usize
        });
        if allowed {
            counted.into_iter().for_each(|(caller, _)| callers.entry(caller).or_default().push_back(now));
        }
        allowed
    }

    /// Removes callers without hits in the window, so that memory use depends only on recent callers.
    pub fn sweep(&self, now: DateTime<Utc>) {
        let mut callers = self.callers();
        callers.retain(|_, hits| {
            self.forget(hits, now);
            !hits.is_empty()
        });
        callers.shrink_to_fit();
    }

    fn forget(&self, hits: &mut VecDeque<DateTime<Utc>>, now: DateTime<Utc>) {
        while hits.front().is_some_and(|hit| *hit <= now - self.rule.window) {
            hits.pop_front();
        }
    }

    fn callers(&self) -> MutexGuard<'_, HashMap<K, VecDeque<DateTime<Utc>>>> {
        self.hits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn so_many_in_any_window_and_who_is_quiet_is_forgotten() {
        let window = LocalWindow::new(Rule { limit: 2, window: TimeDelta::hours(1) });
        let at = |minutes| DateTime::UNIX_EPOCH + TimeDelta::minutes(minutes);
        let allowed = [0, 30, 59, 60, 61, 90].map(|minutes| window.hit("ada", at(minutes)));
        assert_eq!(allowed, [true, true, false, true, false, true]);
        assert!(window.hit("bob", at(90)));
        window.sweep(at(149));
        assert_eq!(window.callers().len(), 2);
        window.sweep(at(150));
        assert!(window.callers().is_empty());
    }
}
