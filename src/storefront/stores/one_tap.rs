//! One-tap codes: what the texts of a store end with, so that a browser or an app fills in the code by itself.
//!
//! A browser does if the last line names the domain of its page: `@shop.example #123456` ("origin-bound one-time codes", WebOTP). An
//! Android app may read a text that contains the hash of the app ("SMS Retriever"). The hash stands above the line for browsers, which has
//! to be the last one.

/// The maximum length of the domain: with it and the hash, a text of one segment becomes one of two at most, in either alphabet, and a text of two
/// segments one of three.
pub const MAX_DOMAIN_LEN: usize = 40;
/// The length of the hash.
pub const APP_HASH_LEN: usize = 11;
/// The maximum length of a text that an Android app may read, in bytes.
const MAX_READ_BY_APP: usize = 140;

/// What the texts of a store end with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OneTap {
    pub web_otp_domain: Option<String>,
    pub android_app_hash: Option<String>,
}

impl OneTap {
    /// What is added to a text with this code. Empty if the store wants nothing.
    pub fn ending(&self, code: &str) -> String {
        let hash = self.android_app_hash.as_ref().map(|hash| format!("\n{hash}"));
        let line = self.web_otp_domain.as_ref().map(|domain| format!("\n@{domain} #{code}"));
        let lines = [hash, line].into_iter().flatten().collect::<String>();
        if lines.is_empty() { lines } else { format!("\n{lines}") }
    }

    /// How many bytes a text may have without its ending, if an app is to read it.
    pub fn room(&self, ending: &str) -> Option<usize> {
        self.android_app_hash.as_ref().map(|_| MAX_READ_BY_APP.saturating_sub(ending.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_for_browsers_is_the_last_one() {
        let one_tap = |domain: Option<&str>, hash: Option<&str>| OneTap {
            web_otp_domain: domain.map(str::to_owned),
            android_app_hash: hash.map(str::to_owned),
        };
        let (domain, hash) = (Some("shop.example"), Some("FA+9qCX9VSu"));
        assert_eq!(one_tap(None, None).ending("012345"), "");
        assert_eq!(one_tap(domain, None).ending("012345"), "\n\n@shop.example #012345");
        assert_eq!(one_tap(None, hash).ending("012345"), "\n\nFA+9qCX9VSu");
        assert_eq!(one_tap(domain, hash).ending("012345"), "\n\nFA+9qCX9VSu\n@shop.example #012345");
        assert_eq!((one_tap(domain, None).room("…"), one_tap(None, hash).room("\n\nFA+9qCX9VSu")), (None, Some(127)));
    }
}
