//! The form of a file in `config/extensions`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::declared::declaration::BadDeclaration;

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
    pub(super) version: i32,
    pub(super) description: String,
    #[serde(default)]
    pub(super) search: Vec<String>,
    #[serde(default)]
    pub(super) filters: Vec<String>,
    #[serde(default)]
    pub(super) references: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) becomes: BTreeMap<String, BTreeMap<String, String>>,
    pub(super) schema: Map<String, Value>,
    pub(super) sample: Map<String, Value>,
}

/// Reads a file; a refusal names the key.
pub(super) fn read(file: &Path) -> Result<ExtensionFile, BadDeclaration> {
    let bad = |key: String, reason: String| BadDeclaration { file: file.to_owned(), key, reason };
    let text = fs::read_to_string(file).map_err(|error| bad(String::new(), error.to_string()))?;
    let document = toml::Deserializer::parse(&text).map_err(|error| bad(String::new(), error.message().to_owned()))?;
    serde_path_to_error::deserialize(document).map_err(|error| {
        let path = error.path().to_string();
        bad(if path == "." { String::new() } else { path }, error.into_inner().message().to_owned())
    })
}
