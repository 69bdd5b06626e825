//! JSON Merge Patch (RFC 7396): how an event states its differences from its group.

use serde_json::{Map, Value};

/// Applies `patch` to `target`: null removes a field, an object is merged recursively.
pub(super) fn merge(target: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, change) in patch {
        match (change, target.get_mut(name)) {
            (Value::Null, _) => drop(target.shift_remove(name)),
            (Value::Object(change), Some(Value::Object(deeper))) => merge(deeper, change),
            (Value::Object(change), _) => {
                let mut new = Map::new();
                merge(&mut new, change);
                target.insert(name.clone(), new.into());
            }
            _ => drop(target.insert(name.clone(), change.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_example_of_the_rfc() {
        let mut target = json!({
            "title": "Goodbye!", "author": { "givenName": "John", "familyName": "Doe" }, "tags": ["example", "sample"], "content": "x",
        });
        let patch = json!({
            "title": "Hello!", "phoneNumber": "+01-123-456-7890", "author": { "familyName": null }, "tags": ["example"],
            "new": { "kept": 1, "dropped": null },
        });
        merge(target.as_object_mut().unwrap(), patch.as_object().unwrap());
        assert_eq!(
            target,
            json!({
                "title": "Hello!", "author": { "givenName": "John" }, "tags": ["example"], "content": "x",
                "phoneNumber": "+01-123-456-7890", "new": { "kept": 1 },
            })
        );
    }
}
