//! The formats of the values that lists can be filtered by.
//!
//! A value is read as a request body reads the field, so that every spelling finds what was stored in one. What the field could not have is
//! refused: an empty list would say that there is no such record.

use jsonschema::Validator;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StringDeserializer};
use serde_json::{Number, Value, json};
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use crate::kernel::ids::{AnyId, TypedId, read_id};
use crate::resources::FieldType;

/// The word for records that have no value.
const NONE: &str = "none";

/// The format of a filter's values.
#[derive(Clone, Copy, Debug)]
pub struct FilterForm {
    values: Values,
    /// Whether records may have no value.
    may_be_missing: bool,
}

#[derive(Clone, Copy, Debug)]
enum Values {
    /// Free values: the name of their format, and the function that reads one.
    Free(&'static str, fn(&str) -> Option<Operand>),
    /// What a schema of a declared kind allows.
    Fitting(FittingValue, &'static Validator),
    /// Ids in any of their forms.
    Ids(fn(&str) -> Option<Operand>),
    /// Ids with this prefix. The column stores them as text, in the form that responses show.
    ShownIds(&'static str),
    /// These words.
    Words(&'static [&'static str]),
}

/// The type of a value that a schema is checked for.
#[derive(Clone, Copy, Debug)]
pub enum FittingValue {
    /// A text.
    Text,
    /// A number.
    Number,
}

/// A parsed filter value.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// Text, compared exactly.
    Text(String),
    /// Any of these texts.
    Texts(Vec<String>),
    /// The UUID of an id that was given in any of its forms.
    Id(Uuid),
    /// Any of these ids.
    Ids(Vec<Uuid>),
    /// A finite number.
    Number(f64),
    /// A boolean.
    Boolean(bool),
    /// No value.
    Missing,
}

impl FilterForm {
    /// A finite number.
    pub const NUMBER: Self =
        Self::understood("a number", |text| text.parse().ok().filter(|number: &f64| number.is_finite()).map(Operand::Number));

    /// `true` or `false`.
    pub const BOOLEAN: Self = Self::understood("true or false", |text| text.parse().ok().map(Operand::Boolean));

    /// The id of a record of any kind, as UUID or TypeID.
    pub const ANY_ID: Self = Self::new(Values::Ids(|text| text.parse::<AnyId>().ok().map(|id| Operand::Id(id.uuid()))));

    const fn new(values: Values) -> Self {
        Self { values, may_be_missing: false }
    }

    /// What `read` understands. `expected` says what a value must be.
    pub const fn understood(expected: &'static str, read: fn(&str) -> Option<Operand>) -> Self {
        Self::new(Values::Free(expected, read))
    }

    /// The texts of fields of the type `T`, read as a request body is. `expected` says what a value must be.
    pub const fn text<T: FieldType<Column = String>>(expected: &'static str) -> Self {
        Self::understood(expected, read_text::<T>)
    }

    /// The id of a record, as UUID or TypeID.
    pub const fn id<I: TypedId>() -> Self {
        Self::new(Values::Ids(|text| text.parse::<I>().ok().map(|id| Operand::Id(id.into()))))
    }

    /// An id with this prefix, in any of its forms, for a column that stores it as text in the form that responses show.
    pub const fn shown_id(prefix: &'static str) -> Self {
        Self::new(Values::ShownIds(prefix))
    }

    /// One of these words.
    pub const fn one_of(words: &'static [&'static str]) -> Self {
        Self::new(Values::Words(words))
    }

    /// What the schema allows that `validator` checks.
    pub const fn fitting(value: FittingValue, validator: &'static Validator) -> Self {
        Self::new(Values::Fitting(value, validator))
    }

    /// The same for a field that may have no value.
    pub const fn or_none(self) -> Self {
        Self { may_be_missing: true, ..self }
    }

