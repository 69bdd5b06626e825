//! A kind of record that a file declares, looked at whole before the program serves it.

mod compatibility;
mod fields;
mod file;
mod load;
mod words;

use std::collections::BTreeMap;
use std::path::PathBuf;

use jsonschema::Validator;
use serde_json::{Map, Value};

use crate::events::EventName;
use crate::kernel::json_schema::{Unfit, check_all};
use crate::resources::Terms;

pub use compatibility::Incompatible;
pub(super) use compatibility::compare;
pub use fields::{FieldForm, Target};
pub use load::load;

/// A declared kind of record.
#[derive(Debug)]
pub struct Declaration {
    /// Its name among all kinds: `inventory/stock-items`.
    pub kind: String,
    /// The extension it belongs to: `inventory`.
    pub namespace: String,
    /// Its words in paths: `stock-items`.
    pub plural: String,
    /// One of them, as JSON names it: `stock_item`.
    pub singular: String,
    /// Counts the changes of the schema.
    pub version: i32,
    /// What it is, in a sentence.
    pub description: String,
    /// Of a record's members.
    pub schema: Value,
    /// The texts that `query` searches.
    pub search: Vec<String>,
    /// The members a list can be narrowed by.
    pub filters: BTreeMap<String, FieldForm>,
    /// The members that name other records.
    pub references: BTreeMap<String, Target>,
    /// A record as it could be.
    pub sample: Map<String, Value>,
    /// A member that gets such a value makes this happen.
    pub becomes: BTreeMap<String, BTreeMap<String, EventName>>,
    validator: Validator,
    terms: Terms,
}

/// What a file says cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}{reason}", file.display(), if key.is_empty() { String::new() } else { format!("{key}: ") })]
pub struct BadDeclaration {
    /// Which file.
    pub file: PathBuf,
    /// Which of its keys; none for the file itself.
    pub key: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Declaration {
    /// The members of a record, with what they are unless somebody says otherwise.
    pub fn defaults(&self) -> Map<String, Value> {
        let properties = self.schema["properties"].as_object().into_iter().flatten();
        properties.filter_map(|(name, member)| Some((name.clone(), member.get("default")?.clone()))).collect()
    }

    /// What it is called, for the statements and answers of every resource.
    pub fn terms(&self) -> Terms {
        self.terms
    }

    /// Everything that is wrong with a record's members.
    pub fn check(&self, members: &Map<String, Value>) -> Vec<Unfit> {
        check_all(&self.validator, &Value::Object(members.clone()))
    }
}
