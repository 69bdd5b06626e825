//! What the members of a declared record can be used for.

use serde_json::Value;

/// The form of a member that a list can be narrowed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldForm {
    /// Text, compared exactly.
    Text,
    /// A number.
    Number,
    /// A yes or no.
    Boolean,
}

/// The longest text, in characters, that surely fits into an index, whatever its letters are.
const LONGEST_IN_AN_INDEX: u64 = 500;

impl FieldForm {
    /// The form of a member with this schema; none of lists, objects and members that may be this or that.
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

    /// The member as SQL compares it, and as an index keeps it: nothing that a record may hold instead is an error of it, because an
    /// index of one version of a schema is there under the next one, too.
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

/// The whole text of a member, in SQL. `member` is a name that [`is_member_name`] allows, so it can stand in a statement.
pub(super) fn text_of(member: &str) -> String {
    format!("(data->>'{member}')")
}

/// Whether every text that fits the schema fits into an index, too.
pub(super) fn is_short(schema: &Value) -> bool {
    schema["maxLength"].as_u64().is_some_and(|longest| longest <= LONGEST_IN_AN_INDEX)
        || schema["enum"].as_array().is_some_and(|values| values.iter().all(|value| value.as_str().is_none_or(|text| text.len() < 500)))
}

/// Members are lower-case words joined by `_`.
pub(super) fn is_member_name(name: &str) -> bool {
    name.len() <= 50
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// The same in paths, where `-` joins words.
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