    /// Reads the value of a parameter; `None` if the field could not have it.
    pub fn read(&self, text: &str) -> Option<Operand> {
        // A plus stands for a blank in the address of a request. Where a blank makes no sense, it was meant as it was written.
        let with_plus = || text.contains(' ').then(|| self.values.read(&text.replace(' ', "+"))).flatten();
        let several = || text.split(',').map(|one| self.values.read(one.trim())).collect::<Option<Vec<_>>>().and_then(Operand::any_of);
        let none = || (self.has_none() && text == NONE).then_some(Operand::Missing);
        self.values.read(text).or_else(with_plus).or_else(|| self.values.are_words().then(several).flatten()).or_else(none)
    }

    /// Whether a word finds the records without a value. A free text could be that word.
    fn has_none(&self) -> bool {
        self.may_be_missing && self.values.are_words()
    }

    /// What a value must be, for the error message.
    pub fn expected(&self) -> String {
        match self.values {
            Values::Free(expected, _) => expected.to_owned(),
            Values::Fitting(FittingValue::Text, _) => "text that the field can have".to_owned(),
            Values::Fitting(FittingValue::Number, _) => "a number that the field can have".to_owned(),
            Values::Ids(_) | Values::ShownIds(_) => "the id of a record".to_owned(),
            Values::Words(words) => format!("one of {}", words.join(", ")),
        }
    }

    /// What a value may be beside that, as sentences; empty if nothing.
    pub fn more(&self) -> &'static str {
        match (self.values.are_words(), self.has_none()) {
            (false, _) => "",
            (true, false) => " Several are separated by commas.",
            (true, true) => " Several are separated by commas; `none`, by itself, finds records without one.",
        }
    }

    /// The JSON Schema of one value.
    pub fn schema(&self) -> Value {
        match self.values {
            Values::Words(words) => {
                let none = self.has_none().then_some(NONE).filter(|none| !words.contains(none));
                json!({ "type": "string", "enum": words.iter().copied().chain(none).collect::<Vec<_>>() })
            }
            Values::Free(..) | Values::Fitting(..) | Values::Ids(_) | Values::ShownIds(_) => json!({ "type": "string" }),
        }
    }
}

impl Values {
    fn read(&self, text: &str) -> Option<Operand> {
        match *self {
            Self::Free(_, read) | Self::Ids(read) => read(text),
            Self::Fitting(value, validator) => value.read(text, validator),
            Self::ShownIds(prefix) => read_id(prefix, text).map(|(_, shown)| Operand::Text(shown)),
            Self::Words(words) => words.contains(&text).then(|| Operand::Text(text.to_owned())),
        }
    }

    /// Whether no value contains a comma or is an arbitrary word.
    fn are_words(&self) -> bool {
        matches!(self, Self::Ids(_) | Self::ShownIds(_) | Self::Words(_))
    }
}

impl FittingValue {
    fn read(self, text: &str, validator: &Validator) -> Option<Operand> {
        let (value, operand) = match self {
            Self::Text => (Value::String(text.to_owned()), Operand::Text(text.to_owned())),
            Self::Number => {
                let number = text.parse().ok().filter(|number: &f64| number.is_finite())?;
                (Value::Number(serde_json::from_str::<Number>(text).ok()?), Operand::Number(number))
            }
        };
        validator.is_valid(&value).then_some(operand)
    }
}

fn read_text<T: FieldType<Column = String>>(text: &str) -> Option<Operand> {
    let text: StringDeserializer<Error> = text.to_owned().into_deserializer();
    T::deserialize(text).ok().map(|value| Operand::Text(value.into_column()))
}

impl Operand {
    /// Any of several texts or ids.
    fn any_of(several: Vec<Self>) -> Option<Self> {
        let text = |operand: &Self| if let Self::Text(text) = operand { Some(text.clone()) } else { None };
        let id = |operand: &Self| if let Self::Id(id) = operand { Some(*id) } else { None };
        let texts = several.iter().map(text).collect::<Option<_>>().map(Self::Texts);
        texts.or_else(|| several.iter().map(id).collect::<Option<_>>().map(Self::Ids))
    }

