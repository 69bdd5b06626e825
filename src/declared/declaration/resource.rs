//! One resource of a file: its schema, and the further settings of its fields.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::declared::declaration::compatibility::REFERS_TO;
use crate::declared::declaration::definitions::put_in_place;
use crate::declared::declaration::fields::{is_member_name, is_short};
use crate::declared::declaration::file::ResourceTable;
use crate::declared::declaration::{Declaration, FieldForm, InvalidKey, descriptor, event_types};
use crate::events::{EventName, InvalidEventName};
use crate::kernel::json_schema::{self, SchemaViolation};
use crate::resources::{Referable, ResourceDescriptor};

/// The fields that every record or event has, which a schema may not declare.
const RESERVED: [&str; 6] = ["id", "public_id", "uuid", "meta", "created_at", "updated_at"];
/// The query parameters of every list.
#[rustfmt::skip]
const PARAMETERS: [&str; 9] = [
    "limit", "after", "sort", "follow", "query", "created_after", "created_before", "updated_after", "updated_before",
];

/// Builds the kind that `table` declares. Its records may reference the kinds in `referable`.
pub(super) fn declare(
    namespace: &str,
    names: ResourceDescriptor,
    table: ResourceTable,
    referable: &[Referable],
) -> Result<Declaration, InvalidKey> {
    if table.version < 1 {
        return Err(InvalidKey::new("version", "the first version is 1"));
    }
    let mut schema = closed(put_in_place(table.schema).map_err(|bad| bad.below("schema"))?, names.singular)?;
    let members = MemberSchemas(schema["properties"].as_object().cloned().unwrap_or_default());
    let references = members.references(table.references, referable)?;
    let filters = members.filters(table.filters, &references)?;
    let becomes = members.becomes(table.becomes, names.singular)?;
    members.searched(&table.search)?;
    for (member, kind) in &references {
        schema["properties"][member][REFERS_TO] = kind.name.as_str().into();
    }
    schema["description"] = table.description.into();
    let validator = json_schema::validator(&schema).map_err(|error| InvalidKey::new("schema", error.to_string()))?;
    let defaults = members.defaults()?;
    let unfit = |unfit: SchemaViolation| InvalidKey::new("sample", unfit.to_string());
    json_schema::check(&validator, &Value::Object(table.sample.clone())).map_err(unfit)?;
    let event_types = event_types::of(namespace, names.singular, &schema, &table.sample, &becomes)
        .map_err(|error| InvalidKey::new("schema", format!("its events are invalid: {error}")))?;
    Ok(Declaration {
        kind: format!("{namespace}/{}", names.plural.replace('_', "-")),
        namespace: namespace.to_owned(),
        version: table.version,
        defaults,
        descriptor: descriptor::with_list_parameters(names, &schema, &filters, &references, &table.search)?,
        schema,
        filters,
        references,
        becomes,
        event_types,
        validator,
    })
}

/// The schema of an object that allows only the declared fields, and `meta` for free-form data of the shop.
fn closed(mut schema: Map<String, Value>, singular: &str) -> Result<Value, InvalidKey> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(InvalidKey::new("schema.type", "the type of a record must be object"));
    }
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return Err(InvalidKey::new("schema.properties", "a record needs properties"));
    };
    for (name, member) in &*properties {
        let key = format!("schema.properties.{name}");
        // A request body whose only field is an object with the singular name would be read as a wrapped record.
        if !is_member_name(name) || RESERVED.contains(&name.as_str()) || name == singular {
            return Err(InvalidKey::new(key, "this name is reserved, or not lower-case words joined by _"));
        }
        if !member.is_object() {
            return Err(InvalidKey::new(key, "the schema of a field must be a table"));
        }
    }
    properties.insert("meta".to_owned(), json!({ "type": "object" }));
    if schema.entry("additionalProperties").or_insert(false.into()) != &Value::Bool(false) || schema.contains_key("patternProperties") {
        return Err(InvalidKey::new(
            "schema.additionalProperties",
            "unknown fields are always refused; meta is the place for free-form data",
        ));
    }
    Ok(Value::Object(schema))
}

