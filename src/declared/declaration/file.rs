//! The format of a file in `config/extensions`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::declared::declaration::InvalidKey;

/// A whole file, which declares one extension.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExtensionFile {
    pub(super) namespace: String,
    pub(super) resources: BTreeMap<String, ResourceTable>,
}

/// `[resources.<plural>]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResourceTable {
    pub(super) singular: String,
    /// The version of the schema.
    pub(super) version: i32,
    pub(super) description: String,
    /// Fields that `?query=` searches.
    #[serde(default)]
    pub(super) search: Vec<String>,
    /// Fields that lists can be filtered by (`?<field>=`).
    #[serde(default)]
    pub(super) filters: Vec<String>,
    /// Fields that contain the id of another record, and the kind of that record.
    #[serde(default)]
    pub(super) references: BTreeMap<String, String>,
    /// Fields, their values, and the event that is published when the field gets the value.
    #[serde(default)]
    pub(super) becomes: BTreeMap<String, BTreeMap<String, String>>,
    pub(super) schema: Map<String, Value>,
    /// A sample record that fits the schema.
    pub(super) sample: Map<String, Value>,
}

/// Parses a file. An error names the key.
pub(super) fn read(file: &Path) -> Result<ExtensionFile, InvalidKey> {
    let text = fs::read_to_string(file).map_err(|error| InvalidKey::new("", error.to_string()))?;
    // The parser's message ends with a line break and shows the location.
    let document = toml::Deserializer::parse(&text).map_err(|error| InvalidKey::new("", error.to_string().trim_end()))?;
    serde_path_to_error::deserialize(document).map_err(|error| {
        let path = error.path().to_string();
        InvalidKey::new(if path == "." { String::new() } else { path }, error.into_inner().message())
    })
}
