//! The formats of the values that lists can be filtered by.

use serde_json::{Value, json};
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use crate::kernel::ids::{AnyId, TypedId, read_id};

/// The format of a filter's values.
#[derive(Clone, Copy, Debug)]
pub enum FilterForm {
    /// The name of the format and the function that parses it.
    Understood(&'static str, fn(&str) -> Option<Operand>),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// An id with this prefix, in any of its forms. The column stores it as text, in the form that responses show.
    ShownId(&'static str),
}

/// A parsed filter value.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// Text, compared exactly.
    Text(String),
    /// The UUID of an id that was given in any of its forms.
    Id(Uuid),
    /// A finite number.
    Number(f64),
    /// A boolean.
    Boolean(bool),
}

impl FilterForm {
    /// Any text.
    pub const TEXT: Self = Self::Understood("text", |text| Some(Operand::Text(text.to_owned())));

    /// A finite number.
    pub const NUMBER: Self =
        Self::Understood("a number", |text| text.parse().ok().filter(|number: &f64| number.is_finite()).map(Operand::Number));

    /// `true` or `false`.
    pub const BOOLEAN: Self = Self::Understood("true or false", |text| text.parse().ok().map(Operand::Boolean));

    /// The id of a record, as UUID or TypeID.
    pub const fn id<I: TypedId>() -> Self {
        Self::Understood("the id of a record", |text| text.parse::<I>().ok().map(|id| Operand::Id(id.into())))
    }

    /// The id of a record of any kind, as UUID or TypeID.
    pub const ANY_ID: Self = Self::Understood("the id of a record", |text| text.parse::<AnyId>().ok().map(|id| Operand::Id(id.uuid())));

    /// Parses a value; `None` if it is invalid.
    pub fn read(&self, text: &str) -> Option<Operand> {
        match *self {
            Self::Understood(_, read) => read(text),
            Self::OneOf(words) => words.contains(&text).then(|| Operand::Text(text.to_owned())),
            Self::ShownId(prefix) => read_id(prefix, text).map(|(_, shown)| Operand::Text(shown)),
        }
    }

    /// What a value must be, for the error message.
    pub fn expected(&self) -> String {
        match *self {
            Self::Understood(expected, _) => expected.to_owned(),
            Self::OneOf(words) => format!("one of {}", words.join(", ")),
            Self::ShownId(_) => "the id of a record".to_owned(),
        }
    }

    /// The JSON Schema of a value.
    pub fn schema(&self) -> Value {
        match *self {
            Self::OneOf(words) => json!({ "type": "string", "enum": words }),
            Self::Understood(..) | Self::ShownId(_) => json!({ "type": "string" }),
        }
    }
}

impl Operand {
    /// Binds the value to a statement.
    pub fn push_to(&self, sql: &mut QueryBuilder<Postgres>) {
        match self {
            Self::Text(text) => sql.push_bind(text),
            Self::Id(id) => sql.push_bind(id),
            Self::Number(number) => sql.push_bind(number),
            Self::Boolean(yes) => sql.push_bind(yes),
        };
    }
}
