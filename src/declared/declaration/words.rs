//! The names of a declared kind. Their memory is leaked, so that they live as long as the program, like the constants of built-in kinds.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::declared::declaration::FieldForm;
use crate::declared::declaration::fields::text_of;
use crate::resources::{Filter, Referable, Terms};

/// The names of a kind. Every part has been validated and may be part of an SQL statement.
pub(super) fn names(namespace: &str, plural: &str, singular: &str) -> Terms {
    Terms {
        singular: kept(singular),
        plural: kept(&plural.replace('-', "_")),
        filters: &[],
        searched: &[],
        search: &[],
        part: Some(("kind", kept(&format!("{namespace}/{plural}")))),
    }
}

/// Adds the filters and the search to the names.
pub(super) fn asked(
    names: Terms,
    schema: &Value,
    filters: &BTreeMap<String, FieldForm>,
    references: &BTreeMap<String, Referable>,
    searched: &[String],
) -> Terms {
    let filter = |(member, form): (&String, &FieldForm)| {
        let name = kept(member);
        let filter = match (references.get(member), form) {
            (Some(kind), _) => Filter::shown_id(name, kind.prefix),
            (None, FieldForm::Text) => match schema["properties"][member]["enum"].as_array() {
                Some(values) => Filter::one_of(name, values.iter().filter_map(Value::as_str).map(kept).collect::<Vec<_>>().leak()),
                None => Filter::text(name),
            },
            (None, FieldForm::Number) => Filter::number(name),
            (None, FieldForm::Boolean) => Filter::boolean(name),
        };
        filter.on(kept(&form.expression(member)))
    };
    Terms {
        filters: filters.iter().map(filter).collect::<Vec<_>>().leak(),
        searched: searched.iter().map(|member| kept(member)).collect::<Vec<_>>().leak(),
        search: searched.iter().map(|member| kept(&text_of(member))).collect::<Vec<_>>().leak(),
        ..names
    }
}

fn kept(text: &str) -> &'static str {
    text.to_owned().leak()
}
