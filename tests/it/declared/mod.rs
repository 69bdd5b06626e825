//! Declared extensions: decisions, section 9. What holds of every kind of record holds of those that ship, too: `every_resource/`,
//! `api_keys.rs` and `openapi.rs` have them in their tables.

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
