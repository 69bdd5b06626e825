//! The operations on records, and where they are found.

/// The operations on records other than list and find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `POST /<plural>`
    Create,
    /// `PUT /<plural>/{uuid}`
    Change,
    /// `DELETE /<plural>/{uuid}`
    Delete,
}

impl Operation {
    /// All operations; with the two `GET` routes they make five routes.
    pub const ALL: &'static [Self] = &[Self::Create, Self::Change, Self::Delete];
}

/// The plural name as it appears in paths.
pub fn plural_path(plural: &str) -> String {
    plural.replace('_', "-")
}
