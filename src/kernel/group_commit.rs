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
//! once or soon. A caller that was refused, or has gone away, finds nothing written: its item leaves the queue with it.

use std::collections::HashSet;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use crate::kernel::database::{is_unavailable, took_too_long};
use crate::kernel::group_metrics::GroupMetrics;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::problem::{Problem, ProblemCode};

/// The number of waiting items from which on a second group is written beside the first. Most of the cost of a small group does not
/// depend on its size.
const ENOUGH_FOR_TWO: usize = 8;
/// How often a writer lets other tasks run before it takes a group, if two are written at a time: once for the sockets to be read, and
/// once for what was read to be processed.
const YIELDS: usize = 2;

/// How long an item waits before it is part of a group.
const PATIENCE: Duration = Duration::from_secs(3);
/// How many items may wait, and their size together in bytes.
const MAX_WAITING: usize = 10_000;
const MAX_WAITING_BYTES: usize = 16 * 1024 * 1024;

/// The size of a group, in bytes, unless a single item is larger: a few large items do not make many small ones wait for all of them.
const MAX_GROUP_BYTES: usize = 256 * 1024;

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
    metrics: GroupMetrics,
}

struct Queue<I, W> {
    waiting: Vec<Waiting<I, W>>,
    /// The size of what waits, in bytes.
    bytes: usize,
    /// The number of running writer tasks. Each checks the queue again after each group.
    writers: usize,
    /// The keys of the items that are being written.
    written: HashSet<u64>,
    /// When the last group was taken.
    taken_at: Instant,
}

struct Waiting<I, W> {
    item: I,
    size: usize,
    /// Tells the caller that the item is being written. The caller has gone away if it cannot be told; it may do so until then.
    begun: oneshot::Sender<()>,
    done: oneshot::Sender<Result<W, Problem>>,
}

