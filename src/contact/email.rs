//! Email addresses, normalized to one key per address.

use email_address::{EmailAddress as Checked, Options};
use idna::AsciiDenyList;

/// The maximum length of an address in SMTP, in bytes.
const MAX_LEN: usize = 254;

/// A syntactically valid address: the local part as entered, the domain in lower case and ASCII (IDNA).
#[derive(Clone, Debug, serde::Deserialize, sqlx::Type)]
#[serde(try_from = "String")]
#[sqlx(transparent)]
pub struct EmailAddress(String);

/// The text is not an email address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This is not a valid email address.")]
pub struct InvalidEmailAddress;

impl EmailAddress {
    /// Parses an address as people enter it.
    pub fn parse(text: &str) -> Result<Self, InvalidEmailAddress> {
        let (local, domain) = text.trim().rsplit_once('@').ok_or(InvalidEmailAddress)?;
        // A local part beyond ASCII has several spellings for one mailbox, and few servers accept it.
        if !local.is_ascii() {
            return Err(InvalidEmailAddress);
        }
        let domain = idna::domain_to_ascii_cow(domain.as_bytes(), AsciiDenyList::STD3).map_err(|_| InvalidEmailAddress)?;
        let address = format!("{local}@{domain}");
        let options = Options::default().without_display_text().without_domain_literal().with_required_tld();
        if address.len() > MAX_LEN || local.contains('"') {
            return Err(InvalidEmailAddress);
        }
        Checked::parse_with_options(&address, options).map_err(|_| InvalidEmailAddress)?;
        // No top-level domain is a number; such a domain is the address of a machine, or nothing.
        if domain.rsplit('.').next().is_none_or(|last| last.bytes().all(|byte| byte.is_ascii_digit())) {
            return Err(InvalidEmailAddress);
        }
        Ok(Self(address))
    }

    /// The address as it is shown and mailed to.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key that addresses are compared by: the whole address in lower case.
    pub fn key(&self) -> String {
        self.0.to_ascii_lowercase()
    }

    /// The address for who is not known to own it: the first letter and the domain, enough to recognize it.
    pub fn masked(&self) -> String {
        let (local, domain) = self.0.rsplit_once('@').expect("a valid address contains an @");
        format!("{}•••@{domain}", local.get(..1).unwrap_or_default())
    }

    /// The key of the mailbox behind the address: the key of the address without the suffix of the local part that begins with `+`.
    /// Most servers deliver to the same mailbox whatever the suffix is.
    pub fn mailbox(&self) -> String {
        let key = self.key();
        let (local, domain) = key.rsplit_once('@').expect("a valid address contains an @");
        let (owner, _) = local.split_once('+').unwrap_or((local, ""));
        format!("{owner}@{domain}")
    }
}

impl PartialEq for EmailAddress {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}
impl Eq for EmailAddress {}

impl std::str::FromStr for EmailAddress {
    type Err = InvalidEmailAddress;

    fn from_str(typed: &str) -> Result<Self, InvalidEmailAddress> {
        Self::parse(typed)
    }
}

impl TryFrom<String> for EmailAddress {
    type Error = InvalidEmailAddress;

    fn try_from(typed: String) -> Result<Self, InvalidEmailAddress> {
        Self::parse(&typed)
    }
}

impl From<EmailAddress> for String {
    fn from(parsed: EmailAddress) -> Self {
        parsed.0
    }
}

impl std::fmt::Display for EmailAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_one_mailbox_is_one_key() {
        for (spelling, key) in [
            (" Ada@Example.COM ", "ada@example.com"),
            ("ada@bücher.example", "ada@xn--bcher-kva.example"),
            ("ada@BÜCHER.example", "ada@xn--bcher-kva.example"),
            ("ada@EXAMPLE。com", "ada@example.com"),
            ("a+b@example.com", "a+b@example.com"),
        ] {
            assert_eq!(EmailAddress::parse(spelling).unwrap().key(), key, "{spelling:?}");
        }
    }

    #[test]
    fn what_follows_a_plus_leads_to_the_same_mailbox() {
        for spelling in ["ada@example.com", "Ada+shop@Example.com", "ada+a+b@example。com", "ada+@example.com"] {
            assert_eq!(EmailAddress::parse(spelling).unwrap().mailbox(), "ada@example.com", "{spelling:?}");
        }
    }

    #[test]
    fn an_address_has_254_bytes_at_most() {
        let domain = format!("{}.{}.{}.example", "a".repeat(63), "b".repeat(63), "c".repeat(53));
        let longest = format!("{}@{domain}", "d".repeat(254 - 1 - domain.len()));
        assert_eq!(longest.len(), 254);
        assert!(EmailAddress::parse(&longest).is_ok());
        assert!(EmailAddress::parse(&format!("d{longest}")).is_err());
    }

    #[test]
    fn invalid_addresses_are_refused() {
        let long = format!("{}@example.com", "a".repeat(250));
        for text in [
            "",
            "@",
            "ada",
            "ada@",
            "@example.com",
            "ada@localhost",
            "ada@[127.0.0.1]",
            "ada@[IPv6:2001:db8::1]",
            "ada@127.0.0.1",
            "ada@123.456",
            "ada@example.123",
            "ada@１２７.0.0.1",
            "ada@127.1",
            "Ada <ada@example.com>",
            "a b@example.com",
            "ada@example.com\r\nBcc: eve@example.com",
            "ada\r\n@example.com",
            "ada\u{200b}@example.com",
            "ada@exam ple.com",
            "\"a b\"@example.com",
            "ada@example..com",
            &long,
        ] {
            assert!(EmailAddress::parse(text).is_err(), "{text:?}");
        }
    }
}
