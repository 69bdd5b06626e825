//! Declared extensions: decisions, section 9. The rules for all kinds of records are tested for the bundled extensions too, because
//! the tables in `tests/it/support/routes.rs` list them.

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
