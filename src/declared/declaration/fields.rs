//! How the fields of a declared record can be filtered.

use serde_json::Value;

/// The type of a field that lists can be filtered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldForm {
    /// Text, compared exactly.
    Text,
    /// A number or an integer, compared as `float8`.
    Number,
    /// `true` or `false`, compared as an SQL `boolean`.
    Boolean,
}

/// The maximum length of a text, in characters, that always fits into an index entry, whatever its characters are.
const LONGEST_IN_AN_INDEX: u64 = 500;

impl FieldForm {
    /// The filter type of a field with this schema; `None` for arrays, objects and fields of several types.
    pub(super) fn of(schema: &Value) -> Option<Self> {
        let types: Vec<&str> = match &schema["type"] {
            Value::String(one) => vec![one],
            Value::Array(several) => several.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect(),
            _ => Vec::new(),
        };
        match types[..] {
            ["string"] => Some(Self::Text),
            ["number" | "integer"] => Some(Self::Number),
            ["boolean"] => Some(Self::Boolean),
            _ => None,
        }
    }

    /// The SQL expression that filters and indexes use for the field. It must not fail for any stored value, because the index of
    /// one schema version still exists under the next version.
    pub fn expression(self, member: &str) -> String {
        let only =
            |kind: &str, kept: &str| format!("(case when jsonb_typeof(data->'{member}') = '{kind}' then {}::{kept} end)", text_of(member));
        match self {
            Self::Text => format!("left({}, {LONGEST_IN_AN_INDEX})", text_of(member)),
            Self::Number => only("number", "float8"),
            Self::Boolean => only("boolean", "boolean"),
        }
    }
}

/// The text of a field in SQL. `member` must satisfy [`is_member_name`], so that it may be part of a statement.
pub(super) fn text_of(member: &str) -> String {
    format!("(data->>'{member}')")
}

/// Whether every text that fits the schema also fits into an index entry.
pub(super) fn is_short(schema: &Value) -> bool {
    schema["maxLength"].as_u64().is_some_and(|longest| longest <= LONGEST_IN_AN_INDEX)
        || schema["enum"].as_array().is_some_and(|values| values.iter().all(|value| value.as_str().is_none_or(|text| text.len() < 500)))
}

/// Field names are lower-case words joined by `_`.
pub(super) fn is_member_name(name: &str) -> bool {
    name.len() <= 50
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Like [`is_member_name`], for paths, in which `-` joins words.
pub(super) fn is_path_word(word: &str) -> bool {
    !word.contains('_') && is_member_name(&word.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_member_of_one_form_can_narrow_a_list() {
        for (schema, form) in [
            (json!({ "type": "string" }), Some(FieldForm::Text)),
            (json!({ "type": ["string", "null"] }), Some(FieldForm::Text)),
            (json!({ "type": "integer" }), Some(FieldForm::Number)),
            (json!({ "type": "boolean" }), Some(FieldForm::Boolean)),
            (json!({ "type": ["string", "integer"] }), None),
            (json!({ "type": "array" }), None),
            (json!({}), None),
        ] {
            assert_eq!(FieldForm::of(&schema), form, "{schema}");
        }
    }

    #[test]
    fn names_are_words_that_can_stand_in_a_statement() {
        assert!(is_member_name("sold_out") && is_path_word("stock-items"));
        for bad in ["", "Sku", "a'b", "a b", "1st", "a-b", "é"] {
            assert!(!is_member_name(bad), "{bad}");
        }
        assert!(!is_path_word("stock_items") && !is_path_word("a/b"));
    }

    #[test]
    fn a_text_is_short_where_its_schema_says_so() {
        assert!(is_short(&json!({ "maxLength": 500 })) && is_short(&json!({ "enum": ["a", null] })));
        assert!(!is_short(&json!({ "maxLength": 501 })) && !is_short(&json!({ "pattern": "^a$" })));
    }
}
