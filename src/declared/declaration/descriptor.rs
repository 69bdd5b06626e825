//! The names of a declared kind. Their memory is leaked, so that they live as long as the program, like the constants of built-in
//! kinds.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::declared::declaration::FieldForm;
use crate::declared::declaration::fields::text_of;
use crate::resources::{Filter, Referable, ResourceDescriptor};

/// The names of a kind. Every part has been validated and may be part of an SQL statement.
pub(super) fn names(namespace: &str, plural: &str, singular: &str) -> ResourceDescriptor {
    ResourceDescriptor {
        singular: leaked(singular),
        plural: leaked(&plural.replace('-', "_")),
        filters: &[],
        search_fields: &[],
        search_columns: &[],
        discriminator: Some(("kind", leaked(&format!("{namespace}/{plural}")))),
    }
}

/// Adds the filters and the search to the names.
pub(super) fn with_list_parameters(
    names: ResourceDescriptor,
    schema: &Value,
    filters: &BTreeMap<String, FieldForm>,
    references: &BTreeMap<String, Referable>,
    search_fields: &[String],
) -> ResourceDescriptor {
    let filter = |(member, form): (&String, &FieldForm)| {
        let name = leaked(member);
        let filter = match (references.get(member), form) {
            (Some(kind), _) => Filter::shown_id(name, kind.prefix),
            (None, FieldForm::Text) => match schema["properties"][member]["enum"].as_array() {
                Some(values) => Filter::one_of(name, values.iter().filter_map(Value::as_str).map(leaked).collect::<Vec<_>>().leak()),
                None => Filter::text(name),
            },
            (None, FieldForm::Number) => Filter::number(name),
            (None, FieldForm::Boolean) => Filter::boolean(name),
        };
        filter.on(leaked(&form.expression(member)))
    };
    ResourceDescriptor {
        filters: filters.iter().map(filter).collect::<Vec<_>>().leak(),
        search_fields: search_fields.iter().map(|member| leaked(member)).collect::<Vec<_>>().leak(),
        search_columns: search_fields.iter().map(|member| leaked(&text_of(member))).collect::<Vec<_>>().leak(),
        ..names
    }
}

fn leaked(text: &str) -> &'static str {
    text.to_owned().leak()
}
