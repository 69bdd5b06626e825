//! One record: a line for each field, and a table for each list of records within it.

use serde_json::Value;

use crate::cli::layout::cell::cell;
use crate::cli::layout::table::{columns, table};

/// One line for each field that has a value, the values in one column. Fields within fields have names like `health.state`.
pub fn lines(record: &Value) -> String {
    let mut found = Found::default();
    found.gather("", record);
    let width = found.fields.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let fields: Vec<_> = found.fields.iter().map(|(name, text)| format!("{name:width$}  {text}")).collect();
    let tables = found.lists.iter().map(|(name, records)| format!("\n{name}\n{}", table(&columns(records), records)));
    fields.into_iter().chain(tables).collect::<Vec<_>>().join("\n")
}

#[derive(Default)]
struct Found<'a> {
    fields: Vec<(String, String)>,
    lists: Vec<(String, &'a [Value])>,
}

impl<'a> Found<'a> {
    fn gather(&mut self, name: &str, value: &'a Value) {
        match value {
            Value::Object(members) => {
                for (member, value) in members {
                    self.gather(&if name.is_empty() { member.clone() } else { format!("{name}.{member}") }, value);
                }
            }
            Value::Array(items) if items.iter().any(Value::is_object) => self.lists.push((name.to_owned(), items)),
            value => match cell(value) {
                text if text.is_empty() => {}
                text => self.fields.push((name.to_owned(), text)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_without_a_value_are_left_out_and_the_others_are_aligned() {
        let record = json!({ "id": "key_1", "scopes": ["read", "write"], "expires_at": null, "allowed_networks": [], "revoked": true });
        assert_eq!(lines(&record), "id       key_1\nscopes   read,write\nrevoked  true");
    }

    #[test]
    fn what_is_within_a_record_is_shown_too() {
        let record = json!({ "id": "delivery_1", "attempts": [{ "number": 1, "error": "timeout" }], "health": { "state": "failing" } });
        assert_eq!(lines(&record), "id            delivery_1\nhealth.state  failing\n\nattempts\nnumber  error\n     1  timeout");
    }
}
