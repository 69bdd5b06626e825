//! List filters: `<column>=value`.

use serde_json::{Value, json};
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use crate::kernel::ids::{AnyId, TypedId, read_id};
use crate::resources::TextEnum;

/// A query parameter of a list that a column must equal.
#[derive(Clone, Copy, Debug)]
pub struct Filter {
    /// The name of the query parameter.
    pub(super) name: &'static str,
    /// The column it is compared with.
    pub(super) column: &'static str,
    form: Form,
}

/// The format of a filter's values.
#[derive(Clone, Copy, Debug)]
enum Form {
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
    /// An id.
    Id(Uuid),
    /// A number.
    Number(f64),
    /// A boolean.
    Boolean(bool),
}

impl Filter {
    /// Any text.
    pub const fn text(name: &'static str) -> Self {
        Self::understood(name, "text", |text| Some(Operand::Text(text.to_owned())))
    }

    /// One of the words of the enum `T`.
    pub const fn text_enum<T: TextEnum>(name: &'static str) -> Self {
        Self::one_of(name, T::VARIANTS)
    }

    /// One of these words.
    pub const fn one_of(name: &'static str, words: &'static [&'static str]) -> Self {
        Self { name, column: name, form: Form::OneOf(words) }
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

    /// The id of a record with this prefix, as UUID or TypeID, for a column that stores it as text.
    pub const fn shown_id(name: &'static str, prefix: &'static str) -> Self {
        Self { name, column: name, form: Form::ShownId(prefix) }
    }

    const fn understood(name: &'static str, expected: &'static str, read: fn(&str) -> Option<Operand>) -> Self {
        Self { name, column: name, form: Form::Understood(expected, read) }
    }

    /// Compares with a column whose name differs from the parameter's.
    pub const fn on(self, column: &'static str) -> Self {
        Self { column, ..self }
    }

    /// Parses a value; `None` if it is invalid.
    pub(super) fn read(&self, text: &str) -> Option<Operand> {
        match self.form {
            Form::Understood(_, read) => read(text),
            Form::OneOf(words) => words.contains(&text).then(|| Operand::Text(text.to_owned())),
            Form::ShownId(prefix) => read_id(prefix, text).map(|(_, shown)| Operand::Text(shown)),
        }
    }

    /// What a value must be, for the error message.
    pub(super) fn expected(&self) -> String {
        match self.form {
            Form::Understood(expected, _) => expected.to_owned(),
            Form::OneOf(words) => format!("one of {}", words.join(", ")),
            Form::ShownId(_) => "the id of a record".to_owned(),
        }
    }

    /// The JSON Schema of a value.
    pub(super) fn schema(&self) -> Value {
        match self.form {
            Form::OneOf(words) => json!({ "type": "string", "enum": words }),
            Form::Understood(..) | Form::ShownId(_) => json!({ "type": "string" }),
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
