//! What was changed since when: how a remembered row is known to be out of date without being looked for.

use std::sync::atomic::{AtomicU64, Ordering};

/// Rows that share a place are out of date together, which costs one of them a needless look.
const PLACES: usize = 4_096;

/// A moment between two changes of this instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::storefront) struct Epoch(u64);

/// Notes every change in the place of its row, in the same time for one remembered row and for thousands.
#[derive(Debug)]
pub(super) struct Changes {
    /// How many changes there have been.
    count: AtomicU64,
    /// The last change of the rows of each place, and of everything at once.
    places: Box<[AtomicU64]>,
    everything: AtomicU64,
}

impl Changes {
    pub(super) fn new() -> Self {
        let places = (0..PLACES).map(|_| AtomicU64::new(0)).collect();
        Self { count: AtomicU64::new(0), places, everything: AtomicU64::new(0) }
    }

    /// To be taken before a row is read.
    pub(super) fn epoch(&self) -> Epoch {
        Epoch(self.count.load(Ordering::SeqCst))
    }

    /// A row has changed, and whoever reads it from now on sees that.
    pub(super) fn note(&self, row: u64) {
        self.note_in(self.place(row));
    }

    /// Any row may have changed.
    pub(super) fn note_everything(&self) {
        self.note_in(&self.everything);
    }

    /// Whether a row that was read after `epoch` had begun is what it was.
    pub(super) fn none_of(&self, row: u64, epoch: Epoch) -> bool {
        self.place(row).load(Ordering::SeqCst) <= epoch.0 && self.everything.load(Ordering::SeqCst) <= epoch.0
    }

    fn note_in(&self, place: &AtomicU64) {
        let this_one = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        place.fetch_max(this_one, Ordering::SeqCst);
    }

    fn place(&self, row: u64) -> &AtomicU64 {
        &self.places[usize::try_from(row % PLACES as u64).unwrap_or_default()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_makes_what_was_read_before_it_out_of_date_and_nothing_else() {
        let changes = Changes::new();
        let before = changes.epoch();
        changes.note(7);
        let after = changes.epoch();
        assert!(!changes.none_of(7, before) && changes.none_of(7, after));
        assert!(changes.none_of(8, before), "another row is what it was");
        assert!(!changes.none_of(7 + PLACES as u64, before), "a row of the same place is looked up once too often");
        changes.note_everything();
        assert!(!changes.none_of(7, after) && !changes.none_of(8, before) && changes.none_of(8, changes.epoch()));
    }
}
