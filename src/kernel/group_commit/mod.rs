//! Group commit: concurrent writes are combined into one statement and one commit.
//!
//! There is no batching delay. An item that arrives while nothing is being written is written immediately. Items that arrive during
//! a write form the next group. A single caller therefore waits for one commit, and under load a caller whose item fits the next
//! group waits for at most two.
//!
//! Two groups can be written at the same time ([`GroupCommit::two_at_a_time`]). Items with the same key are then never in both, so
//! they are written in the order in which they arrived.
//!
//! The queue is bounded, and nobody waits in it for longer than [`PATIENCE`]: while the database cannot keep up, callers are refused at
//! once or soon. A caller that was refused, or has gone away, finds nothing written: its item leaves the queue with it. A group that the
//! database has rolled back because of a conflict is written again. [`queue`] is what waits; this module writes it.
//!
//! A caller waits for one answer, and has no timer: a writer refuses, while it writes, what has waited for too long.

mod queue;
#[cfg(test)]
mod tests;

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::time::timeout_at;

use crate::kernel::database::{is_unavailable, repeated, took_too_long};
use crate::kernel::group_commit::queue::{Done, PATIENCE, Queue, Waiting, keys_of};
use crate::kernel::group_metrics::GroupMetrics;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::problem::{Problem, ProblemCode};

/// How often a writer lets other tasks run before it takes a group where items come together ([`Queue::gathers`]): once for the sockets to be
/// read, and once for what was read to be processed.
const YIELDS: usize = 2;

/// Writes a group atomically and returns one result per item, in the same order.
type Write<I, W> = dyn Fn(Vec<I>) -> BoxFuture<'static, Result<Vec<W>, sqlx::Error>> + Send + Sync;

/// Collects items of type `I`; writing an item returns a `W`. Clones share the queue.
pub struct GroupCommit<I, W>(Arc<Gathering<I, W>>);

struct Gathering<I, W> {
    queue: Mutex<Queue<I, W>>,
    /// If two groups are written at the same time: the key of an item.
    key: Option<fn(&I) -> u64>,
    write: Box<Write<I, W>>,
    lifecycle: Lifecycle,
    metrics: GroupMetrics,
}

impl<I, W> Clone for GroupCommit<I, W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<I, W> fmt::Debug for GroupCommit<I, W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("GroupCommit").finish_non_exhaustive()
    }
}

impl<I, W> GroupCommit<I, W>
where
    I: Clone + Send + Sync + 'static,
    W: Send + 'static,
{
    /// Writes groups of at most `most` items with `write`. On shutdown, `lifecycle` waits for the groups being written.
    pub fn new<F>(lifecycle: Lifecycle, most: usize, write: impl Fn(Vec<I>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Vec<W>, sqlx::Error>> + Send + 'static,
    {
        Self::with(lifecycle, most, None, write)
    }

    /// The same, but as soon as [`queue::ENOUGH_FOR_TWO`] items wait, a second group is written beside the first. Items with the same `key`
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
        let queue = Mutex::new(Queue::new(most, key));
        let (write, metrics): (Box<Write<I, W>>, _) = (Box::new(move |items| Box::pin(write(items))), GroupMetrics::default());
        Self(Arc::new(Gathering { queue, key, write, lifecycle, metrics }))
    }

    /// What is measured of the queue.
    pub fn metrics(&self) -> &GroupMetrics {
        &self.0.metrics
    }

    /// Writes an item together with the others in the queue, and returns after the commit. If the queue is full, or the item has waited
    /// for too long, or the caller is dropped while it waits, it is not written; a group that is being written is written to its end. An
    /// item that cannot be written does not fail the others of its group.
    ///
    /// `size` is the size of the item in memory, roughly and in bytes.
    pub async fn write(&self, item: I, size: usize) -> Result<W, Problem> {
        let (done, written) = oneshot::channel();
        if self.0.add(item, size, done)? {
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
    /// Adds an item to the queue, if there is room; whether a writer has to be started for it.
    fn add(&self, item: I, size: usize, done: Done<W>) -> Result<bool, Problem> {
        let mut queue = self.queue();
        if !queue.add(item, size, done) {
            self.metrics.refused.inc();
            return Err(ProblemCode::Overloaded.into());
        }
        self.metrics.waiting.set(queue.len() as i64);
        Ok(queue.wants_writer())
    }

    /// Writes one group; `false` if nothing in the queue can be written.
    async fn write_next(&self) -> bool {
        if self.queue().gathers() {
            // Callers that are ready to run come first, so that their items are in this group.
            for _ in 0..YIELDS {
                tokio::task::yield_now().await;
            }
        }
        let Some(group) = self.next_group() else { return false };
        let keys = keys_of(self.key, &group);
        // A panic has been logged where it happened. The waiting callers of this group get an error, and the next group is written.
        let mut writing = pin!(AssertUnwindSafe(self.write_group(group)).catch_unwind());
        loop {
            let late_at = self.queue().late_at();
            if timeout_at(late_at, writing.as_mut()).await.is_ok() {
                break;
            }
            self.refuse_late();
        }
        self.queue().is_written(&keys);
        true
    }

    /// Refuses what has waited for too long: the queue is too long for what the database can do, or the database does not answer.
    fn refuse_late(&self) {
        let (late, taken_at) = {
            let mut queue = self.queue();
            let late = queue.take_late();
            self.metrics.waiting.set(queue.len() as i64);
            (late, queue.taken_at())
        };
        let refusal: Problem = match taken_at.elapsed() < PATIENCE {
            true => ProblemCode::Overloaded.into(),
            false => Problem::new(ProblemCode::DatabaseUnavailable).retry_after(5),
        };
        for waiting in late.into_iter().filter(Waiting::is_there) {
            self.metrics.refused.inc();
            let _ = waiting.done.send(Err(refusal.clone()));
        }
    }

    async fn write_group(&self, group: Vec<Waiting<I, W>>) {
        let (items, callers): (Vec<_>, Vec<_>) = group.into_iter().map(|waiting| (waiting.item, waiting.done)).unzip();
        match repeated(|| (self.write)(items.clone())).await {
            Ok(written) => {
                for (done, written) in callers.into_iter().zip(written) {
                    let _ = done.send(Ok(written));
                }
            }
            Err(error) if items.len() == 1 || is_unavailable(&error) || took_too_long(&error) => {
                let problem = Problem::from(error);
                for done in callers {
                    let _ = done.send(Err(problem.clone()));
                }
            }
            Err(_) => self.write_one_by_one(items, callers).await,
        }
    }

    async fn write_one_by_one(&self, items: Vec<I>, callers: Vec<Done<W>>) {
        for (item, done) in items.into_iter().zip(callers) {
            let written = repeated(|| (self.write)(vec![item.clone()]))
                .await
                .map(|mut written| written.pop().expect("the group returns one result per item"));
            let _ = done.send(written.map_err(Problem::from));
        }
    }

    /// The next group, which counts as being written.
    fn next_group(&self) -> Option<Vec<Waiting<I, W>>> {
        let (group, taken_at) = {
            let mut queue = self.queue();
            let group = queue.next_group();
            self.metrics.waiting.set(queue.len() as i64);
            (group?, queue.taken_at())
        };
        self.metrics.sizes.observe(group.len() as f64);
        for waiting in &group {
            self.metrics.waited.observe((taken_at - waiting.since).as_secs_f64());
        }
        Some(group)
    }

    fn queue(&self) -> MutexGuard<'_, Queue<I, W>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
