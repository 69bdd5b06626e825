//! What a kind of record is called, and what its lists can be asked.

use crate::resources::{Filter, Resource};

/// The words of a kind of record. They are the program's own, or read once when it starts; so they can stand in statements.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// One of them, as JSON names it.
    pub singular: &'static str,
    /// Many of them, as JSON names them. In the path the words are joined by `-`.
    pub plural: &'static str,
    /// The parameters a list can be narrowed by.
    pub filters: &'static [Filter],
    /// The members of text that `query` searches.
    pub searched: &'static [&'static str],
    /// The columns they are kept in.
    pub search: &'static [&'static str],
    /// Which part of the table holds them, where several kinds share one: a column, and the word that it holds.
    pub part: Option<(&'static str, &'static str)>,
}

impl Terms {
    /// Those of a kind that is a type of its own.
    pub const fn of<R: Resource>() -> Self {
        Self { singular: R::SINGULAR, plural: R::PLURAL, filters: R::FILTERS, searched: R::SEARCH, search: R::SEARCH, part: None }
    }
}
