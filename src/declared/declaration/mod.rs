//! A kind of record that a file declares, looked at whole before the program serves it.

mod compatibility;
mod definitions;
mod event_types;
mod fields;
mod file;
mod load;
mod resource;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use jsonschema::Validator;
use serde_json::{Map, Value};

use crate::events::{EventName, EventType};
use crate::kernel::json_schema::{Unfit, check_all};
use crate::resources::{Described, Referable, Terms};

pub use compatibility::Incompatible;
pub(super) use compatibility::{compare, is_same};
pub use fields::FieldForm;
pub use load::{BuiltIn, load};

/// A declared kind of record.
#[derive(Debug)]
pub struct Declaration {
    /// Its name among all kinds: `inventory/stock-items`.
    pub kind: String,
    /// The extension it belongs to: `inventory`.
    pub namespace: String,
    /// Counts the changes of the schema.
    pub version: i32,
    /// Of a record's members; it stands alone.
    pub schema: Value,
    /// What members are unless somebody says otherwise.
    pub defaults: Map<String, Value>,
    /// The members a list can be narrowed by.
    pub filters: BTreeMap<String, FieldForm>,
    /// The members that name other records.
    pub references: BTreeMap<String, Referable>,
    /// A member that gets such a value makes this happen.
    pub becomes: BTreeMap<String, BTreeMap<String, EventName>>,
    /// Everything that happens to its records.
    pub event_types: Vec<EventType>,
    /// What it is called, for the statements and answers of every resource.
    pub terms: Terms,
    validator: Validator,
}

/// What a file says cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}{}", file.display(), if key.is_empty() { String::new() } else { format!("{key}: ") }, reason)]
pub struct BadDeclaration {
    /// Which file.
    pub file: PathBuf,
    /// Which of its keys; none for the file itself.
    pub key: String,
    /// What is wrong with it.
    pub reason: String,
}

/// A key of a file, and what is wrong with it.
#[derive(Debug)]
struct BadKey {
    key: String,
    reason: String,
}

impl BadKey {
    fn new(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { key: key.into(), reason: reason.into() }
    }

    /// The same key, as it is called from further outside.
    fn below(self, outer: &str) -> Self {
        Self { key: [outer, &self.key].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("."), ..self }
    }

    fn of(self, file: PathBuf) -> BadDeclaration {
        BadDeclaration { file, key: self.key, reason: self.reason }
    }
}

impl Declaration {
    /// `stock_item.created`
    pub fn event(&self, action: &str) -> EventName {
        event_types::name(self.terms.singular, action)
    }

    /// Everything that is wrong with a record's members.
    pub fn check(&self, members: &Map<String, Value>) -> Vec<Unfit> {
        check_all(&self.validator, &Value::Object(members.clone()))
    }

    /// The members, for the documentation.
    pub fn members(&self) -> Vec<Described> {
        let required: BTreeSet<_> = self.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = self.schema["properties"].as_object().into_iter().flatten();
        let described = properties.map(|(name, schema)| {
            let sentence = match (schema["description"].as_str(), self.references.get(name)) {
                (Some(sentence), _) => sentence.to_owned(),
                (None, Some(kind)) => format!("The id of a record of {}.", kind.name),
                (None, None) => String::new(),
            };
            let needed = required.contains(name.as_str()) && !self.defaults.contains_key(name);
            Described { name: name.clone().into(), sentence: sentence.into(), schema: schema.clone(), sent: true, needed }
        });
        described.collect()
    }
}
