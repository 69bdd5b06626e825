//! Which files are loaded.

use std::path::{Path, PathBuf};

use crate::declared::declaration::{self, BuiltIn, Declaration, InvalidDeclaration};
use crate::declared::record::DeclaredRecord;
use crate::kernel::settings;
use crate::resources::{Operation, Referable};

/// The default directory, if the settings name none.
const USUAL_DIRECTORY: &str = "config/extensions";

/// `[extensions]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The directory of the files. If unset, `config/extensions` in the working directory, if it exists.
    #[serde(deserialize_with = "settings::optional")]
    pub directory: Option<PathBuf>,
    /// Kinds, such as `rental/bikes`, whose files were removed on purpose. Their records stay in the database and are not served.
    #[serde(deserialize_with = "settings::list")]
    pub retired: Vec<String>,
    /// Whether no files are read at all.
    #[serde(skip)]
    none: bool,
}

impl Settings {
    /// The same without any file, for what does not depend on them.
    #[must_use]
    pub fn without_files(self) -> Self {
        Self { none: true, ..self }
    }

    /// Loads all declarations in the files, which are added to the `built_in` extensions.
    pub fn load(&self, built_in: &BuiltIn<'_>) -> Result<Vec<Declaration>, InvalidDeclaration> {
        match &self.directory {
            _ if self.none => Ok(Vec::new()),
            Some(directory) => load(directory, built_in),
            None if Path::new(USUAL_DIRECTORY).is_dir() => load(Path::new(USUAL_DIRECTORY), built_in),
            None => Ok(Vec::new()),
        }
    }
}

/// Loads all declarations from the files `*.toml` in `directory`, in the order of the file names.
pub fn load(directory: &Path, built_in: &BuiltIn<'_>) -> Result<Vec<Declaration>, InvalidDeclaration> {
    declaration::load(directory, built_in, |namespace, descriptor| Referable::of::<DeclaredRecord>(namespace, descriptor, Operation::ALL))
}
