//! Who has written lately, and must find it in what they read.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use uuid::Uuid;

/// How many writers are told apart. If there are more, all count as having written at that moment.
const MAX_WRITERS: usize = 10_000;

/// When each writer has written last, by this instance.
#[derive(Debug)]
pub struct OwnWrites {
    last: HashMap<Uuid, Instant>,
    /// When everybody counts as having written.
    of_all: Option<Instant>,
    /// What is longer ago need not be known: nothing so old is read.
    kept: Duration,
}

impl OwnWrites {
    /// None yet.
    pub fn new(kept: Duration) -> Self {
        Self { last: HashMap::new(), of_all: None, kept }
    }

    /// What the writer has written was acknowledged by the database before this moment.
    pub fn note(&mut self, writer: Uuid, now: Instant) {
        if self.last.len() >= MAX_WRITERS && !self.last.contains_key(&writer) {
            self.last.clear();
            self.of_all = Some(now);
        }
        self.last.insert(writer, now);
    }

    /// When the reader has written last; `None` if that is long ago.
    pub fn last_of(&self, reader: Uuid) -> Option<Instant> {
        self.last.get(&reader).copied().max(self.of_all)
    }

    /// Forgets what is long ago.
    pub fn sweep(&mut self, now: Instant) {
        self.last.retain(|_, then| now.duration_since(*then) <= self.kept);
        self.of_all.take_if(|then| now.duration_since(*then) > self.kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_written_is_known_until_it_is_long_ago() {
        let (kept, begin) = (Duration::from_secs(5), Instant::now());
        let (mut writes, [ann, ben]) = (OwnWrites::new(kept), [1, 2].map(Uuid::from_u128));
        writes.note(ann, begin);
        writes.sweep(begin + kept);
        assert_eq!((writes.last_of(ann), writes.last_of(ben)), (Some(begin), None));
        writes.sweep(begin + kept + Duration::from_millis(1));
        assert_eq!(writes.last_of(ann), None);
    }

    #[test]
    fn if_there_are_too_many_writers_nobody_misses_anything() {
        let (kept, begin) = (Duration::from_secs(5), Instant::now());
        let mut writes = OwnWrites::new(kept);
        let later = begin + Duration::from_secs(1);
        for writer in 0..MAX_WRITERS as u128 {
            writes.note(Uuid::from_u128(writer), begin);
        }
        writes.note(Uuid::max(), later);
        assert_eq!(writes.last.len(), 1);
        assert_eq!(writes.last_of(Uuid::from_u128(7)), Some(later));
        writes.sweep(later + kept + kept);
        assert_eq!(writes.last_of(Uuid::from_u128(7)), None);
    }
}
