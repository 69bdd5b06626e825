//! The names of a declared kind. Their memory is leaked, so that they live as long as the program, like the constants of built-in
//! kinds.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::declared::declaration::fields::text_of;
use crate::declared::declaration::{FieldForm, InvalidKey};
use crate::kernel::json_schema;
use crate::resources::{Filter, FittingValue, Referable, ResourceDescriptor};

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

/// Adds the filters and the search to the names. A value that a list is filtered by has to fit the schema of its field, as one of a record.
pub(super) fn with_list_parameters(
    names: ResourceDescriptor,
    schema: &Value,
    filters: &BTreeMap<String, FieldForm>,
    references: &BTreeMap<String, Referable>,
    search_fields: &[String],
) -> Result<ResourceDescriptor, InvalidKey> {
    let fitting = |name: &'static str, value: FittingValue| -> Result<Filter, InvalidKey> {
        let validator = json_schema::validator(&schema["properties"][name])
            .map_err(|error| InvalidKey::new(format!("schema.properties.{name}"), error.to_string()))?;
        Ok(Filter::fitting(name, value, Box::leak(Box::new(validator))))
    };
    let filter = |(member, form): (&String, &FieldForm)| -> Result<Filter, InvalidKey> {
        let name = leaked(member);
        let filter = match (references.get(member), form) {
            (Some(kind), _) => Filter::shown_id(name, kind.prefix),
            (None, FieldForm::Text) => match schema["properties"][member]["enum"].as_array() {
                Some(values) => Filter::one_of(name, values.iter().filter_map(Value::as_str).map(leaked).collect::<Vec<_>>().leak()),
                None => fitting(name, FittingValue::Text)?,
            },
            (None, FieldForm::Number) => fitting(name, FittingValue::Number)?,
            (None, FieldForm::Boolean) => Filter::boolean(name),
        };
        Ok(filter.on(leaked(&form.expression(member))))
    };
    Ok(ResourceDescriptor {
        filters: filters.iter().map(filter).collect::<Result<Vec<_>, _>>()?.leak(),
        search_fields: search_fields.iter().map(|member| leaked(member)).collect::<Vec<_>>().leak(),
        search_columns: search_fields.iter().map(|member| leaked(&text_of(member))).collect::<Vec<_>>().leak(),
        ..names
    })
}

fn leaked(text: &str) -> &'static str {
    text.to_owned().leak()
}
