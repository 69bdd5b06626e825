//! Randomness: the only place that asks the system for random bytes.

use rand::TryRng;
use rand::rngs::SysRng;
use secrecy::SecretString;

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// `N` bytes from the system's random source.
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SysRng.try_fill_bytes(&mut bytes).expect("the program cannot run safely without random bytes");
    bytes
}

/// `len` characters drawn uniformly from `alphabet` (at most 256 symbols).
fn random_text(alphabet: &[u8], len: usize) -> String {
    // Bytes past the last whole multiple of the alphabet's length are rejected; otherwise its first symbols would be more likely.
    let fair = 256 - 256 % alphabet.len();
    let mut text = String::with_capacity(len);
    while text.len() < len {
        for byte in random_bytes::<64>() {
            if usize::from(byte) < fair && text.len() < len {
                text.push(char::from(alphabet[usize::from(byte) % alphabet.len()]));
            }
        }
    }
    text
}

/// `len` base62 characters, of almost six bits each.
pub fn random_base62(len: usize) -> String {
    random_text(BASE62, len)
}

/// `BYTES` random bytes, in lower-case hex digits.
pub fn random_hex<const BYTES: usize>() -> String {
    hex::encode(random_bytes::<BYTES>())
}

/// `len` decimal digits, leading zeros allowed.
pub fn random_digits(len: usize) -> SecretString {
    random_text(b"0123456789", len).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    #[test]
    fn random_texts_have_their_length_and_alphabet() {
        assert!(random_base62(40).bytes().all(|byte| BASE62.contains(&byte)));
        assert_eq!(random_base62(40).len(), 40);
        assert_eq!(random_hex::<16>().len(), 32);
        let code = random_digits(6);
        assert!(code.expose_secret().len() == 6 && code.expose_secret().bytes().all(|byte| byte.is_ascii_digit()));
    }

    #[test]
    fn every_digit_of_a_code_is_as_likely_as_any_other_the_first_one_too() {
        let codes: Vec<_> = (0..10_000).map(|_| random_digits(6)).collect();
        for place in 0..6 {
            for digit in b'0'..=b'9' {
                let often = codes.iter().filter(|code| code.expose_secret().as_bytes()[place] == digit).count();
                // The expected count is 1000; the tolerance is seven standard deviations of 30.
                assert!((790..=1_210).contains(&often), "{often} times {digit} at {place}");
            }
        }
        let mut different: Vec<_> = codes.iter().map(|code| code.expose_secret().to_owned()).collect();
        different.sort_unstable();
        different.dedup();
        assert!(different.len() > 9_800, "about fifty meet by chance");
    }
}
