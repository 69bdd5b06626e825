//! The generation of tracking numbers.

use crate::kernel::crypto::random_bytes;

/// Digits and capital letters without I, L, O and U, which resemble others.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// A new random number of 12 characters out of 32 (2⁶⁰ values): collisions and guessing are practically impossible.
pub(super) fn generate() -> String {
    random_bytes::<12>().iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_can_be_read_aloud() {
        let number = generate();
        assert_eq!(number.len(), 12);
        assert!(number.bytes().all(|character| ALPHABET.contains(&character)));
        assert_ne!(number, generate());
    }
}
