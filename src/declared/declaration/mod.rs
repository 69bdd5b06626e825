//! A kind of record declared in a file, fully validated before it is served.

mod compatibility;
mod definitions;
mod descriptor;
mod event_types;
mod fields;
mod file;
mod load;
mod resource;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use jsonschema::Validator;
use serde_json::{Map, Value};

use crate::events::{EventName, EventType};
use crate::kernel::json_schema::{SchemaViolation, check_all};
use crate::resources::{FieldDoc, Referable, ResourceDescriptor};

pub use compatibility::Incompatible;
pub(super) use compatibility::{compare, is_same};
pub use fields::FieldForm;
pub use load::{BuiltIn, load};

/// A declared kind of record.
#[derive(Debug)]
pub struct Declaration {
    /// The name, unique among all kinds: `inventory/stock-items`.
    pub kind: String,
    /// The extension that the kind belongs to: `inventory`.
    pub namespace: String,
    /// The version of the schema. A record stores the version under which it was last written.
    pub version: i32,
    /// The self-contained schema of a record's fields.
    pub schema: Value,
    /// The values of fields that the body of a new record lacks.
    pub defaults: Map<String, Value>,
    /// The fields that lists can be filtered by.
    pub filters: BTreeMap<String, FieldForm>,
    /// The fields that reference other records.
    pub references: BTreeMap<String, Referable>,
    /// The events that are published when a field gets a certain value.
    pub becomes: BTreeMap<String, BTreeMap<String, EventName>>,
    /// All event types of the kind.
    pub event_types: Vec<EventType>,
    /// The names and list parameters of the kind.
    pub descriptor: ResourceDescriptor,
    validator: Validator,
}

/// A declaration in a file is invalid.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}{}", file.display(), if key.is_empty() { String::new() } else { format!("{key}: ") }, reason)]
pub struct InvalidDeclaration {
    /// The file, or the directory if its files cannot be listed.
    pub file: PathBuf,
    /// The key; empty if the error concerns the whole file.
    pub key: String,
    /// What is wrong with the key.
    pub reason: String,
}

/// An invalid key of a file, with the reason.
#[derive(Debug)]
struct InvalidKey {
    key: String,
    reason: String,
}

impl InvalidKey {
    fn new(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { key: key.into(), reason: reason.into() }
    }

    /// Prefixes the key with that of the surrounding table.
    fn below(self, outer: &str) -> Self {
        Self { key: [outer, &self.key].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("."), ..self }
    }

    fn of(self, file: PathBuf) -> InvalidDeclaration {
        InvalidDeclaration { file, key: self.key, reason: self.reason }
    }
}

impl Declaration {
    /// `stock_item.created`
    pub fn event(&self, action: &str) -> EventName {
        event_types::name(self.descriptor.singular, action)
    }

    /// Returns all violations of the schema.
    pub fn check(&self, members: &Map<String, Value>) -> Vec<SchemaViolation> {
        check_all(&self.validator, &Value::Object(members.clone()))
    }

    /// The documentation of the fields.
    pub fn members(&self) -> Vec<FieldDoc> {
        let names: BTreeSet<_> = self.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = self.schema["properties"].as_object().into_iter().flatten();
        let described = properties.map(|(name, schema)| {
            let sentence = match (schema["description"].as_str(), self.references.get(name)) {
                (Some(sentence), _) => sentence.to_owned(),
                (None, Some(kind)) => format!("The id of a record of {}.", kind.name),
                (None, None) => String::new(),
            };
            let required = names.contains(name.as_str()) && !self.defaults.contains_key(name);
            FieldDoc::with_schema(name.clone(), sentence, schema.clone()).and_required(required)
        });
        described.collect()
    }
}
