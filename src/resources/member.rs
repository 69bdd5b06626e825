//! Members of a body that may be missing.

use serde::{Deserialize, Deserializer};

use crate::resources::Parsed;

/// A member that was sent or not. `Member<T>` takes a `T` and no null; `Member<Option<T>>` also null, which clears what was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Member<T> {
    /// Not in the body: what was there stays.
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
    /// The value, if one was sent.
    pub fn as_sent(&self) -> Option<&T> {
        match self {
            Self::Missing => None,
            Self::Sent(value) => Some(value),
        }
    }

    /// Replaces what is in `column` by the value, if one was sent.
    pub fn put<C: From<T>>(self, column: &mut C) {
        if let Self::Sent(value) = self {
            *column = value.into();
        }
    }
}

impl<T: Parsed> Member<T> {
    /// What a new record holds; `None` when something that must be sent was not.
    pub fn or_initial(self) -> Option<T::Kept> {
        match self {
            Self::Missing => T::initial(),
            Self::Sent(value) => Some(value.keep()),
        }
    }

    /// Replaces what is kept by the value, if one was sent.
    pub fn keep_in(self, kept: &mut T::Kept) {
        if let Self::Sent(value) = self {
            *kept = value.keep();
        }
    }
}

impl<T> Member<Option<T>> {
    /// Replaces what is in `column` by the value, or clears it if null was sent.
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
