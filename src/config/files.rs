//! Settings that a variable of the environment does not have itself, but in a file that it names: `PORTICO_APPLICATION_KEY__FILE`.
//!
//! A secret in a variable is seen by whoever may look at the process or at the description of its container. Platforms hand secrets over as
//! files instead. Every setting can be read from one, so that none of the secret ones can have been forgotten.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};

/// What a variable that names a file ends with.
pub(super) const SUFFIX: &str = "__FILE";
/// No setting is longer. What is, is another file than was meant.
const MAX_BYTES: u64 = 64 * 1024;

/// The reason why a variable that names a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileRefusal {
    #[error("{0} and {0}{SUFFIX} are both set; keep one of them")]
    Both(String),
    #[error("{name} names {path}, which cannot be read: {error}")]
    Unreadable { name: String, path: String, error: io::Error },
    #[error("{name} names {path}, which is empty")]
    Empty { name: String, path: String },
    #[error("{name} names {path}, which has more than 64 KiB")]
    TooLarge { name: String, path: String },
    #[error("{name} names {path}, which is not text in UTF-8")]
    NotText { name: String, path: String },
}

/// Replaces each variable that names a file by the one whose value the file has. An empty name is none.
pub(super) fn read(mut variables: HashMap<String, String>) -> Result<HashMap<String, String>, FileRefusal> {
    let mut named: Vec<_> = variables.extract_if(|name, _| name.ends_with(SUFFIX)).filter(|(_, path)| !path.is_empty()).collect();
    // Sorted, so that the same mistake has the same message.
    named.sort_unstable();
    for (name, path) in named {
        let setting = name.strip_suffix(SUFFIX).unwrap_or(&name).to_owned();
        if variables.get(&setting).is_some_and(|value| !value.is_empty()) {
            return Err(FileRefusal::Both(setting));
        }
        variables.insert(setting, value(name, path)?);
    }
    Ok(variables)
}

/// The text of the file without the end of its last line, which editors and `echo` add.
fn value(name: String, path: String) -> Result<String, FileRefusal> {
    let mut bytes = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes));
    match read {
        Err(error) => return Err(FileRefusal::Unreadable { name, path, error }),
        Ok(length) if length as u64 > MAX_BYTES => return Err(FileRefusal::TooLarge { name, path }),
        Ok(_) => {}
    }
    match String::from_utf8(bytes) {
        Err(_) => Err(FileRefusal::NotText { name, path }),
        Ok(text) => match text.trim_end_matches(['\n', '\r']) {
            "" => Err(FileRefusal::Empty { name, path }),
            text => Ok(text.to_owned()),
        },
    }
}
