//! When the tasks that move deliveries have last completed a round, for those who ask whether they still do.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The marks of all tasks of this instance. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress(Arc<Mutex<Vec<Arc<Mutex<Instant>>>>>);

/// The mark of one task. It stays when the task ends: one that has panicked makes no progress.
#[derive(Debug)]
pub(super) struct Mark(Arc<Mutex<Instant>>);

impl Progress {
    /// The mark of a task that begins now.
    pub(super) fn begin(&self) -> Mark {
        let mark = Arc::new(Mutex::new(Instant::now()));
        lock(&self.0).push(Arc::clone(&mark));
        Mark(mark)
    }

    /// How long ago the task that stands still for longest has completed a round. `None` if there are no tasks.
    pub(super) fn oldest(&self) -> Option<Duration> {
        lock(&self.0).iter().map(|mark| lock(mark).elapsed()).max()
    }
}

impl Mark {
    /// Notes that a round was completed. A round that failed is none.
    pub(super) fn round(&self) {
        *lock(&self.0) = Instant::now();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_task_that_stands_still_for_longest_counts() {
        let progress = Progress::default();
        assert_eq!(progress.oldest(), None);
        let (busy, ended) = (progress.begin(), progress.begin());
        drop(ended);
        tokio::time::advance(Duration::from_secs(5)).await;
        busy.round();
        assert_eq!(progress.oldest(), Some(Duration::from_secs(5)));
    }
}
