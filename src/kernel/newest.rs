//! A page of what several sources have told, newest first.

use chrono::{DateTime, DurationRound, TimeDelta, Utc};

/// A page, and the instant before which the next one begins; `None` on the last page.
#[derive(Debug)]
pub struct Newest<T> {
    /// The entries, newest first.
    pub entries: Vec<T>,
    /// Exclusive, in whole milliseconds, as responses show instants.
    pub next: Option<DateTime<Utc>>,
}

/// Merges entries into a page of about `limit`. Each source must have told its newest `limit + 1` entries, or all if it has fewer.
///
/// The page ends between two milliseconds, because that is how instants are shown and asked for: whatever happened in the millisecond of
/// the last entry is on the page too.
pub fn newest<T>(mut entries: Vec<T>, at: impl Fn(&T) -> DateTime<Utc>, limit: usize) -> Newest<T> {
    entries.sort_by_key(|entry| std::cmp::Reverse(at(entry)));
    let Some(last) = entries.get(limit.saturating_sub(1)).map(|entry| in_milliseconds(at(entry))) else {
        return Newest { entries, next: None };
    };
    let end = entries.iter().position(|entry| at(entry) < last).unwrap_or(entries.len());
    let next = (end < entries.len()).then_some(last);
    entries.truncate(end);
    Newest { entries, next }
}

fn in_milliseconds(at: DateTime<Utc>) -> DateTime<Utc> {
    at.duration_trunc(TimeDelta::milliseconds(1)).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(micros).unwrap()
    }

    #[test]
    fn pages_end_between_two_milliseconds_and_nothing_is_left_out_or_told_twice() {
        let all: Vec<_> = [9_000, 7_400, 7_300, 7_000, 6_999, 3_000, 1_000].map(at).to_vec();
        let (mut told, mut before) = (Vec::new(), DateTime::<Utc>::MAX_UTC);
        loop {
            let rest = all.iter().copied().filter(|entry| *entry < before).rev().collect();
            let page = newest(rest, |entry| *entry, 2);
            told.extend(page.entries);
            match page.next {
                Some(next) => before = next,
                None => break,
            }
        }
        assert_eq!(told, all);
        let first = newest(all, |entry| *entry, 2);
        assert_eq!((first.entries.len(), first.next), (4, Some(at(7_000))), "the whole millisecond is on the page");
    }

    #[test]
    fn a_page_that_everything_fits_on_is_the_last() {
        assert_eq!(newest(vec![at(1), at(2)], |entry| *entry, 2).next, None);
        assert_eq!(newest(Vec::new(), |entry: &DateTime<Utc>| *entry, 2).next, None);
    }
}
