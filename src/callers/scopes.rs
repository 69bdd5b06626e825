//! The scopes of API keys.

use std::fmt;
use std::str::FromStr;

use crate::callers::Area;

/// One scope of an API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Report payment events to `POST /webhooks`.
    Callbacks,
    /// Publish events.
    Events,
    /// Read extension resources.
    Read,
    /// Change extension resources.
    Write,
    /// Everything, including API keys.
    Admin,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 5] = [Self::Callbacks, Self::Events, Self::Read, Self::Write, Self::Admin];

    /// The scope as settings and responses write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Callbacks => "callbacks",
            Self::Events => "events",
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    /// The areas in which the scope allows anything.
    pub fn areas(self) -> &'static [Area] {
        match self {
            Self::Callbacks => &[Area::Business],
            Self::Events => &[Area::Traffic],
            Self::Read | Self::Write | Self::Admin => &Area::ALL,
        }
    }
}

/// Contains the text that names no scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a scope; the scopes are callbacks, events, read, write, admin")]
pub struct InvalidScope(String);

impl FromStr for Scope {
    type Err = InvalidScope;

    fn from_str(text: &str) -> Result<Self, InvalidScope> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text).ok_or_else(|| InvalidScope(text.to_owned()))
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The scopes of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scopes(Vec<Scope>);

impl Scopes {
    /// A set of scopes; the order does not matter.
    pub fn new(scopes: impl IntoIterator<Item = Scope>) -> Self {
        Self(scopes.into_iter().collect())
    }

    /// Every scope by itself, although `admin` alone allows as much.
    pub fn all() -> Self {
        Self::new(Scope::ALL)
    }

    /// Whether a key with these scopes may do what requires `scope`; `admin` allows everything.
    pub fn allow(&self, scope: Scope) -> bool {
        self.0.contains(&scope) || self.0.contains(&Scope::Admin)
    }

    /// Each scope.
    pub fn iter(&self) -> impl Iterator<Item = Scope> {
        self.0.iter().copied()
    }

    /// The first of these scopes that a key with the scopes `other` lacks.
    pub fn first_not_in(&self, other: &Self) -> Option<Scope> {
        self.0.iter().copied().find(|scope| !other.allow(*scope))
    }

    /// The names, for storage and responses.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(Scope::to_string).collect()
    }

    /// Parses names stored by [`Scopes::names`].
    pub fn from_names(names: &[String]) -> Self {
        // Names that this version does not know are ignored and grant nothing.
        Self::new(names.iter().filter_map(|name| name.parse().ok()))
    }
}
