//! Reading every file of the directory, and refusing what the program could not serve.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::declared::declaration::fields::{is_member_name, is_path_word};
use crate::declared::declaration::file::{ExtensionFile, ResourceTable, read};
use crate::declared::declaration::{BadDeclaration, Declaration, FieldForm, Target, words};
use crate::events::EventName;
use crate::kernel::json_schema;

/// What every record has, and no schema may declare.
const RESERVED: [&str; 8] = ["id", "public_id", "uuid", "created_at", "updated_at", "additional_data", "deleted_at", "company_id"];

/// Every declaration of the files `*.toml` in `directory`, in the order of their names. `others` are the kinds of records that the
/// program has itself; their namespaces are taken.
pub fn load(directory: &Path, others: &[Target]) -> Result<Vec<Declaration>, BadDeclaration> {
    let mut declarations: Vec<(PathBuf, Declaration)> = Vec::new();
    for file in files(directory)? {
        let ExtensionFile { namespace, resources } = read(&file)?;
        let bad = |key: &str, reason: String| BadDeclaration { file: file.clone(), key: key.to_owned(), reason };
        let taken = |taken: &str| taken.split('/').next() == Some(&namespace);
        if !is_path_word(&namespace) {
            return Err(bad("namespace", "a namespace is lower-case words joined by -".to_owned()));
        }
        if others.iter().any(|other| taken(&other.kind)) || declarations.iter().any(|(_, known)| known.namespace == namespace) {
            return Err(bad("namespace", format!("the namespace {namespace} is taken")));
        }
        for (plural, table) in resources {
            let declaration = declaration(&namespace, &plural, table)
                .map_err(|(key, reason)| bad(&format!("resources.{plural}{}", dotted(&key)), reason))?;
            if declarations.iter().any(|(_, known)| known.singular == declaration.singular) {
                return Err(bad(&format!("resources.{plural}.singular"), format!("{} is taken", declaration.singular)));
            }
            declarations.push((file.clone(), declaration));
        }
    }
    resolve(&mut declarations, others)?;
    Ok(declarations.into_iter().map(|(_, declaration)| declaration).collect())
}

fn dotted(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!(".{key}") }
}

fn files(directory: &Path) -> Result<BTreeSet<PathBuf>, BadDeclaration> {
    let bad = |error: std::io::Error| BadDeclaration { file: directory.to_owned(), key: String::new(), reason: error.to_string() };
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(directory).map_err(bad)? {
        let path = entry.map_err(bad)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.insert(path);
        }
    }
    Ok(files)
}

type Refused = (String, String);

fn declaration(namespace: &str, plural: &str, table: ResourceTable) -> Result<Declaration, Refused> {
    let refuse = |key: &str, reason: &str| Err((key.to_owned(), reason.to_owned()));
    if !is_path_word(plural) {
        return refuse("", "a resource is lower-case words joined by -");
    }
    if !is_member_name(&table.singular) {
        return refuse("singular", "the singular is lower-case words joined by _");
    }
    if table.version < 1 {
        return refuse("version", "versions count from 1");
    }
    let schema = schema(table.schema)?;
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let search = searchable(table.search, &properties)?;
    let references: BTreeMap<_, _> = table.references.into_iter().map(|(member, kind)| (member, Target { kind, table: None, prefix: "record" })).collect();
    if let Some(member) = references.keys().find(|member| form(&properties, member) != Some(FieldForm::Text)) {
        return refuse(&format!("references.{member}"), "there is no property of this name with the type string");
    }
    let filters = filterable(table.filters, &properties, &references)?;
    let becomes = becoming(table.becomes, &properties, &table.singular)?;
    let validator = json_schema::validator(&schema).map_err(|error| ("schema".to_owned(), error.to_string()))?;
    if let Err(unfit) = json_schema::check(&validator, &Value::Object(table.sample.clone())) {
        return Err(("sample".to_owned(), unfit.to_string()));
    }
    let kind = format!("{namespace}/{plural}");
    Ok(Declaration {
        terms: words::terms(&kind, plural, &table.singular, &filters, &search),
        kind,
        namespace: namespace.to_owned(),
        plural: plural.to_owned(),
        singular: table.singular,
        version: table.version,
        description: table.description,
        schema,
        search,
        filters,
        references,
        sample: table.sample,
        becomes,
        validator,
    })
}

