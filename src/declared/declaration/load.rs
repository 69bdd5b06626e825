//! Loads all files of the directory. Rejects names that are taken or invalid in paths or statements.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::declared::declaration::fields::{is_member_name, is_path_word};
use crate::declared::declaration::file::{ExtensionFile, ResourceTable, read};
use crate::declared::declaration::{Declaration, InvalidDeclaration, InvalidKey, descriptor, resource};
use crate::events::Catalogue;
use crate::resources::{Referable, ResourceDescriptor};

/// The program's own kinds and events: their names are taken, and the records can be referenced.
#[derive(Debug)]
pub struct BuiltIn<'a> {
    /// Their namespaces are taken, and declared fields may reference their records.
    pub kinds: &'a [Referable],
    /// Their groups, the parts of the names before the dot, are taken.
    pub events: &'a Catalogue,
}

/// A resource of which only the names have been validated.
struct Draft {
    file: PathBuf,
    namespace: String,
    descriptor: ResourceDescriptor,
    table: ResourceTable,
}

impl Draft {
    fn key(&self) -> String {
        format!("resources.{}", self.descriptor.plural.replace('_', "-"))
    }
}

/// Loads all declarations from the files `*.toml` in `directory`, in the order of the file names. `referable` makes a declared kind one
/// that others may reference.
pub fn load(
    directory: &Path,
    built_in: &BuiltIn<'_>,
    referable: impl Fn(&str, &ResourceDescriptor) -> Referable,
) -> Result<Vec<Declaration>, InvalidDeclaration> {
    let mut drafts: Vec<Draft> = Vec::new();
    for file in files(directory)? {
        let found = read(&file).and_then(|extension| name(&file, extension, &drafts, built_in));
        drafts.extend(found.map_err(|bad| bad.of(file))?);
    }
    let declared = drafts.iter().map(|draft| referable(&draft.namespace, &draft.descriptor));
    let referable: Vec<_> = built_in.kinds.iter().cloned().chain(declared).collect();
    let declare = |draft: Draft| {
        let key = draft.key();
        resource::declare(&draft.namespace, draft.descriptor, draft.table, &referable).map_err(|bad| bad.below(&key).of(draft.file))
    };
    drafts.into_iter().map(declare).collect()
}

fn files(directory: &Path) -> Result<BTreeSet<PathBuf>, InvalidDeclaration> {
    let bad = |error: std::io::Error| InvalidKey::new("", error.to_string()).of(directory.to_owned());
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(directory).map_err(bad)? {
        let path = entry.map_err(bad)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.insert(path);
        }
    }
    Ok(files)
}

/// Validates the names of the resources of one file, given those of the previous files.
fn name(file: &Path, extension: ExtensionFile, before: &[Draft], built_in: &BuiltIn<'_>) -> Result<Vec<Draft>, InvalidKey> {
    let ExtensionFile { namespace, resources } = extension;
    if !is_path_word(&namespace) {
        return Err(InvalidKey::new("namespace", "a namespace must be lower-case words joined by -"));
    }
    let of_the_program = |namespace: &str| built_in.kinds.iter().any(|kind| kind.name.split('/').next() == Some(namespace));
    if of_the_program(&namespace) || before.iter().any(|draft| draft.namespace == namespace) {
        return Err(InvalidKey::new("namespace", format!("the namespace {namespace} is already used")));
    }
    let mut drafts: Vec<Draft> = Vec::new();
    for (plural, table) in resources {
        let key = format!("resources.{plural}");
        // A list response has the key `meta` beside the records.
        if !is_path_word(&plural) || plural == "meta" {
            return Err(InvalidKey::new(key, "a resource must be lower-case words joined by -, and not meta"));
        }
        let singular = &table.singular;
        if !is_member_name(singular) {
            return Err(InvalidKey::new(format!("{key}.singular"), "a singular must be lower-case words joined by _"));
        }
        // The names of its events start with the singular name.
        if built_in.events.has_group(singular) || before.iter().chain(&drafts).any(|draft| draft.descriptor.singular == singular) {
            return Err(InvalidKey::new(format!("{key}.singular"), format!("the singular {singular} is already used")));
        }
        let descriptor = descriptor::names(&namespace, &plural, singular);
        drafts.push(Draft { file: file.to_owned(), namespace: namespace.clone(), descriptor, table });
    }
    Ok(drafts)
}
