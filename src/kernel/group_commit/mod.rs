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

mod queue;
#[cfg(test)]
mod tests;

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use crate::kernel::database::{is_unavailable, repeated, took_too_long};
use crate::kernel::group_commit::queue::{Queue, Waiting, Writing, keys_of};
use crate::kernel::group_metrics::GroupMetrics;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::problem::{Problem, ProblemCode};

/// How often a writer lets other tasks run before it takes a group, if two are written at a time: once for the sockets to be read, and
/// once for what was read to be processed.
const YIELDS: usize = 2;

/// How long an item waits before it is part of a group.
const PATIENCE: Duration = Duration::from_secs(3);

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
        let ((begin, mut begun), (done, written)) = (oneshot::channel(), oneshot::channel());
        let since = Instant::now();
        if self.0.add(Waiting { item, size, begun: begin, done })? {
            let gathering = Arc::clone(&self.0);
            self.0.lifecycle.spawn(async move { while gathering.write_next().await {} });
        }
        if timeout(PATIENCE, &mut begun).await.is_err() {
            begun.close();
            // Unless the writer has taken the item at the same moment, it will not.
            if begun.try_recv().is_err() {
                self.0.metrics.refused.inc();
                return Err(self.0.refusal());
            }
        }
        self.0.metrics.waited.observe(since.elapsed().as_secs_f64());
        // The writer task always sends a result unless it panicked, and a panic has been logged.
        written.await.unwrap_or_else(|_| Err(ProblemCode::Internal.into()))
    }
}

impl<I, W> Gathering<I, W>
where
    I: Clone,
{
    /// Adds an item to the queue, if there is room; whether a writer has to be started for it.
    fn add(&self, waiting: Waiting<I, W>) -> Result<bool, Problem> {
        let mut queue = self.queue();
        if !queue.add(waiting) {
            self.metrics.refused.inc();
            return Err(ProblemCode::Overloaded.into());
        }
        self.metrics.waiting.set(queue.len() as i64);
        Ok(queue.wants_writer())
    }

    /// Why an item has waited for too long: the queue is too long for what the database can do, or the database does not answer.
    fn refusal(&self) -> Problem {
        match self.queue().taken_at().elapsed() < PATIENCE {
            true => ProblemCode::Overloaded.into(),
            false => Problem::new(ProblemCode::DatabaseUnavailable).retry_after(5),
        }
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
        let keys = keys_of(self.key, &group);
        // A panic has been logged where it happened. The waiting callers of this group get an error, and the next group is written.
        let _ = AssertUnwindSafe(self.write_group(group)).catch_unwind().await;
        self.queue().is_written(&keys);
        true
    }

    async fn write_group(&self, group: Vec<Writing<I, W>>) {
        let items: Vec<_> = group.iter().map(|writing| writing.item.clone()).collect();
        match repeated(|| (self.write)(items.clone())).await {
            Ok(written) => {
                for (writing, written) in group.into_iter().zip(written) {
                    let _ = writing.done.send(Ok(written));
                }
            }
            Err(error) if group.len() == 1 || is_unavailable(&error) || took_too_long(&error) => {
                let problem = Problem::from(error);
                for writing in group {
                    let _ = writing.done.send(Err(problem.clone()));
                }
            }
            Err(_) => self.write_one_by_one(group).await,
        }
    }

    async fn write_one_by_one(&self, group: Vec<Writing<I, W>>) {
        for Writing { item, done } in group {
            let written = repeated(|| (self.write)(vec![item.clone()]))
                .await
                .map(|mut written| written.pop().expect("the group returns one result per item"));
            let _ = done.send(written.map_err(Problem::from));
        }
    }

    /// The next group, which counts as being written.
    fn next_group(&self) -> Option<Vec<Writing<I, W>>> {
        let mut queue = self.queue();
        let group = queue.next_group();
        self.metrics.waiting.set(queue.len() as i64);
        if let Some(group) = &group {
            self.metrics.sizes.observe(group.len() as f64);
        }
        group
    }

    fn queue(&self) -> MutexGuard<'_, Queue<I, W>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
