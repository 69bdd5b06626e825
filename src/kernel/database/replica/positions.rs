//! How far a standby is: which of the moments at which the primary was asked it has reached.
//!
//! Only this instance's own clock is involved, the monotonic one. What was acknowledged before the primary was asked how far it has written is at
//! or before the place that it names, so whoever has reached that place has all of it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A place in the write-ahead log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The history that it belongs to, of which every promotion begins another one, as eight hexadecimal digits. A standby that was ahead of the
    /// one that was promoted has a history of its own, in which the same numbers mean something else.
    pub timeline: String,
    /// The number of bytes before it.
    pub bytes: i64,
}

/// Where the primary was lately.
#[derive(Debug)]
pub struct Positions {
    told: VecDeque<(Instant, Position)>,
    /// What was told longer ago is forgotten.
    kept: Duration,
}

impl Positions {
    /// None yet.
    pub fn new(kept: Duration) -> Self {
        Self { told: VecDeque::new(), kept }
    }

    /// The primary, when it was asked at this moment, had written up to here.
    pub fn note(&mut self, asked: Instant, position: Position) {
        self.told.push_back((asked, position));
        while self.told.front().is_some_and(|(then, _)| *then + self.kept < asked) {
            self.told.pop_front();
        }
    }

    /// Whoever has reached this place has everything that was acknowledged before the returned moment; `None` if that was too long ago.
    pub fn covered_by(&self, reached: &Position) -> Option<Instant> {
        let has = |told: &Position| told.timeline == reached.timeline && told.bytes <= reached.bytes;
        self.told.iter().rev().find(|(_, told)| has(told)).map(|(asked, _)| *asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(timeline: &str, bytes: i64) -> Position {
        Position { timeline: timeline.to_owned(), bytes }
    }

    #[test]
    fn a_standby_has_what_was_written_before_the_last_place_that_it_has_reached() {
        let (mut positions, begin) = (Positions::new(5 * SECOND), Instant::now());
        for second in 0..4 {
            positions.note(begin + second * SECOND, at("1", 100 * i64::from(second)));
        }
        assert_eq!(positions.covered_by(&at("1", 250)), Some(begin + 2 * SECOND));
        assert_eq!(positions.covered_by(&at("1", 300)), Some(begin + 3 * SECOND));
        assert_eq!(positions.covered_by(&at("1", -1)), None);
    }

    #[test]
    fn while_nothing_is_written_a_standby_stays_up_to_date() {
        let (mut positions, begin) = (Positions::new(5 * SECOND), Instant::now());
        for second in 0..60 {
            positions.note(begin + second * SECOND, at("1", 100));
        }
        assert_eq!(positions.covered_by(&at("1", 100)), Some(begin + 59 * SECOND));
        assert_eq!(positions.told.len(), 6);
    }

    #[test]
    fn what_is_too_far_behind_covers_nothing() {
        let (mut positions, begin) = (Positions::new(5 * SECOND), Instant::now());
        positions.note(begin, at("1", 100));
        positions.note(begin + 6 * SECOND, at("1", 200));
        assert_eq!(positions.covered_by(&at("1", 150)), None);
    }

    #[test]
    fn a_standby_with_another_history_is_not_taken_for_one_that_is_ahead() {
        let (mut positions, begin) = (Positions::new(5 * SECOND), Instant::now());
        positions.note(begin, at("2", 100));
        assert_eq!(positions.covered_by(&at("1", 150)), None);
        assert_eq!(positions.covered_by(&at("2", 150)), Some(begin));
    }
}
