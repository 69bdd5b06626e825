//! The names of a kind of record and the parameters of its lists.

use crate::resources::{Filter, Resource};

/// The names of a kind of record. They are constants of the program or read once at startup, so they may be part of SQL statements.
#[derive(Clone, Copy, Debug)]
pub struct ResourceDescriptor {
    /// The singular name in JSON.
    pub singular: &'static str,
    /// The plural name in JSON. In paths `-` replaces `_`.
    pub plural: &'static str,
    /// The query parameters that a list can be filtered by.
    pub filters: &'static [Filter],
    /// The text fields that `query` searches.
    pub search_fields: &'static [&'static str],
    /// The columns of these fields.
    pub search_columns: &'static [&'static str],
    /// The column and value that select this kind's rows, if several kinds share the table.
    pub discriminator: Option<(&'static str, &'static str)>,
}

impl ResourceDescriptor {
    /// The descriptor of a type that serves a single kind.
    pub const fn of<R: Resource>() -> Self {
        Self {
            singular: R::SINGULAR,
            plural: R::PLURAL,
            filters: R::FILTERED,
            search_fields: R::SEARCHED,
            search_columns: R::SEARCHED,
            discriminator: None,
        }
    }

    /// Whether lists can be filtered by the parameter `name`.
    pub fn has_filter(&self, name: &str) -> bool {
        self.filters.iter().any(|filter| filter.name == name)
    }
}
