//! What the OpenAPI document, the schemas and samples of events, and forms say about a field.

use std::borrow::Cow;

use serde_json::Value;

use crate::resources::{FieldType, Input};

/// The description of one field of a resource.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldDoc {
    /// The name of the field.
    pub name: Cow<'static, str>,
    /// The description, for the documentation and as the help text of forms.
    pub sentence: Cow<'static, str>,
    /// The JSON Schema in requests and responses.
    pub schema: Value,
    /// The JSON Schema in the `data` of events.
    pub event_schema: Value,
    /// The value in the samples of events.
    pub sample: Value,
    /// How a form asks for the field.
    pub input: Input,
    /// What shows the field.
    pub shown: ShownIn,
    /// Whether requests may contain the field. Otherwise it is read-only.
    pub writable: bool,
    /// Whether the field is required to create a record.
    pub required: bool,
    /// Whether a form asks for the field.
    pub asked: bool,
}

/// What shows a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownIn {
    /// Every response, and the events about the record.
    Everything,
    /// Only the response to `GET …/{uuid}`.
    Details,
    /// Nothing: the field is write-only.
    Nothing,
}

impl FieldDoc {
    /// A field that requests may contain.
    pub fn writable<T: FieldType>(name: &'static str, sentence: &'static str) -> Self {
        Self { required: T::initial().is_none(), ..Self::read_only::<T>(name, sentence).and_writable() }
    }

    /// A read-only field.
    pub fn read_only<T: FieldType>(name: &'static str, sentence: &'static str) -> Self {
        let described = Self::with_schema(name, sentence, T::schema());
        Self { event_schema: T::event_schema(), sample: T::sample(), input: T::input(), ..described }
    }

    /// A read-only field with an explicit schema, for which there is no type.
    pub fn with_schema(name: impl Into<Cow<'static, str>>, sentence: impl Into<Cow<'static, str>>, schema: Value) -> Self {
        Self {
            name: name.into(),
            sentence: sentence.into(),
            event_schema: schema.clone(),
            sample: Value::Null,
            input: Input::of(&schema),
            schema,
            shown: ShownIn::Everything,
            writable: false,
            required: false,
            asked: false,
        }
    }

    /// Makes the field one that requests may contain.
    pub fn and_writable(self) -> Self {
        Self { writable: true, asked: true, ..self }
    }

    /// Makes the field one that requests may contain because responses do. Another field sets the value, so no form asks for it.
    pub fn accepted(self) -> Self {
        Self { writable: true, ..self }
    }

    /// Makes the field required to create a record, if `required` says so.
    pub fn and_required(self, required: bool) -> Self {
        Self { required, ..self.and_writable() }
    }

    /// Makes the field write-only: requests may contain it, responses never do.
    pub fn write_only(mut self) -> Self {
        self.schema["writeOnly"] = true.into();
        Self { shown: ShownIn::Nothing, ..self.and_writable() }
    }

    /// Makes the field one that only the response to `GET …/{uuid}` contains.
    pub fn detail(self) -> Self {
        Self { shown: ShownIn::Details, ..self }
    }

    /// Sets the value in the samples of events.
    pub fn sampled(self, sample: Value) -> Self {
        Self { sample, ..self }
    }
}
