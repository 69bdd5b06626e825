//! Group commit: concurrent writes are combined into one statement and one commit.
//!
//! There is no batching delay. An item that arrives while nothing is being written is written immediately. Items that arrive during
//! a write form the next group. A single caller therefore waits for one commit, and under load a caller whose item fits the next
//! group waits for at most two.
//!
//! Two groups can be written at the same time ([`GroupCommit::two_at_a_time`]). Items with the same key are then never in both, so
//! they are written in the order in which they arrived.

use std::collections::HashSet;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::oneshot;

use crate::kernel::database::is_unavailable;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::problem::{Problem, ProblemCode};

/// The number of waiting items from which on a second group is written beside the first. Most of the cost of a small group does not
/// depend on its size.
const ENOUGH_FOR_TWO: usize = 8;
/// How often a writer lets other tasks run before it takes a group, if two are written at a time: once for the sockets to be read, and
/// once for what was read to be processed.
const YIELDS: usize = 2;

/// Writes a group atomically and returns one result per item, in the same order.
type Write<I, W> = dyn Fn(Vec<I>) -> BoxFuture<'static, Result<Vec<W>, sqlx::Error>> + Send + Sync;

/// Collects items of type `I`; writing an item returns a `W`. Clones share the queue.
pub struct GroupCommit<I, W>(Arc<Gathering<I, W>>);

struct Gathering<I, W> {
    queue: Mutex<Queue<I, W>>,
    /// The maximum group size.
    most: usize,
    /// If two groups are written at the same time: the key of an item.
    key: Option<fn(&I) -> u64>,
    write: Box<Write<I, W>>,
    lifecycle: Lifecycle,
}

struct Queue<I, W> {
    waiting: Vec<Waiting<I, W>>,
    /// The number of running writer tasks. Each checks the queue again after each group.
    writers: usize,
    /// The keys of the items that are being written.
    written: HashSet<u64>,
}

struct Waiting<I, W> {
    item: I,
    done: oneshot::Sender<Result<W, Problem>>,
}

impl<I, W> Clone for GroupCommit<I, W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<I, W> fmt::Debug for GroupCommit<I, W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("GroupCommit").field("most", &self.0.most).finish_non_exhaustive()
    }
}

