//! Optional fields of a request body.

use serde::{Deserialize, Deserializer};

use crate::resources::FieldType;

/// A field that is either present or missing. `Member<T>` takes a `T` and rejects null; `Member<Option<T>>` accepts null, which
/// clears the stored value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Member<T> {
    /// Not in the body: the stored value is kept.
    #[default]
    Missing,
    /// In the body, with this value.
    Sent(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Member<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::Sent)
    }
}

impl<T> Member<T> {
    /// Replaces `column` with the value, if the field is present.
    pub fn put<C: From<T>>(self, column: &mut C) {
        if let Self::Sent(value) = self {
            *column = value.into();
        }
    }
}

impl<T: FieldType> Member<T> {
    /// The value for a new record; `None` if a required field is missing.
    pub fn or_initial(self) -> Option<T::Column> {
        match self {
            Self::Missing => T::initial(),
            Self::Sent(value) => Some(value.into_column()),
        }
    }

    /// Replaces `column` with the value, if the field is present.
    pub fn write_to(self, column: &mut T::Column) {
        if let Self::Sent(value) = self {
            *column = value.into_column();
        }
    }
}

impl<T> Member<Option<T>> {
    /// Replaces `column` with the value, or clears it if the value is null. Does nothing if the field is missing.
    pub fn put_or_clear<C: From<T>>(self, column: &mut Option<C>) {
        if let Self::Sent(value) = self {
            *column = value.map(Into::into);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::json;

    #[derive(Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Body {
        label: Member<String>,
        note: Member<Option<String>>,
    }

    fn put(body: &str) -> Option<(String, Option<String>)> {
        let body: Body = json::parse(body.as_bytes()).ok()?;
        let (mut label, mut note) = ("before".to_owned(), Some("before".to_owned()));
        body.label.put(&mut label);
        body.note.put_or_clear(&mut note);
        Some((label, note))
    }

    #[test]
    fn a_member_changes_what_it_names_and_null_clears_what_may_be_empty() {
        let texts = |label: &str, note: Option<&str>| Some((label.to_owned(), note.map(str::to_owned)));
        assert_eq!(put("{}"), texts("before", Some("before")));
        assert_eq!(put(r#"{"label":"after"}"#), texts("after", Some("before")));
        assert_eq!(put(r#"{"note":null}"#), texts("before", None));
        assert_eq!(put(r#"{"label":null}"#), None);
        assert_eq!(put(r#"{"lable":"after"}"#), None);
    }
}
