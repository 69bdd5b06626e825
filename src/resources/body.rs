//! Request bodies of `POST` and `PUT`: the record's fields, bare or wrapped in the singular name.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::kernel::json;
use crate::kernel::openapi::closed_object;
use crate::kernel::problem::Problem;
use crate::resources::Editable;

/// The body of a route that takes no fields: an empty body or an empty object.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmptyBody {}

impl EmptyBody {
    /// The JSON Schema.
    pub fn schema() -> Value {
        closed_object(&[], [])
    }
}

/// Reads `{…}` or `{"<singular>":{…}}`.
pub fn read<R: Editable>(singular: &str, body: &RawValue) -> Result<R::Body, Problem> {
    json::parse(unwrapped(body.get(), singular).as_bytes())
}

fn unwrapped<'a>(body: &'a str, singular: &str) -> &'a str {
    let members: BTreeMap<String, &'a RawValue> = serde_json::from_str(body).unwrap_or_default();
    match members.get(singular) {
        Some(wrapped) if members.len() == 1 && is_object(wrapped.get()) => wrapped.get(),
        _ => body,
    }
}

/// `json` must be valid JSON.
fn is_object(json: &str) -> bool {
    json.trim_start().starts_with('{')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::problem::ProblemCode;
    use crate::resources::Resource;
    use crate::resources::kind::example::Shelf;

    #[test]
    fn a_body_may_be_wrapped_in_the_singular() {
        assert_eq!(unwrapped(r#"{"shelf": {"label": "A"}}"#, "shelf"), r#"{"label": "A"}"#);
        for bare in [r#"{"label": "A"}"#, r#"{"shelf": {}, "label": "A"}"#, r#"{"shelf": []}"#, "[]", "5", "{}"] {
            assert_eq!(unwrapped(bare, "shelf"), bare);
        }
    }

    #[test]
    fn only_an_object_of_known_members_is_a_body() {
        let read = |text: &str| read::<Shelf>(Shelf::SINGULAR, &json::parse::<Box<RawValue>>(text.as_bytes())?);
        for good in ["{}", " {\"label\":\"A\"} ", "{\"book_shelf\":{\"label\":\"A\",\"full\":null}}"] {
            assert!(read(good).is_ok(), "{good}");
        }
        for bad in
            ["[]", "[\"A\"]", "null", "5", "{\"label\":null}", "{\"label\":\"A\",\"label\":\"B\"}", "{\"book_shelf\":[]}", "{\"x\":1}"]
        {
            assert_eq!(read(bad).unwrap_err().code(), ProblemCode::BodyInvalid, "{bad}");
        }
        assert_eq!(read("{").unwrap_err().code(), ProblemCode::JsonInvalid);
    }
}