impl<I, W> GroupCommit<I, W>
where
    I: Clone + Send + 'static,
    W: Send + 'static,
{
    /// Writes groups of at most `most` items with `write`. On shutdown, `lifecycle` waits for the groups being written.
    pub fn new<F>(lifecycle: Lifecycle, most: usize, write: impl Fn(Vec<I>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Vec<W>, sqlx::Error>> + Send + 'static,
    {
        Self::with(lifecycle, most, None, write)
    }

    /// The same, but as soon as [`ENOUGH_FOR_TWO`] items wait, a second group is written beside the first. Items with the same `key`
    /// are written one after the other.
    pub fn two_at_a_time<F>(
        lifecycle: Lifecycle,
        most: usize,
        key: fn(&I) -> u64,
        write: impl Fn(Vec<I>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Vec<W>, sqlx::Error>> + Send + 'static,
    {
        Self::with(lifecycle, most, Some(key), write)
    }

    fn with<F>(lifecycle: Lifecycle, most: usize, key: Option<fn(&I) -> u64>, write: impl Fn(Vec<I>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Vec<W>, sqlx::Error>> + Send + 'static,
    {
        let queue = Mutex::new(Queue { waiting: Vec::new(), writers: 0, written: HashSet::new() });
        Self(Arc::new(Gathering { queue, most, key, write: Box::new(move |items| Box::pin(write(items))), lifecycle }))
    }

    /// Writes an item together with the others in the queue, and returns after the commit. The item is written even if the caller
    /// is dropped. An item that cannot be written does not fail the others of its group.
    pub async fn write(&self, item: I) -> Result<W, Problem> {
        let (done, written) = oneshot::channel();
        if self.0.add(Waiting { item, done }) {
            let gathering = Arc::clone(&self.0);
            self.0.lifecycle.spawn(async move { while gathering.write_next().await {} });
        }
        // The writer task always sends a result unless it panicked, and a panic has been logged.
        written.await.unwrap_or_else(|_| Err(ProblemCode::Internal.into()))
    }
}

impl<I, W> Gathering<I, W>
where
    I: Clone,
{
    /// Adds an item to the queue; whether a writer has to be started for it.
    fn add(&self, waiting: Waiting<I, W>) -> bool {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.waiting.push(waiting);
        let starts = match queue.writers {
            0 => true,
            1 => self.key.is_some() && queue.waiting.len() >= ENOUGH_FOR_TWO,
            _ => false,
        };
        queue.writers += usize::from(starts);
        starts
    }

    /// Writes one group; `false` if nothing in the queue can be written.
    async fn write_next(&self) -> bool {
        if self.key.is_some() {
            // Callers that are ready to run come first, so that their items are in this group.
            for _ in 0..YIELDS {
                tokio::task::yield_now().await;
            }
        }
        let Some(group) = self.next_group() else { return false };
        let keys: Vec<_> = self.key.iter().flat_map(|key| group.iter().map(|waiting| key(&waiting.item))).collect();
        // A panic has been logged where it happened. The waiting callers of this group get an error, and the next group is written.
        let _ = AssertUnwindSafe(self.write_group(group)).catch_unwind().await;
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        for key in keys {
            queue.written.remove(&key);
        }
        true
    }

    async fn write_group(&self, group: Vec<Waiting<I, W>>) {
        let items = group.iter().map(|waiting| waiting.item.clone()).collect();
        match (self.write)(items).await {
            Ok(written) => {
                for (waiting, written) in group.into_iter().zip(written) {
                    let _ = waiting.done.send(Ok(written));
                }
            }
            Err(error) if group.len() == 1 || is_unavailable(&error) => {
                let problem = Problem::from(error);
                for waiting in group {
                    let _ = waiting.done.send(Err(problem.clone()));
                }
            }
            Err(_) => self.write_one_by_one(group).await,
        }
    }

    async fn write_one_by_one(&self, group: Vec<Waiting<I, W>>) {
        for Waiting { item, done } in group {
            let written = (self.write)(vec![item]).await.map(|mut written| written.pop().expect("the group returns one result per item"));
            let _ = done.send(written.map_err(Problem::from));
        }
    }

    /// The items that have waited longest; none with the key of an item that is being written. If there are none, the writer ends: the
    /// other one checks the queue again.
    fn next_group(&self) -> Option<Vec<Waiting<I, W>>> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let Queue { waiting, writers, written } = &mut *queue;
        let group: Vec<_> = match self.key {
            Some(key) => {
                let mut free = 0;
                let is_next = |waiting: &mut Waiting<I, W>| {
                    let is_next = free < self.most && !written.contains(&key(&waiting.item));
                    free += usize::from(is_next);
                    is_next
                };
                waiting.extract_if(.., is_next).collect()
            }
            None => waiting.drain(..waiting.len().min(self.most)).collect(),
        };
        written.extend(self.key.iter().flat_map(|key| group.iter().map(|waiting| key(&waiting.item))));
        *writers -= usize::from(group.is_empty());
        (!group.is_empty()).then_some(group)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;

    use super::*;

    /// Squares numbers slowly; fails every group that contains a seven.
    fn squares(groups: &Arc<AtomicUsize>) -> GroupCommit<i32, i32> {
        let groups = Arc::clone(groups);
        GroupCommit::new(Lifecycle::default(), 10, move |items: Vec<i32>| {
            groups.fetch_add(1, Ordering::Relaxed);
            async move {
                tokio::task::yield_now().await;
                if items.contains(&7) { Err(sqlx::Error::RowNotFound) } else { Ok(items.iter().map(|item| item * item).collect()) }
            }
        })
    }

    #[tokio::test]
    async fn items_that_arrive_during_a_write_form_one_batch_with_individual_results() {
        let groups = Arc::default();
        let squares = squares(&groups);
        let written = join_all((100..125).map(|number| squares.write(number))).await;
        let written: Vec<_> = written.into_iter().map(Result::unwrap).collect();
        assert_eq!(written, (100..125).map(|number| number * number).collect::<Vec<_>>());
        assert_eq!(groups.load(Ordering::Relaxed), 3, "groups of ten at most");
        assert_eq!(squares.write(3).await.unwrap(), 9);
        assert_eq!(groups.load(Ordering::Relaxed), 4);
    }

    /// When a group began and ended: its numbers, and whether it began.
    type Log = Arc<Mutex<Vec<(Vec<i32>, bool)>>>;

    /// Writes groups of at most two numbers. Numbers with the same last digit have the same key.
    fn two_at_a_time(log: &Log) -> GroupCommit<i32, i32> {
        let log = Arc::clone(log);
        let key = |number: &i32| u64::from(number.unsigned_abs() % 10);
        GroupCommit::two_at_a_time(Lifecycle::default(), 2, key, move |items: Vec<i32>| {
            let log = Arc::clone(&log);
            async move {
                log.lock().unwrap().push((items.clone(), true));
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                log.lock().unwrap().push((items.clone(), false));
                Ok(items)
            }
        })
    }

    #[tokio::test]
    async fn two_groups_are_written_at_a_time_and_items_with_the_same_key_in_their_order() {
        let log = Log::default();
        let numbers = two_at_a_time(&log);
        let given: Vec<_> = (0..10).flat_map(|tens| [1, 2, 3].map(|digit| 10 * tens + digit)).collect();
        let written = join_all(given.iter().map(|number| numbers.write(*number))).await;
        assert_eq!(written.into_iter().map(Result::unwrap).collect::<Vec<_>>(), given);
        let (mut open, mut begun, mut most) = (Vec::<Vec<i32>>::new(), Vec::<i32>::new(), 0);
        for (group, begins) in log.lock().unwrap().iter() {
            open.retain(|other| other != group);
            if *begins {
                let is_free = |number: &i32| open.iter().flatten().all(|other| other % 10 != number % 10);
                assert!(group.iter().all(is_free), "{group:?} beside {open:?}");
                open.push(group.clone());
                begun.extend(group);
            }
            most = most.max(open.len());
        }
        assert_eq!(most, 2, "groups at a time");
        for digit in 1..=3 {
            assert!(begun.iter().filter(|number| *number % 10 == digit).is_sorted(), "{begun:?}");
        }
    }

    #[tokio::test]
    async fn an_item_that_cannot_be_written_does_not_affect_others() {
        let squares = squares(&Arc::default());
        let written = join_all((5..10).map(|number| squares.write(number))).await;
        let written: Vec<_> = written.into_iter().map(Result::ok).collect();
        assert_eq!(written, [Some(25), Some(36), None, Some(64), Some(81)]);
    }

    #[tokio::test]
    async fn after_a_panic_later_items_are_written() {
        let numbers = GroupCommit::new(Lifecycle::default(), 10, |items: Vec<i32>| async move {
            assert!(!items.contains(&7), "a seven");
            Ok(items)
        });
        assert!(numbers.write(7).await.is_err());
        assert_eq!(numbers.write(8).await.unwrap(), 8);
    }

    #[tokio::test]
    async fn after_a_panic_over_a_single_item_the_next_items_are_written() {
        let numbers = GroupCommit::new(Lifecycle::default(), 10, |items: Vec<i32>| async move {
            tokio::task::yield_now().await;
            assert!(items != [7], "a seven");
            if items.contains(&7) { Err(sqlx::Error::RowNotFound) } else { Ok(items) }
        });
        let written = join_all([1, 7, 6, 7].map(|number| numbers.write(number))).await;
        assert!(written.iter().any(Result::is_err));
        assert_eq!(numbers.write(8).await.unwrap(), 8);
    }

    #[tokio::test]
    async fn an_item_is_written_even_if_its_caller_is_cancelled() {
        let (groups, lifecycle) = (Arc::new(AtomicUsize::new(0)), Lifecycle::default());
        let counted = Arc::clone(&groups);
        let numbers = GroupCommit::new(lifecycle.clone(), 10, move |items: Vec<i32>| {
            counted.fetch_add(items.len(), Ordering::Relaxed);
            async move { Ok(items) }
        });
        let mut given = Box::pin(numbers.write(1));
        assert!(futures::poll!(&mut given).is_pending());
        drop(given);
        lifecycle.stop().await;
        assert_eq!(groups.load(Ordering::Relaxed), 1);
    }
}
