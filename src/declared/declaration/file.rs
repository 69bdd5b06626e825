//! The form of a file in `config/extensions`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::declared::declaration::BadKey;

/// A whole file: one extension.
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
    /// Of the schema.
    pub(super) version: i32,
    pub(super) description: String,
    /// Members that `?query=` looks in.
    #[serde(default)]
    pub(super) search: Vec<String>,
    /// Members that `?<member>=` compares.
    #[serde(default)]
    pub(super) filters: Vec<String>,
    /// Members that hold the id of another record, and its kind.
    #[serde(default)]
    pub(super) references: BTreeMap<String, String>,
    /// Members, their values, and the event that happens when the member gets the value.
    #[serde(default)]
    pub(super) becomes: BTreeMap<String, BTreeMap<String, String>>,
    pub(super) schema: Map<String, Value>,
    /// A record that fits.
    pub(super) sample: Map<String, Value>,
}

/// Reads a file; a refusal names the key.
pub(super) fn read(file: &Path) -> Result<ExtensionFile, BadKey> {
    let text = fs::read_to_string(file).map_err(|error| BadKey::new("", error.to_string()))?;
    // The parser's own words end with a line break and show the place.
    let document = toml::Deserializer::parse(&text).map_err(|error| BadKey::new("", error.to_string().trim_end()))?;
    serde_path_to_error::deserialize(document).map_err(|error| {
        let path = error.path().to_string();
        BadKey::new(if path == "." { String::new() } else { path }, error.into_inner().message())
    })
}
