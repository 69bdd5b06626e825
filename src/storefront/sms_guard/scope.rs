//! What the guard pauses: as little as it can.

use crate::contact::PhoneNumber;

/// A number range, a country, or what is left of the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The numbers that differ in their last four digits only.
    Range(String),
    /// The numbers of a country (ISO 3166).
    Country(String),
    /// All countries where the store has no customers: where strangers do not use their codes.
    Store,
}

impl Scope {
    /// The scopes of a number, the smallest first.
    pub(super) fn of(number: &PhoneNumber) -> [Self; 3] {
        [Self::Range(number.range().to_owned()), Self::Country(number.country().unwrap_or_default()), Self::Store]
    }

    /// Reads it from its columns.
    pub(super) fn read(kind: &str, name: String) -> Self {
        match kind {
            "range" => Self::Range(name),
            "country" => Self::Country(name),
            _ => Self::Store,
        }
    }

    /// `range`, `country` or `store`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Range(_) => "range",
            Self::Country(_) => "country",
            Self::Store => "store",
        }
    }

    /// The range or the country; empty for the store.
    pub fn name(&self) -> &str {
        match self {
            Self::Range(name) | Self::Country(name) => name,
            Self::Store => "",
        }
    }
}

/// For operators: which texts these are.
impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Range(range) => write!(f, "the range {range}"),
            Self::Country(country) => write!(f, "the country {country}"),
            Self::Store => f.write_str("all countries where the store has no customers"),
        }
    }
}
