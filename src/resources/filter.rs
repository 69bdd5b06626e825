//! `<column>=value`: the parameters a list can be narrowed by.

use std::str::FromStr;

use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use crate::kernel::ids::{AnyId, TypedId};

/// A parameter of a list that a column must equal.
#[derive(Clone, Copy, Debug)]
pub struct Filter {
    /// The parameter.
    pub(super) name: &'static str,
    /// The column it is compared with.
    pub(super) column: &'static str,
    /// What a value must be, for the refusal of one that is not.
    pub(super) expected: &'static str,
    /// Understands a value, or does not.
    pub(super) read: fn(&str) -> Option<Operand>,
}

/// A value that was understood.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// Text, compared exactly.
    Text(String),
    /// An id.
    Id(Uuid),
    /// A number.
    Number(f64),
    /// A yes or no.
    Boolean(bool),
}

impl Filter {
    /// Any text.
    pub const fn text(name: &'static str) -> Self {
        Self { name, column: name, expected: "text", read: |text| Some(Operand::Text(text.to_owned())) }
    }

    /// A text that is one of the words `T` knows.
    pub const fn word<T: FromStr>(name: &'static str) -> Self {
        let read = |text: &str| text.parse::<T>().ok().map(|_| Operand::Text(text.to_owned()));
        Self { name, column: name, expected: "one of its known words", read }
    }

    /// The id of a record, as UUID or TypeID.
    pub const fn id<I: TypedId>(name: &'static str) -> Self {
        let read = |text: &str| text.parse::<I>().ok().map(|id| Operand::Id(id.into()));
        Self { name, column: name, expected: "the id of a record", read }
    }

    /// A number.
    pub const fn number(name: &'static str) -> Self {
        let read = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Operand::Number);
        Self { name, column: name, expected: "a number", read }
    }

    /// The id of a record of any kind, as UUID or TypeID.
    pub const fn any_id(name: &'static str) -> Self {
        let read = |text: &str| text.parse::<AnyId>().ok().map(|id| Operand::Id(id.uuid()));
        Self { name, column: name, expected: "the id of a record", read }
    }

    /// `true` or `false`.
    pub const fn boolean(name: &'static str) -> Self {
        Self { name, column: name, expected: "true or false", read: |text| text.parse().ok().map(Operand::Boolean) }
    }

    /// Compared with a column that is not named like the parameter.
    pub const fn on(self, column: &'static str) -> Self {
        Self { column, ..self }
    }
}

impl Operand {
    pub(super) fn push_to(&self, sql: &mut QueryBuilder<Postgres>) {
        match self {
            Self::Text(text) => sql.push_bind(text),
            Self::Id(id) => sql.push_bind(id),
            Self::Number(number) => sql.push_bind(number),
            Self::Boolean(yes) => sql.push_bind(yes),
        };
    }
}
