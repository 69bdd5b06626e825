//! A password as it is typed: one spelling and one length, wherever a password is set or compared.

use secrecy::{ExposeSecret, SecretString};
use unicode_normalization::UnicodeNormalization;

/// The maximum number of characters, counted in the one spelling. Some hashes take the more work the longer a password is.
pub const MAX_LEN: usize = 256;

/// A password in its one spelling (NFKC): keyboards and systems write the same letters in different ways, such as `é` as one character or as two.
/// It is hashed in this spelling, and counted in it.
#[derive(Clone, Debug)]
pub struct Password(SecretString);

impl Password {
    /// Reads a password as it is typed. `None` if it is longer than any may be.
    pub fn read(typed: &SecretString) -> Option<Self> {
        let spelled: String = typed.expose_secret().nfkc().take(MAX_LEN + 1).collect();
        (spelled.chars().count() <= MAX_LEN).then(|| Self(spelled.into()))
    }

    /// The number of characters.
    pub fn length(&self) -> usize {
        self.0.expose_secret().chars().count()
    }

    /// The password in its one spelling.
    pub fn secret(&self) -> &SecretString {
        &self.0
    }

    /// The spellings that a hash may have been made of: the one spelling first, then as it is typed, composed and decomposed. Other services hash one
    /// of them, and so did Portico before there was one spelling.
    pub(super) fn spellings(&self, typed: &SecretString) -> Vec<SecretString> {
        let text = typed.expose_secret();
        let others = [typed.clone(), text.nfc().collect::<String>().into(), text.nfd().collect::<String>().into()];
        let mut spellings = vec![self.0.clone()];
        for other in others {
            if spellings.iter().all(|known| known.expose_secret() != other.expose_secret()) {
                spellings.push(other);
            }
        }
        spellings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(typed: &str) -> Option<Password> {
        Password::read(&typed.into())
    }

    #[test]
    fn a_password_is_counted_in_its_one_spelling() {
        assert_eq!(read(&"é".repeat(256)).unwrap().length(), 256);
        assert!(read(&"é".repeat(257)).is_none());
        // 303 characters as they are typed.
        let decomposed = "e\u{301}".repeat(150) + "zq7";
        assert_eq!(read(&decomposed).unwrap().length(), 153);
        assert_eq!(read(&decomposed).unwrap().secret().expose_secret(), "é".repeat(150) + "zq7");
        assert!(read(&"e\u{301}".repeat(257)).is_none());
        // One character that stands for eighteen.
        assert_eq!(read(&"\u{fdfa}".repeat(14)).unwrap().length(), 252);
        assert!(read(&"\u{fdfa}".repeat(15)).is_none());
    }

    #[test]
    fn each_spelling_is_tried_once() {
        let spellings = |typed: &str| {
            let all = read(typed).unwrap().spellings(&typed.into());
            all.iter().map(|spelling| spelling.expose_secret().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(spellings("correct horse"), ["correct horse"]);
        assert_eq!(spellings("gr\u{fc}n"), ["gr\u{fc}n", "gru\u{308}n"]);
        assert_eq!(spellings("gru\u{308}n"), ["gr\u{fc}n", "gru\u{308}n"]);
        assert_eq!(spellings("ﬁ\u{fc}u\u{308}"), ["fi\u{fc}\u{fc}", "ﬁ\u{fc}u\u{308}", "ﬁ\u{fc}\u{fc}", "ﬁu\u{308}u\u{308}"]);
    }
}
