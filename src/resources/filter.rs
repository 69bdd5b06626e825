//! `<column>=value`: the parameters a list can be narrowed by.

use std::str::FromStr;

use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use crate::kernel::ids::{AnyId, TypedId, read_id};

/// A parameter of a list that a column must equal.
#[derive(Clone, Copy, Debug)]
pub struct Filter {
    /// The parameter.
    pub(super) name: &'static str,
    /// The column it is compared with.
    pub(super) column: &'static str,
    /// What a value must be, for the refusal of one that is not.
    pub(super) expected: &'static str,
    form: Form,
}

/// What the values of a parameter look like.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// Whatever this understands.
    Understood(fn(&str) -> Option<Operand>),
    /// An id with this prefix, in any of its forms, which is kept in the form that answers show.
    ShownId(&'static str),
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
        Self::understood(name, "text", |text| Some(Operand::Text(text.to_owned())))
    }

    /// A text that is one of the words `T` knows.
    pub const fn word<T: FromStr>(name: &'static str) -> Self {
        Self::understood(name, "one of its known words", |text| text.parse::<T>().ok().map(|_| Operand::Text(text.to_owned())))
    }

    /// The id of a record, as UUID or TypeID.
    pub const fn id<I: TypedId>(name: &'static str) -> Self {
        Self::understood(name, "the id of a record", |text| text.parse::<I>().ok().map(|id| Operand::Id(id.into())))
    }

    /// A number.
    pub const fn number(name: &'static str) -> Self {
        Self::understood(name, "a number", |text| text.parse().ok().filter(|number: &f64| number.is_finite()).map(Operand::Number))
    }

    /// The id of a record of any kind, as UUID or TypeID.
    pub const fn any_id(name: &'static str) -> Self {
        Self::understood(name, "the id of a record", |text| text.parse::<AnyId>().ok().map(|id| Operand::Id(id.uuid())))
    }

    /// `true` or `false`.
    pub const fn boolean(name: &'static str) -> Self {
        Self::understood(name, "true or false", |text| text.parse().ok().map(Operand::Boolean))
    }

    /// The id of a record with this prefix, as UUID or TypeID, where the column holds it as text.
    pub const fn shown_id(name: &'static str, prefix: &'static str) -> Self {
        Self { name, column: name, expected: "the id of a record", form: Form::ShownId(prefix) }
    }

    const fn understood(name: &'static str, expected: &'static str, read: fn(&str) -> Option<Operand>) -> Self {
        Self { name, column: name, expected, form: Form::Understood(read) }
    }

    /// Compared with a column that is not named like the parameter.
    pub const fn on(self, column: &'static str) -> Self {
        Self { column, ..self }
    }

    /// Understands a value, or does not.
    pub(super) fn read(&self, text: &str) -> Option<Operand> {
        match self.form {
            Form::Understood(read) => read(text),
            Form::ShownId(prefix) => read_id(prefix, text).map(|(_, shown)| Operand::Text(shown)),
        }
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
