//! List filters: `<column>=value`.

use jsonschema::Validator;
use serde_json::Value;

use crate::resources::{FieldType, FilterForm, FittingValue, Operand};

/// A query parameter of a list that a column must equal.
#[derive(Clone, Copy, Debug)]
pub struct Filter {
    /// The name of the query parameter.
    pub name: &'static str,
    /// The column it is compared with.
    pub column: &'static str,
    form: FilterForm,
}

impl Filter {
    /// The values of a field of this type. A type that lists cannot be filtered by does not compile:
    ///
    /// ```compile_fail,E0080
    /// use portico::resources::{Filter, Instant};
    ///
    /// const STARTED_AT: Filter = Filter::of::<Instant>("started_at");
    /// ```
    pub const fn of<T: FieldType>(name: &'static str) -> Self {
        match T::FILTER {
            Some(form) => Self::new(name, form),
            None => panic!("lists cannot be filtered by a field of this type"),
        }
    }

    /// Any text.
    pub const fn text(name: &'static str) -> Self {
        Self::new(name, FilterForm::text::<String>("text"))
    }

    /// One of these words, of a field that may have no value.
    pub const fn one_of(name: &'static str, words: &'static [&'static str]) -> Self {
        Self::new(name, FilterForm::one_of(words).or_none())
    }

    /// A text or number that the field's schema allows.
    pub const fn fitting(name: &'static str, value: FittingValue, validator: &'static Validator) -> Self {
        Self::new(name, FilterForm::fitting(value, validator))
    }

    /// `true` or `false`.
    pub const fn boolean(name: &'static str) -> Self {
        Self::new(name, FilterForm::BOOLEAN)
    }

    /// The id of a record with this prefix, as UUID or TypeID, for a column that stores it as text and may have none.
    pub const fn shown_id(name: &'static str, prefix: &'static str) -> Self {
        Self::new(name, FilterForm::shown_id(prefix).or_none())
    }

    const fn new(name: &'static str, form: FilterForm) -> Self {
        Self { name, column: name, form }
    }

    /// Compares with a column whose name differs from the parameter's.
    pub const fn on(self, column: &'static str) -> Self {
        Self { column, ..self }
    }

    /// Parses a value; `None` if it is invalid.
    pub fn read(&self, text: &str) -> Option<Operand> {
        self.form.read(text)
    }

    /// What a value must be, for the error message.
    pub fn expected(&self) -> String {
        self.form.expected()
    }

    /// What a value may be beside that, as sentences; empty if nothing.
    pub fn more(&self) -> &'static str {
        self.form.more()
    }

    /// The JSON Schema of a value.
    pub fn schema(&self) -> Value {
        self.form.schema()
    }
}
