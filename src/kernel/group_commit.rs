//! Group commit: concurrent writes are combined into one statement and one commit.
//!
//! There is no batching delay. An item that arrives while nothing is being written is written immediately. Items that arrive during
//! a write form the next group. A single caller therefore waits for one commit, and under load a caller whose item fits the next
//! group waits for at most two.

use std::collections::VecDeque;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::oneshot;

use crate::kernel::database::is_unavailable;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::problem::{Problem, ProblemCode};

/// Writes a group atomically and returns one result per item, in the same order.
type Write<I, W> = dyn Fn(Vec<I>) -> BoxFuture<'static, Result<Vec<W>, sqlx::Error>> + Send + Sync;

/// Collects items of type `I`; writing an item returns a `W`. Clones share the queue.
pub struct GroupCommit<I, W>(Arc<Gathering<I, W>>);

struct Gathering<I, W> {
    queue: Mutex<Queue<I, W>>,
    /// The maximum group size.
    most: usize,
    write: Box<Write<I, W>>,
    lifecycle: Lifecycle,
}

struct Queue<I, W> {
    waiting: VecDeque<Waiting<I, W>>,
    /// Whether a writer task is running. It checks the queue again after each group.
    is_written: bool,
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
        let queue = Mutex::new(Queue { waiting: VecDeque::new(), is_written: false });
        Self(Arc::new(Gathering { queue, most, write: Box::new(move |items| Box::pin(write(items))), lifecycle }))
    }

    /// Writes an item together with the others in the queue, and returns after the commit. The item is written even if the caller
    /// is dropped. An item that cannot be written does not fail the others of its group.
    pub async fn write(&self, item: I) -> Result<W, Problem> {
        let (done, written) = oneshot::channel();
        let is_written = {
            let mut queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.waiting.push_back(Waiting { item, done });
            std::mem::replace(&mut queue.is_written, true)
        };
        if !is_written {
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
    /// Writes one group; `false` if the queue is empty.
    async fn write_next(&self) -> bool {
        let Some(group) = self.next_group() else { return false };
        // A panic has been logged where it happened. The waiting callers of this group get an error, and the next group is written.
        let _ = AssertUnwindSafe(self.write_group(group)).catch_unwind().await;
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

    fn next_group(&self) -> Option<Vec<Waiting<I, W>>> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let size = queue.waiting.len().min(self.most);
        queue.is_written = size > 0;
        (size > 0).then(|| queue.waiting.drain(..size).collect())
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
