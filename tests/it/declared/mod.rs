//! Declared extensions: decisions, section 9. General rules for all kinds of records are tested for the bundled extensions too,
//! because `every_resource.rs`, `api_keys.rs` and `openapi.rs` list them in their tables.

mod documented;
mod files;
mod records;
mod references;
mod starting;

use std::fs;

use portico::dev::temporary::TemporaryDirectory;

/// A directory with one file, `garden.toml`.
fn garden(text: &str) -> TemporaryDirectory {
    let directory = TemporaryDirectory::make("declared").unwrap();
    fs::write(directory.path().join("garden.toml"), text).unwrap();
    directory
}