    /// Appends the condition that the column has the value.
    pub fn push_condition(&self, column: &str, sql: &mut QueryBuilder<Postgres>) {
        match self {
            Self::Missing => {
                sql.push(format!(" and {column} is null"));
            }
            Self::Texts(texts) => {
                sql.push(format!(" and {column} = any(")).push_bind(texts).push(")");
            }
            Self::Ids(ids) => {
                sql.push(format!(" and {column} = any(")).push_bind(ids).push(")");
            }
            Self::Text(text) => {
                sql.push(format!(" and {column} = ")).push_bind(text);
            }
            Self::Id(id) => {
                sql.push(format!(" and {column} = ")).push_bind(id);
            }
            Self::Number(number) => {
                sql.push(format!(" and {column} = ")).push_bind(number);
            }
            Self::Boolean(yes) => {
                sql.push(format!(" and {column} = ")).push_bind(yes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::PhoneNumber;
    use crate::kernel::ids::DriverId;
    use crate::kernel::json_schema;

    fn text(text: &str) -> Option<Operand> {
        Some(Operand::Text(text.to_owned()))
    }

    #[test]
    fn a_value_is_read_as_the_field_reads_it() {
        let phone = FilterForm::text::<PhoneNumber>("a phone number");
        // The first one is `+1 201…` as an address brings it if nobody has escaped the plus.
        for spelling in [" 1 201 555 0123", "+1 (201) 555-0123", "12015550123"] {
            assert_eq!(phone.read(spelling), text("+12015550123"), "{spelling:?}");
        }
        for value in ["nobody", "", "+1"] {
            assert_eq!(phone.read(value), None, "{value:?}");
        }
    }

    #[test]
    fn a_blank_is_a_plus_where_a_blank_makes_no_sense() {
        let blank_is_wrong = FilterForm::understood("one word", |text| (!text.contains(' ')).then(|| Operand::Text(text.to_owned())));
        assert_eq!(blank_is_wrong.read("ada shop@example.com"), text("ada+shop@example.com"));
        assert_eq!(FilterForm::text::<String>("text").read("a b"), text("a b"));
    }

    #[test]
    fn words_and_ids_are_several_or_none() {
        let words = FilterForm::one_of(&["red", "blue"]);
        assert_eq!(words.read("red"), text("red"));
        assert_eq!(words.read("red, blue"), Some(Operand::Texts(vec!["red".to_owned(), "blue".to_owned()])));
        let (one, two) = (DriverId::from(Uuid::from_u128(1)), DriverId::from(Uuid::from_u128(2)));
        let ids = FilterForm::id::<DriverId>().or_none();
        assert_eq!(ids.read(&format!("{one},{}", two.uuid())), Some(Operand::Ids(vec![one.uuid(), two.uuid()])));
        assert_eq!((ids.read("none"), words.or_none().read("none")), (Some(Operand::Missing), Some(Operand::Missing)));
        assert_eq!(words.or_none().schema()["enum"], json!(["red", "blue", "none"]));
        for (form, value) in [(words, "none"), (words, ""), (words, "red,"), (words, "red,green"), (ids, "none,none"), (ids, "")] {
            assert_eq!(form.read(value), None, "{value:?}");
        }
        // A text could be the word.
        assert_eq!(FilterForm::text::<String>("text").or_none().read("none"), text("none"));
    }

    #[test]
    fn a_value_of_a_declared_field_fits_its_schema() {
        let leaked = |schema: Value| &*Box::leak(Box::new(json_schema::validator(&schema).unwrap()));
        let code = FilterForm::fitting(FittingValue::Text, leaked(json!({ "type": ["string", "null"], "pattern": "^[A-Z]+$" })));
        assert_eq!((code.read("HAM"), code.read("ham")), (text("HAM"), None));
        let count = FilterForm::fitting(FittingValue::Number, leaked(json!({ "type": "integer", "minimum": 1 })));
        assert_eq!(count.read("3"), Some(Operand::Number(3.0)));
        for value in ["0", "1.5", "NaN", "three", ""] {
            assert_eq!(count.read(value), None, "{value:?}");
        }
    }
}
