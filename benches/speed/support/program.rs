//! The program that is measured: that of this edition, or one that another edition has built.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Lets a benchmark send as much as it likes, and leaves out what docs/performance.md has figures of its own for.
const SETTINGS: [(&str, &str); 5] = [
    ("PORTICO_HTTP__TRUSTED_PROXIES", "127.0.0.1/32"),
    ("PORTICO_HTTP__ADMIN_LISTEN", "off"),
    ("PORTICO_STOREFRONT__REQUESTS_PER_MINUTE", "4000000000"),
    ("PORTICO_COMPANIES__REQUESTS_PER_MINUTE", "4000000000"),
    // A line for each request would fill the disk.
    ("PORTICO_LOG__ACCESS", "false"),
];

/// A built `portico`, and how it is started.
#[derive(Clone)]
pub struct Program {
    path: PathBuf,
    /// The program that runs it, with its arguments.
    runner: &'static [&'static str],
    settings: Vec<(&'static str, &'static str)>,
}

impl Program {
    /// The program of this edition.
    pub fn own() -> Self {
        Self { path: env!("CARGO_BIN_EXE_portico").into(), runner: &[], settings: SETTINGS.to_vec() }
    }

    /// That of another edition. It gets those settings that it knows: an edition without a limit has no setting for it either.
    pub fn other(path: &Path) -> Self {
        let path = path.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (settings, unknown): (Vec<_>, Vec<_>) = SETTINGS.into_iter().partition(|setting| knows(&path, *setting));
        for (name, _) in unknown {
            println!("{name} is left out for {}, which does not know it", path.display());
        }
        Self { path, runner: &[], settings }
    }

    /// The same, run by another program, such as `valgrind`.
    pub fn under(self, runner: &'static [&'static str]) -> Self {
        Self { runner, ..self }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What starts it.
    pub fn command(&self) -> impl Iterator<Item = &OsStr> {
        self.runner.iter().map(|word| OsStr::new(*word)).chain([self.path.as_os_str()])
    }

    /// The settings that it is started with, whatever is measured.
    pub fn settings(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.settings.iter().copied()
    }
}

/// Whether a program takes a setting. To check the health of a service, it reads all settings first, and there is none where it looks.
fn knows(program: &Path, (name, value): (&str, &str)) -> bool {
    let output = Command::new(program)
        .arg("healthcheck")
        .env("PORTICO_ENVIRONMENT", "development")
        .env("PORTICO_HTTP__LISTEN", "127.0.0.1:1")
        .env(name, value)
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    !String::from_utf8_lossy(&output.stderr).contains("unknown field")
}
