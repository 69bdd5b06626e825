//! What waits to be written: how much may, and what is next.

use std::collections::HashSet;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::kernel::problem::Problem;

/// How long an item waits before it is part of a group.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);
/// The number of waiting items from which on a second group is written beside the first. Most of the cost of a small group does not
/// depend on its size.
pub(super) const ENOUGH_FOR_TWO: usize = 8;
/// How many items may wait, and their size together in bytes.
pub(super) const MAX_WAITING: usize = 10_000;
pub(super) const MAX_WAITING_BYTES: usize = 16 * 1024 * 1024;
/// The size of a group, in bytes, unless a single item is larger: a few large items do not make many small ones wait for all of them.
pub(super) const MAX_GROUP_BYTES: usize = 256 * 1024;

pub(super) struct Queue<I, W> {
    waiting: Vec<Waiting<I, W>>,
    /// The size of what waits, in bytes.
    bytes: usize,
    /// The maximum group size.
    most: usize,
    /// If two groups are written at the same time: the key of an item.
    key: Option<fn(&I) -> u64>,
    /// The number of running writer tasks. Each checks the queue again after each group.
    writers: usize,
    /// The keys of the items that are being written.
    written: HashSet<u64>,
    /// When the last group was taken, and how many items it had.
    taken_at: Instant,
    taken: usize,
}

/// Tells a caller what became of its item.
pub(super) type Done<W> = oneshot::Sender<Result<W, Problem>>;

/// An item that waits, or is in the group that is being written.
pub(super) struct Waiting<I, W> {
    pub item: I,
    pub size: usize,
    pub since: Instant,
    pub done: Done<W>,
}

impl<I, W> Waiting<I, W> {
    /// Whether its caller has not gone away.
    pub fn is_there(&self) -> bool {
        !self.done.is_closed()
    }
}

impl<I, W> Queue<I, W> {
    pub fn new(most: usize, key: Option<fn(&I) -> u64>) -> Self {
        Self { waiting: Vec::new(), bytes: 0, most, key, writers: 0, written: HashSet::new(), taken_at: Instant::now(), taken: 0 }
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// When the last group was taken.
    pub fn taken_at(&self) -> Instant {
        self.taken_at
    }

    /// Adds an item. Returns `false` if there is no room for it.
    pub fn add(&mut self, item: I, size: usize, done: Done<W>) -> bool {
        if !self.has_room(size) {
            // Who has gone away makes room.
            self.waiting.retain(Waiting::is_there);
            self.bytes = self.waiting.iter().map(|waiting| waiting.size).sum();
            if !self.has_room(size) {
                return false;
            }
        }
        self.bytes += size;
        self.waiting.push(Waiting { item, size, since: Instant::now(), done });
        true
    }

    fn has_room(&self, size: usize) -> bool {
        self.waiting.len() < MAX_WAITING && self.bytes + size <= MAX_WAITING_BYTES
    }

    /// Whether a writer has to be started. It counts as running from now on.
    pub fn wants_writer(&mut self) -> bool {
        let starts = match self.writers {
            0 => true,
            1 => self.key.is_some() && self.waiting.len() >= ENOUGH_FOR_TWO,
            _ => false,
        };
        self.writers += usize::from(starts);
        starts
    }

    /// Whether items come together, so that further ones may be about to arrive. One that comes alone, after another one that did, need not wait
    /// for others.
    pub fn gathers(&self) -> bool {
        self.key.is_some() && (self.taken > 1 || self.waiting.len() > 1)
    }

    /// When the item that has waited longest has waited for too long; if none waits, when one that comes now would have.
    pub fn late_at(&self) -> Instant {
        self.waiting.first().map_or_else(Instant::now, |waiting| waiting.since) + PATIENCE
    }

    /// Takes the items that have waited for too long.
    pub fn take_late(&mut self) -> Vec<Waiting<I, W>> {
        let late = self.waiting.iter().take_while(|waiting| waiting.since.elapsed() >= PATIENCE).count();
        let late: Vec<_> = self.waiting.drain(..late).collect();
        self.bytes -= late.iter().map(|waiting| waiting.size).sum::<usize>();
        late
    }

    /// The items that have waited longest and whose callers are there; none with the key of an item that is being written. If there are
    /// none, the writer ends: the other one checks the queue again.
    pub fn next_group(&mut self) -> Option<Vec<Waiting<I, W>>> {
        let (mut group, mut size) = (Vec::new(), 0);
        // Each round takes as many as are missing; most often, all callers are there, and one is enough.
        while group.len() < self.most {
            let next = self.take(self.most - group.len(), &mut size);
            if next.is_empty() {
                break;
            }
            self.bytes -= next.iter().map(|waiting| waiting.size).sum::<usize>();
            group.extend(next.into_iter().filter(Waiting::is_there));
        }
        if group.is_empty() {
            self.writers -= 1;
            return None;
        }
        self.written.extend(keys_of(self.key, &group));
        (self.taken_at, self.taken) = (Instant::now(), group.len());
        Some(group)
    }

    /// Takes up to `missing` items that can be written. `size` is the size of the group so far, in bytes.
    fn take(&mut self, missing: usize, size: &mut usize) -> Vec<Waiting<I, W>> {
        // From the first that does not fit, nothing more does, so the order stays.
        let mut fits = |item: usize| {
            *size += item;
            *size == item || *size <= MAX_GROUP_BYTES
        };
        let Some(key) = self.key else {
            let fitting = self.waiting.iter().take(missing).take_while(|waiting| fits(waiting.size)).count();
            return self.waiting.drain(..fitting).collect();
        };
        let mut taken = 0;
        let is_next = |waiting: &mut Waiting<I, W>| {
            let is_next = taken < missing && !self.written.contains(&key(&waiting.item)) && fits(waiting.size);
            taken += usize::from(is_next);
            is_next
        };
        self.waiting.extract_if(.., is_next).collect()
    }

    /// A group has been written, whose items have these keys.
    pub fn is_written(&mut self, keys: &[u64]) {
        for key in keys {
            self.written.remove(key);
        }
    }
}

/// The keys of a group.
pub(super) fn keys_of<I, W>(key: Option<fn(&I) -> u64>, group: &[Waiting<I, W>]) -> Vec<u64> {
    key.iter().flat_map(|key| group.iter().map(|waiting| key(&waiting.item))).collect()
}