/// The schema of an object whose members are known; others are refused unless it says otherwise. What the shop keeps with a record is
/// always welcome, as `meta`.
fn schema(mut schema: Map<String, Value>) -> Result<Value, Refused> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(("schema.type".to_owned(), "a record is an object".to_owned()));
    }
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return Err(("schema.properties".to_owned(), "a record has properties".to_owned()));
    };
    if let Some(bad) = properties.keys().find(|name| !is_member_name(name) || RESERVED.contains(&name.as_str())) {
        return Err((format!("schema.properties.{bad}"), "this name is reserved, or not lower-case words joined by _".to_owned()));
    }
    properties.entry("meta").or_insert_with(|| serde_json::json!({ "type": "object" }));
    schema.entry("additionalProperties").or_insert(Value::Bool(false));
    Ok(Value::Object(schema))
}

fn form(properties: &Map<String, Value>, member: &str) -> Option<FieldForm> {
    properties.get(member).and_then(FieldForm::of)
}

fn searchable(search: Vec<String>, properties: &Map<String, Value>) -> Result<Vec<String>, Refused> {
    match search.iter().find(|member| form(properties, member) != Some(FieldForm::Text)) {
        Some(member) => Err(("search".to_owned(), format!("{member} is no property of the type string"))),
        None => Ok(search),
    }
}

fn filterable(
    filters: Vec<String>,
    properties: &Map<String, Value>,
    references: &BTreeMap<String, Target>,
) -> Result<BTreeMap<String, FieldForm>, Refused> {
    let form = |member: String| match form(properties, &member) {
        Some(_) if references.contains_key(&member) => Ok((member, FieldForm::Reference)),
        Some(form) if !["limit", "after", "sort", "query", "created_after", "created_before"].contains(&member.as_str()) => Ok((member, form)),
        _ => Err(("filters".to_owned(), format!("{member} is no property with a single scalar type, or a parameter of every list"))),
    };
    filters.into_iter().map(form).collect()
}

fn becoming(
    becomes: BTreeMap<String, BTreeMap<String, String>>,
    properties: &Map<String, Value>,
    singular: &str,
) -> Result<BTreeMap<String, BTreeMap<String, EventName>>, Refused> {
    let mut known = BTreeMap::new();
    for (member, values) in becomes {
        let key = |value: &str| format!("becomes.{member}.{value}");
        if form(properties, &member) != Some(FieldForm::Text) {
            return Err((format!("becomes.{member}"), "there is no property of this name with the type string".to_owned()));
        }
        let mut events = BTreeMap::new();
        for (value, name) in values {
            let event: EventName = name.parse().map_err(|error: crate::events::NotAnEventName| (key(&value), error.to_string()))?;
            if event.resource() != singular {
                return Err((key(&value), format!("the events of this resource begin with {singular}.")));
            }
            events.insert(value, event);
        }
        known.insert(member, events);
    }
    Ok(known)
}

/// Finds what the references refer to.
fn resolve(declarations: &mut [(PathBuf, Declaration)], others: &[Target]) -> Result<(), BadDeclaration> {
    let declared: BTreeSet<String> = declarations.iter().map(|(_, declaration)| declaration.kind.clone()).collect();
    for (file, declaration) in declarations {
        let plural = declaration.plural.clone();
        for (member, target) in &mut declaration.references {
            match others.iter().find(|other| other.kind == target.kind) {
                Some(other) => *target = other.clone(),
                None if declared.contains(&target.kind) => {}
                None => {
                    let (key, reason) = (format!("resources.{plural}.references.{member}"), format!("there is no {}", target.kind));
                    return Err(BadDeclaration { file: file.clone(), key, reason });
                }
            }
        }
    }
    Ok(())
}
