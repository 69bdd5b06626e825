//! What a cell is called.

use std::fmt;
use std::str::FromStr;

/// The maximum length of a name.
const MAX_LEN: usize = 32;

/// The name of a cell: a lower-case letter, then lower-case letters, digits and underscores, 32 characters at most.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct CellName(String);

impl CellName {
    /// The cell of `database.url`.
    #[must_use]
    pub fn main() -> Self {
        Self("main".to_owned())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CellName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for CellName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let is_name = text.len() <= MAX_LEN && text.starts_with(|first: char| first.is_ascii_lowercase()) && text.bytes().all(is_inner);
        if is_name {
            Ok(Self(text.to_owned()))
        } else {
            Err("the name of a cell has a lower-case letter and then lower-case letters, digits and underscores, 32 at most")
        }
    }
}

impl TryFrom<String> for CellName {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_stand_in_a_variable_of_the_environment() {
        for good in ["main", "b", "eu_west_1"] {
            assert!(good.parse::<CellName>().is_ok(), "{good}");
        }
        for bad in ["", "B", "1a", "_a", "a-b", "ä", "a b", &"a".repeat(33)] {
            assert!(bad.parse::<CellName>().is_err(), "{bad}");
        }
    }
}