/// An item of a group that is being written.
struct Writing<I, W> {
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
        let queue = Mutex::new(Queue { waiting: Vec::new(), bytes: 0, writers: 0, written: HashSet::new(), taken_at: Instant::now() });
        let (write, metrics): (Box<Write<I, W>>, _) = (Box::new(move |items| Box::pin(write(items))), GroupMetrics::default());
        Self(Arc::new(Gathering { queue, most, key, write, lifecycle, metrics }))
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
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if !Self::has_room(&queue, waiting.size) {
            // Who has gone away makes room.
            queue.waiting.retain(|waiting| !waiting.begun.is_closed());
            queue.bytes = queue.waiting.iter().map(|waiting| waiting.size).sum();
            if !Self::has_room(&queue, waiting.size) {
                self.metrics.refused.inc();
                return Err(ProblemCode::Overloaded.into());
            }
        }
        queue.bytes += waiting.size;
        queue.waiting.push(waiting);
        self.metrics.waiting.set(queue.waiting.len() as i64);
        let starts = match queue.writers {
            0 => true,
            1 => self.key.is_some() && queue.waiting.len() >= ENOUGH_FOR_TWO,
            _ => false,
        };
        queue.writers += usize::from(starts);
        Ok(starts)
    }

    /// Why an item has waited for too long: the queue is too long for what the database can do, or the database does not answer.
    fn refusal(&self) -> Problem {
        let taken_at = self.queue.lock().unwrap_or_else(PoisonError::into_inner).taken_at;
        match taken_at.elapsed() < PATIENCE {
            true => ProblemCode::Overloaded.into(),
            false => Problem::new(ProblemCode::DatabaseUnavailable).retry_after(5),
        }
    }

    fn has_room(queue: &Queue<I, W>, size: usize) -> bool {
        queue.waiting.len() < MAX_WAITING && queue.bytes + size <= MAX_WAITING_BYTES
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
        let keys: Vec<_> = self.key.iter().flat_map(|key| group.iter().map(|writing| key(&writing.item))).collect();
        // A panic has been logged where it happened. The waiting callers of this group get an error, and the next group is written.
        let _ = AssertUnwindSafe(self.write_group(group)).catch_unwind().await;
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        for key in keys {
            queue.written.remove(&key);
        }
        true
    }

    async fn write_group(&self, group: Vec<Writing<I, W>>) {
        let items = group.iter().map(|writing| writing.item.clone()).collect();
        match (self.write)(items).await {
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
            let written = (self.write)(vec![item]).await.map(|mut written| written.pop().expect("the group returns one result per item"));
            let _ = done.send(written.map_err(Problem::from));
        }
    }

    /// The items that have waited longest and whose callers are there; none with the key of an item that is being written. If there are
    /// none, the writer ends: the other one checks the queue again.
    fn next_group(&self) -> Option<Vec<Writing<I, W>>> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let Queue { waiting, bytes, writers, written, taken_at } = &mut *queue;
        let (mut group, mut size) = (Vec::new(), 0);
        // From the first that does not fit, nothing more does, so the order stays.
        let mut fits = |item: usize| {
            size += item;
            size == item || size <= MAX_GROUP_BYTES
        };
        // Each round takes as many as are missing; most often, all callers are there, and one is enough.
        while group.len() < self.most {
            let (missing, mut taken) = (self.most - group.len(), 0);
            let is_next = |waiting: &mut Waiting<I, W>| {
                let is_free = taken < missing && self.key.is_none_or(|key| !written.contains(&key(&waiting.item)));
                let is_next = is_free && fits(waiting.size);
                taken += usize::from(is_next);
                is_next
            };
            let next: Vec<_> = match self.key {
                Some(_) => waiting.extract_if(.., is_next).collect(),
                None => {
                    let fitting = waiting.iter().take(missing).take_while(|waiting| fits(waiting.size)).count();
                    waiting.drain(..fitting).collect()
                }
            };
            if next.is_empty() {
                break;
            }
            *bytes -= next.iter().map(|waiting| waiting.size).sum::<usize>();
            let there =
                next.into_iter().filter_map(|Waiting { item, begun, done, .. }| begun.send(()).ok().map(|()| Writing { item, done }));
            group.extend(there);
        }
        written.extend(self.key.iter().flat_map(|key| group.iter().map(|writing| key(&writing.item))));
        self.metrics.waiting.set(waiting.len() as i64);
        if !group.is_empty() {
            self.metrics.sizes.observe(group.len() as f64);
        }
        *writers -= usize::from(group.is_empty());
        (!group.is_empty()).then(|| {
            *taken_at = Instant::now();
            group
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;
    use tokio::sync::watch;

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
        let written = join_all((100..125).map(|number| squares.write(number, 1))).await;
        let written: Vec<_> = written.into_iter().map(Result::unwrap).collect();
        assert_eq!(written, (100..125).map(|number| number * number).collect::<Vec<_>>());
        assert_eq!(groups.load(Ordering::Relaxed), 3, "groups of ten at most");
        assert_eq!(squares.write(3, 1).await.unwrap(), 9);
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
        let written = join_all(given.iter().map(|number| numbers.write(*number, 1))).await;
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
        let written = join_all((5..10).map(|number| squares.write(number, 1))).await;
        let written: Vec<_> = written.into_iter().map(Result::ok).collect();
        assert_eq!(written, [Some(25), Some(36), None, Some(64), Some(81)]);
    }

    #[tokio::test]
    async fn after_a_panic_later_items_are_written() {
        let numbers = GroupCommit::new(Lifecycle::default(), 10, |items: Vec<i32>| async move {
            assert!(!items.contains(&7), "a seven");
            Ok(items)
        });
        assert!(numbers.write(7, 1).await.is_err());
        assert_eq!(numbers.write(8, 1).await.unwrap(), 8);
    }

    #[tokio::test]
    async fn after_a_panic_over_a_single_item_the_next_items_are_written() {
        let numbers = GroupCommit::new(Lifecycle::default(), 10, |items: Vec<i32>| async move {
            tokio::task::yield_now().await;
            assert!(items != [7], "a seven");
            if items.contains(&7) { Err(sqlx::Error::RowNotFound) } else { Ok(items) }
        });
        let written = join_all([1, 7, 6, 7].map(|number| numbers.write(number, 1))).await;
        assert!(written.iter().any(Result::is_err));
        assert_eq!(numbers.write(8, 1).await.unwrap(), 8);
    }

    /// The numbers that were written.
    type Written = Arc<Mutex<Vec<i32>>>;

    /// Writes nothing before it is told to.
    fn held_back() -> (GroupCommit<i32, i32>, watch::Sender<bool>, Written) {
        let (go, written) = (watch::Sender::new(false), Written::default());
        let (going, log) = (go.clone(), Arc::clone(&written));
        let numbers = GroupCommit::new(Lifecycle::default(), 2, move |items: Vec<i32>| {
            let (mut going, log) = (going.subscribe(), Arc::clone(&log));
            async move {
                going.wait_for(|go| *go).await.unwrap();
                log.lock().unwrap().extend(&items);
                Ok(items)
            }
        });
        (numbers, go, written)
    }

    #[tokio::test]
    async fn what_is_being_written_is_written_without_its_caller_and_what_waits_is_not() {
        let (numbers, go, written) = held_back();
        let mut callers: Vec<_> = (1..=6).map(|number| Box::pin(numbers.write(number, 1))).collect();
        for caller in &mut callers {
            assert!(futures::poll!(caller).is_pending());
        }
        tokio::task::yield_now().await;
        // The first group is 1 and 2. The callers of 2, 3 and 4 go away.
        callers.drain(1..4);
        go.send_replace(true);
        assert_eq!(join_all(callers).await.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [1, 5, 6]);
        assert_eq!(*written.lock().unwrap(), [1, 2, 5, 6]);
    }

    #[tokio::test]
    async fn what_does_not_fit_is_refused_at_once_and_who_goes_away_makes_room() {
        let (numbers, go, written) = held_back();
        let add = |number, size| Box::pin(numbers.write(number, size));
        let mut callers: Vec<_> = (0..MAX_WAITING + 2).map(|_| add(1, 1)).collect();
        for (place, caller) in callers.iter_mut().enumerate() {
            assert!(futures::poll!(caller).is_pending());
            if place == 1 {
                // These two are being written.
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(add(1, 1).await.unwrap_err().code(), ProblemCode::Overloaded);
        callers.truncate(MAX_WAITING + 1);
        assert!(futures::poll!(&mut add(1, 1)).is_pending());
        drop(callers);
        let mut large = add(5, MAX_WAITING_BYTES);
        assert!(futures::poll!(&mut large).is_pending());
        assert_eq!(add(6, 1).await.unwrap_err().code(), ProblemCode::Overloaded);
        go.send_replace(true);
        assert_eq!(large.await.unwrap(), 5);
        assert_eq!(add(6, 1).await.unwrap(), 6);
        assert_eq!(*written.lock().unwrap(), [1, 1, 5, 6]);
    }

    #[tokio::test]
    async fn large_items_make_small_groups() {
        let groups = Arc::default();
        let squares = squares(&groups);
        let sizes = [1, MAX_GROUP_BYTES, 2 * MAX_GROUP_BYTES, 1, 1, MAX_GROUP_BYTES - 2, 1];
        let written = join_all((1..).zip(sizes).map(|(number, size)| squares.write(10 * number, size))).await;
        assert!(written.iter().all(Result::is_ok));
        assert_eq!(groups.load(Ordering::Relaxed), 5, "1, 2, 3, 4 to 6, and 7");
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_longer_than_their_patience() {
        let (numbers, go, written) = held_back();
        let beginning = tokio::time::Instant::now();
        let (first, second, third) = tokio::join!(
            async {
                let written = numbers.write(1, 1).await;
                assert!(beginning.elapsed() > PATIENCE, "a group that is being written is waited for");
                written
            },
            async {
                tokio::task::yield_now().await;
                let refused = numbers.write(2, 1).await;
                assert_eq!(beginning.elapsed().as_secs(), PATIENCE.as_secs());
                refused
            },
            async {
                tokio::time::sleep(PATIENCE * 2).await;
                go.send_replace(true);
                numbers.write(3, 1).await
            },
        );
        assert_eq!((first.unwrap(), second.unwrap_err().code(), third.unwrap()), (1, ProblemCode::DatabaseUnavailable, 3));
        assert_eq!(*written.lock().unwrap(), [1, 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_waited_for_too_long_in_a_queue_that_goes_on_is_told_that_it_is_long() {
        let slow = GroupCommit::new(Lifecycle::default(), 10, |items: Vec<i32>| async move {
            tokio::time::sleep(PATIENCE * 2 / 3).await;
            Ok(items)
        });
        let written = join_all((0..30).map(|number| slow.write(number, 1))).await;
        assert!(written[..20].iter().all(Result::is_ok));
        assert!(written[20..].iter().all(|written| written.as_ref().is_err_and(|refused| refused.code() == ProblemCode::Overloaded)));
    }
}
