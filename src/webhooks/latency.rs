//! Durations as a histogram with fixed, logarithmic buckets, so that hours and endpoints can be added up and a percentile of any sum be
//! told.
//!
//! A bucket is √2 times as wide as the one before. A percentile is at most that far from the true one, and usually within a few percent,
//! because it is interpolated within its bucket.

use std::time::Duration;

/// The number of buckets. The last one begins at 32.8 s, which no attempt takes.
pub const BUCKETS: usize = 32;

/// The bucket that a duration is counted in. Bucket 0 has what took less than a millisecond, bucket `n` what took at least
/// `2^((n - 1) / 2)` milliseconds.
pub fn bucket_of(duration: Duration) -> i16 {
    let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).min(1 << 16);
    let Some(doublings) = milliseconds.checked_ilog2() else { return 0 };
    // Whether it is at least √2 times that power of two.
    let upper_half = milliseconds * milliseconds >= 1 << (2 * doublings + 1);
    let bucket = 1 + 2 * doublings + u32::from(upper_half);
    i16::try_from(bucket).unwrap_or(i16::MAX).min(BUCKETS as i16 - 1)
}

/// Where a bucket begins, in milliseconds.
pub fn begins_at(bucket: usize) -> f64 {
    if bucket == 0 { 0.0 } else { 2f64.powf((bucket as f64 - 1.0) / 2.0) }
}

/// Numbers of durations by bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram([u64; BUCKETS]);

impl Histogram {
    /// Counts `count` more durations of a bucket.
    pub fn add(&mut self, bucket: usize, count: u64) {
        self.0[bucket.min(BUCKETS - 1)] += count;
    }

    /// The number of durations in a bucket.
    pub fn count(&self, bucket: usize) -> u64 {
        self.0[bucket]
    }

    /// The duration in milliseconds that `part` of all durations do not exceed, from 0 to 1; `None` if there are none.
    pub fn quantile(&self, part: f64) -> Option<f64> {
        let total: u64 = self.0.iter().sum();
        let rank = part * total as f64;
        let mut below = 0.0;
        for (bucket, count) in self.0.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = *count as f64;
            if below + count >= rank {
                let (from, to) = (begins_at(bucket), begins_at(bucket + 1));
                return Some(from + (to - from) * ((rank - below) / count).clamp(0.0, 1.0));
            }
            below += count;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_duration_has_the_bucket_that_begins_before_it_and_ends_behind_it() {
        assert_eq!(bucket_of(Duration::from_micros(999)), 0);
        assert_eq!(bucket_of(Duration::from_secs(86_400)), 31);
        for milliseconds in 1..32_000 {
            let bucket = usize::try_from(bucket_of(Duration::from_millis(milliseconds))).unwrap();
            let exact = milliseconds as f64;
            // The bounds are powers of √2, which have no exact representation.
            assert!(begins_at(bucket) <= exact + 1e-6 && exact < begins_at(bucket + 1) + 1e-6, "{milliseconds} ms in bucket {bucket}");
        }
    }

    #[test]
    fn a_percentile_is_no_further_from_the_true_one_than_a_bucket_is_wide() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        for milliseconds in 1..=1000 {
            histogram.add(usize::try_from(bucket_of(Duration::from_millis(milliseconds))).unwrap(), 1);
        }
        for (part, exact) in [(0.5, 500.0), (0.95, 950.0), (0.99, 990.0)] {
            let told = histogram.quantile(part).unwrap();
            assert!((told / exact - 1.0).abs() < 0.05, "{part}: {told} instead of {exact}");
        }
        let mut one = Histogram::default();
        one.add(15, 7);
        assert!((begins_at(15)..=begins_at(16)).contains(&one.quantile(0.95).unwrap()));
    }

    #[test]
    fn hours_add_up() {
        let (mut both, mut other) = (Histogram::default(), Histogram::default());
        for bucket in [3, 3, 9] {
            both.add(bucket, 1);
        }
        other.add(3, 2);
        other.add(9, 1);
        assert_eq!((both, both.count(3)), (other, 2));
    }
}
