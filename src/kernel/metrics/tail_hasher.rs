//! A hash of the end of a text.

use std::hash::Hasher;

/// The bytes at the end that are read.
const TAIL: usize = 32;

/// Hashes the end of a text, and its length. What every statement and every request looks up must be found soon, and reading all of a text
/// each time would be most of the cost. Most statements and most routes end differently, and the table compares them.
#[derive(Debug, Default)]
pub struct TailHasher(u64);

impl Hasher for TailHasher {
    fn write(&mut self, bytes: &[u8]) {
        let tail = &bytes[bytes.len().saturating_sub(TAIL)..];
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        self.0 = tail.iter().fold(self.0 ^ bytes.len() as u64 ^ 0xcbf2_9ce4_8422_2325, mix);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
