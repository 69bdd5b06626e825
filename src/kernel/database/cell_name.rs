//! What a cell is called.

use std::fmt;
use std::str::FromStr;

use crate::kernel::crypto::sha256;

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

    /// Where the numbers begin that clients of this cell hold, so that no other cell gives the same ones and a company can take its own along.
    /// `None`: they begin with 1, in the only cell of most deployments.
    #[must_use]
    pub fn first_number(&self) -> Option<i64> {
        let digest = sha256(&self.0);
        let place = digest[..8].try_into().map(u64::from_be_bytes).expect("a digest has 32 bytes") >> 23;
        // 2⁴⁰ places with room for four million numbers each. A cell that needs more goes on into places that are hardly ever taken.
        (*self != Self::main()).then_some(i64::try_from((place & ((1 << 40) - 1)) << 22).expect("it has 62 bits") + 1)
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
    fn cells_give_different_numbers() {
        assert_eq!(CellName::main().first_number(), None);
        let mut places: Vec<_> =
            (0..1_000).map(|number| format!("cell_{number}").parse::<CellName>().unwrap().first_number().unwrap()).collect();
        places.sort_unstable();
        assert!(places[0] > 0 && places.windows(2).all(|pair| pair[1] - pair[0] >= 1 << 22), "{places:?}");
    }

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
