//! Bodies of `POST` and `PUT`: the record's members, bare or wrapped in the singular.

use serde_json::Value;

use crate::kernel::json;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::Editable;

/// Reads `{…}` or `{"<singular>":{…}}`.
pub fn read<R: Editable>(body: Value) -> Result<R::Body, Problem> {
    match unwrapped(body, R::SINGULAR) {
        body @ Value::Object(_) => json::from_value(body),
        _ => Err(Problem::new(ProblemCode::BodyInvalid).detail("The body must be a JSON object.")),
    }
}

fn unwrapped(mut body: Value, singular: &str) -> Value {
    match body.as_object_mut() {
        Some(members) if members.len() == 1 && members.get(singular).is_some_and(Value::is_object) => members[singular].take(),
        _ => body,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_body_may_be_wrapped_in_the_singular() {
        assert_eq!(unwrapped(json!({"shelf": {"label": "A"}}), "shelf"), json!({"label": "A"}));
        assert_eq!(unwrapped(json!({"label": "A"}), "shelf"), json!({"label": "A"}));
        for other in [json!({"shelf": {}, "label": "A"}), json!({"shelf": []}), json!([]), json!("shelf")] {
            assert_eq!(unwrapped(other.clone(), "shelf"), other);
        }
    }
}