struct MemberSchemas(Map<String, Value>);

impl MemberSchemas {
    fn form(&self, member: &str) -> Option<FieldForm> {
        self.0.get(member).and_then(FieldForm::of)
    }

    fn is_text(&self, member: &str) -> bool {
        self.form(member) == Some(FieldForm::Text)
    }

    fn references(&self, references: BTreeMap<String, String>, referable: &[Referable]) -> Result<BTreeMap<String, Referable>, InvalidKey> {
        let found = |(member, kind): (String, String)| {
            let bad = |reason: String| InvalidKey::new(format!("references.{member}"), reason);
            if !self.is_text(&member) {
                return Err(bad("there is no property of this name with the type string".to_owned()));
            }
            let referable = referable.iter().find(|known| known.name == kind).cloned();
            let referable = referable.ok_or_else(|| bad(format!("there is no {kind}")))?;
            Ok((member, referable))
        };
        references.into_iter().map(found).collect()
    }

    fn filters(&self, filters: Vec<String>, references: &BTreeMap<String, Referable>) -> Result<BTreeMap<String, FieldForm>, InvalidKey> {
        let usable = |member: String| {
            let bad = |reason: &str| Err(InvalidKey::new("filters", format!("{member} {reason}")));
            match self.form(&member) {
                _ if PARAMETERS.contains(&member.as_str()) => bad("is a parameter of every list"),
                None => bad("is not a property with exactly one scalar type"),
                // Ids are always short enough.
                Some(FieldForm::Text) if !references.contains_key(&member) && !is_short(&self.0[&member]) => {
                    bad("needs a maxLength of at most 500, or an enum, to fit into an index")
                }
                Some(form) => Ok((member, form)),
            }
        };
        filters.into_iter().map(usable).collect()
    }

    fn searched(&self, search: &[String]) -> Result<(), InvalidKey> {
        match search.iter().find(|member| !self.is_text(member)) {
            Some(member) => Err(InvalidKey::new("search", format!("{member} is not a property with the type string"))),
            None => Ok(()),
        }
    }

    fn becomes(
        &self,
        becomes: BTreeMap<String, BTreeMap<String, String>>,
        singular: &str,
    ) -> Result<BTreeMap<String, BTreeMap<String, EventName>>, InvalidKey> {
        let events = |(member, values): (String, BTreeMap<String, String>)| {
            let key = format!("becomes.{member}");
            if !self.is_text(&member) {
                return Err(InvalidKey::new(key, "there is no property of this name with the type string"));
            }
            let event = |(value, name): (String, String)| {
                let event =
                    self.event(&member, &value, &name, singular).map_err(|reason| InvalidKey::new(format!("{key}.{value}"), reason))?;
                Ok((value, event))
            };
            let events = values.into_iter().map(event).collect::<Result<_, InvalidKey>>()?;
            Ok((member, events))
        };
        becomes.into_iter().map(events).collect()
    }

    fn event(&self, member: &str, value: &str, name: &str, singular: &str) -> Result<EventName, String> {
        let event: EventName = name.parse().map_err(|error: InvalidEventName| error.to_string())?;
        if event.resource() != singular || event_types::ACTIONS.iter().any(|action| event_types::name(singular, action) == event) {
            return Err(format!("the event must begin with {singular}. and must not be one of the events of every record"));
        }
        let known = self.0[member]["enum"].as_array();
        match known.is_some_and(|known| !known.contains(&Value::from(value))) {
            true => Err(format!("{value} is not a value of {member}")),
            false => Ok(event),
        }
    }

    fn defaults(&self) -> Result<Map<String, Value>, InvalidKey> {
        let mut defaults = Map::new();
        for (name, schema) in &self.0 {
            let Some(default) = schema.get("default") else { continue };
            let bad = |reason: String| InvalidKey::new(format!("schema.properties.{name}.default"), reason);
            let validator = json_schema::validator(schema).map_err(|error| bad(error.to_string()))?;
            json_schema::check(&validator, default).map_err(|unfit| bad(unfit.to_string()))?;
            defaults.insert(name.clone(), default.clone());
        }
        Ok(defaults)
    }
}
