//! List filters: `<column>=value`.

use serde_json::Value;

use crate::resources::{FieldType, FilterForm, Operand};

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
        Self::new(name, FilterForm::TEXT)
    }

    /// One of these words.
    pub const fn one_of(name: &'static str, words: &'static [&'static str]) -> Self {
        Self::new(name, FilterForm::OneOf(words))
    }

    /// A number.
    pub const fn number(name: &'static str) -> Self {
        Self::new(name, FilterForm::NUMBER)
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
    pub fn read(&self, text: &str) -> Option<Operand> {
        self.form.read(text)
    }

    /// What a value must be, for the error message.
    pub fn expected(&self) -> String {
        self.form.expected()
    }

    /// The JSON Schema of a value.
    pub fn schema(&self) -> Value {
        self.form.schema()
    }
}
