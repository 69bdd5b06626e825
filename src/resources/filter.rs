//! List filters: `<column>=value`.

use serde_json::{Value, json};
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use crate::kernel::ids::{AnyId, TypedId, read_id};
use crate::resources::{FieldType, TextEnum};

/// A query parameter of a list that a column must equal.
#[derive(Clone, Copy, Debug)]
pub struct Filter {
    /// The name of the query parameter.
    pub(super) name: &'static str,
    /// The column it is compared with.
    pub(super) column: &'static str,
    form: FilterForm,
}

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
    /// An id.
    Id(Uuid),
    /// A number.
    Number(f64),
    /// A boolean.
    Boolean(bool),
}

impl FilterForm {
    /// Any text.
    pub const TEXT: Self = Self::Understood("text", |text| Some(Operand::Text(text.to_owned())));

    /// A number.
    pub const NUMBER: Self =
        Self::Understood("a number", |text| text.parse().ok().filter(|number: &f64| number.is_finite()).map(Operand::Number));

    /// `true` or `false`.
    pub const BOOLEAN: Self = Self::Understood("true or false", |text| text.parse().ok().map(Operand::Boolean));

    /// The id of a record, as UUID or TypeID.
    pub const fn id<I: TypedId>() -> Self {
        Self::Understood("the id of a record", |text| text.parse::<I>().ok().map(|id| Operand::Id(id.into())))
    }
}

impl Filter {
    /// The values of a field of this type.
    pub const fn of<T: FieldType>(name: &'static str) -> Self {
        Self::new(name, T::FILTER)
    }

    /// Any text.
    pub const fn text(name: &'static str) -> Self {
        Self::new(name, FilterForm::TEXT)
    }

    /// One of the words of the enum `T`.
    pub const fn text_enum<T: TextEnum>(name: &'static str) -> Self {
        Self::one_of(name, T::VARIANTS)
    }

    /// One of these words.
    pub const fn one_of(name: &'static str, words: &'static [&'static str]) -> Self {
        Self::new(name, FilterForm::OneOf(words))
    }

    /// The id of a record, as UUID or TypeID.
    pub const fn id<I: TypedId>(name: &'static str) -> Self {
        Self::new(name, FilterForm::id::<I>())
    }

    /// A number.
    pub const fn number(name: &'static str) -> Self {
        Self::new(name, FilterForm::NUMBER)
    }

    /// The id of a record of any kind, as UUID or TypeID.
    pub const fn any_id(name: &'static str) -> Self {
        let read = |text: &str| text.parse::<AnyId>().ok().map(|id| Operand::Id(id.uuid()));
        Self::new(name, FilterForm::Understood("the id of a record", read))
    }

    /// `true` or `false`.
    pub const fn boolean(name: &'static str) -> Self {
        Self::new(name, FilterForm::BOOLEAN)
    }

    /// The id of a record with this prefix, as UUID or TypeID, for a column that stores it as text.
    pub const fn shown_id(name: &'static str, prefix: &'static str) -> Self {
        Self::new(name, FilterForm::ShownId(prefix))
    }

    const fn new(name: &'static str, form: FilterForm) -> Self {
        Self { name, column: name, form }
    }

    /// Compares with a column whose name differs from the parameter's.
    pub const fn on(self, column: &'static str) -> Self {
        Self { column, ..self }
    }

    /// Parses a value; `None` if it is invalid.
    pub(super) fn read(&self, text: &str) -> Option<Operand> {
        match self.form {
            FilterForm::Understood(_, read) => read(text),
            FilterForm::OneOf(words) => words.contains(&text).then(|| Operand::Text(text.to_owned())),
            FilterForm::ShownId(prefix) => read_id(prefix, text).map(|(_, shown)| Operand::Text(shown)),
        }
    }

    /// What a value must be, for the error message.
    pub(super) fn expected(&self) -> String {
        match self.form {
            FilterForm::Understood(expected, _) => expected.to_owned(),
            FilterForm::OneOf(words) => format!("one of {}", words.join(", ")),
            FilterForm::ShownId(_) => "the id of a record".to_owned(),
        }
    }

    /// The JSON Schema of a value.
    pub(super) fn schema(&self) -> Value {
        match self.form {
            FilterForm::OneOf(words) => json!({ "type": "string", "enum": words }),
            FilterForm::Understood(..) | FilterForm::ShownId(_) => json!({ "type": "string" }),
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
