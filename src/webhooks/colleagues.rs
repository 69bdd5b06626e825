//! Which of the other workers are alive, as far as one can tell who looks at their signs of life.
//!
//! Every worker counts its *beats* in the database, and looks how far the others have come. One that has not gone on while somebody looked
//! [`LOOKS`] times in a row is dead. No clock takes part in this: whoever sets one kills nobody. A look that fails makes all others begin
//! again, because a database that is away takes nobody's beats.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::kernel::ids::WorkerId;

/// After so many looks at the same number of beats their worker is dead. With two seconds between them, one that is alive can fail to
/// write down two beats.
const LOOKS: u32 = 3;

/// What one worker knows of the others. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Colleagues(Arc<Mutex<HashMap<WorkerId, Signs>>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Signs {
    beats: i64,
    /// How often they were looked at since they became so many.
    looks: u32,
}

impl Colleagues {
    /// Notes how many beats each of them has counted.
    pub fn look(&self, beats: impl IntoIterator<Item = (WorkerId, i64)>) {
        let mut known = lock(&self.0);
        let seen = beats.into_iter().map(|(worker, beats)| {
            let before = known.get(&worker).filter(|signs| signs.beats == beats);
            (worker, Signs { beats, looks: before.map_or(0, |signs| signs.looks + 1) })
        });
        *known = seen.collect();
    }

    /// Forgets what was seen, because the others could not be looked at.
    pub fn look_away(&self) {
        lock(&self.0).clear();
    }

    /// Those that are dead, with the number of beats that they have stayed at.
    pub fn dead(&self) -> Vec<(WorkerId, i64)> {
        lock(&self.0).iter().filter(|(_, signs)| signs.looks >= LOOKS).map(|(worker, signs)| (*worker, signs.beats)).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[test]
    fn who_stays_at_the_same_beat_for_three_looks_is_dead() {
        let [silent, lively] = [(); 2].map(|()| WorkerId::new(DateTime::UNIX_EPOCH));
        let colleagues = Colleagues::default();
        for beats in 1..=3 {
            colleagues.look([(silent, 7), (lively, beats)]);
            assert_eq!(colleagues.dead(), []);
        }
        colleagues.look([(silent, 7), (lively, 3)]);
        assert_eq!(colleagues.dead(), [(silent, 7)]);
        colleagues.look([(silent, 8), (lively, 3)]);
        assert_eq!(colleagues.dead(), [], "it was only slow");
    }

    #[test]
    fn nobody_is_dead_whom_one_could_not_look_at() {
        let silent = WorkerId::new(DateTime::UNIX_EPOCH);
        let colleagues = Colleagues::default();
        for _ in 0..3 {
            colleagues.look([(silent, 7)]);
        }
        colleagues.look_away();
        for _ in 0..3 {
            colleagues.look([(silent, 7)]);
        }
        assert_eq!(colleagues.dead(), []);
        colleagues.look([]);
        colleagues.look([(silent, 7)]);
        assert_eq!(colleagues.dead(), []);
    }
}
