//! Locates `initdb` and `postgres`.

use std::env;
use std::fs;
use std::iter;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::account::Account;
use super::error::PostgresError;
use super::fetch;

/// Directories with one subdirectory per version, and the prefix before the version in its name.
const VERSIONED: [(&str, &str); 5] = [
    ("/usr/lib/postgresql", ""),          // Debian, Ubuntu
    ("/usr", "pgsql-"),                   // PostgreSQL's own packages for Fedora and related systems
    ("/opt/homebrew/opt", "postgresql@"), // Homebrew on Apple silicon
    ("/usr/local/opt", "postgresql@"),    // Homebrew on Intel
    ("/Applications/Postgres.app/Contents/Versions", ""),
];

/// A directory with both programs. They must come from one installation: `initdb` copies files that `postgres` reads.
#[derive(Debug, PartialEq)]
pub(super) struct Programs {
    directory: PathBuf,
}

impl Programs {
    /// The first installed programs, including those fetched by `npm`, that the account can reach and that match `version`, the
    /// version of existing data. If there are none, `npm` fetches them into the directory `npm`.
    pub(super) fn find(version: Option<&str>, npm: &Path, account: &Account) -> Result<Self, PostgresError> {
        let found = installed()
            .chain(fetch::directory(npm))
            .filter_map(|directory| Self::in_directory(&directory))
            .filter(|programs| account.must_reach(&programs.directory).is_ok())
            .find(|programs| version.is_none_or(|version| programs.are_of(version)));
        match (found, version) {
            (Some(programs), _) => Ok(programs),
            (None, Some(version)) if !is_of(fetch::VERSION, version) => Err(PostgresError::OtherVersion { version: version.to_owned() }),
            (None, _) => fetch::fetch(npm),
        }
    }

    /// Resolves links, because `postgres` looks for its own files relative to its real location.
    pub(super) fn in_directory(directory: &Path) -> Option<Self> {
        let real = fs::canonicalize(directory.join("postgres")).ok()?.parent()?.to_owned();
        let complete = ["initdb", "postgres"].iter().all(|name| is_executable(&real.join(name)));
        complete.then_some(Self { directory: real })
    }

    pub(super) fn initdb(&self) -> PathBuf {
        self.directory.join("initdb")
    }

    pub(super) fn postgres(&self) -> PathBuf {
        self.directory.join("postgres")
    }

    /// Runs `initdb`, which responds in a third of the time that `postgres` needs.
    fn are_of(&self, version: &str) -> bool {
        let answer = Command::new(self.initdb()).arg("--version").output();
        let answer = answer.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        // initdb (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)
        answer.split_whitespace().nth(2).is_some_and(|full| is_of(full, version))
    }
}

/// Whether the full version (15.18, 17beta1) belongs to the major version (15, 17), which determines the file format.
fn is_of(full: &str, major: &str) -> bool {
    full.strip_prefix(major).is_some_and(|minor| !minor.starts_with(|it: char| it.is_ascii_digit()))
}

/// The first installed program with this name.
pub fn find_program(name: &str) -> Option<PathBuf> {
    installed().map(|directory| directory.join(name)).find(|program| is_executable(program))
}

/// All directories where a system may keep the programs, each searched lazily.
fn installed() -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = env::split_paths(&path).filter(|directory| directory.is_absolute()).collect();
    let versioned = VERSIONED.iter().flat_map(|(parent, prefix)| newest_first(Path::new(parent), prefix));
    on_path.into_iter().chain(iter::once_with(told_by_pg_config).flatten()).chain(versioned)
}

fn told_by_pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    String::from_utf8(output.stdout).ok().map(|line| PathBuf::from(line.trim_end()))
}

/// `<parent>/<prefix><version>/bin`, the highest version first.
fn newest_first(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut versions: Vec<(f32, PathBuf)> = entries
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    versions.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    versions.into_iter().map(|(_, directory)| directory).collect()
}

fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::dev::temporary::TemporaryDirectory;

    fn install(directory: &Path, names: &[&str]) {
        fs::create_dir_all(directory).unwrap();
        for name in names {
            let program = directory.join(name);
            fs::write(&program, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        }
    }

    #[test]
    fn the_newest_version_comes_first_by_number_and_not_by_letter() {
        let temporary = TemporaryDirectory::make("portico-programs").unwrap();
        for name in ["at@9.6", "at@15", "at@17", "at@common", "elsewhere@18"] {
            fs::create_dir(temporary.path().join(name)).unwrap();
        }
        let expected = ["at@17/bin", "at@15/bin", "at@9.6/bin"].map(|name| temporary.path().join(name));
        assert_eq!(newest_first(temporary.path(), "at@"), expected);
    }

    #[test]
    fn programs_are_used_from_where_they_really_lie() {
        let temporary = TemporaryDirectory::make("portico-programs").unwrap();
        let real = temporary.path().canonicalize().unwrap().join("lib/15/bin");
        install(&real, &["initdb", "postgres"]);
        let bin = temporary.path().join("bin");
        fs::create_dir(&bin).unwrap();
        symlink(real.join("postgres"), bin.join("postgres")).unwrap();
        assert_eq!(Programs::in_directory(&bin), Some(Programs { directory: real }));
    }

    #[test]
    fn a_server_without_initdb_is_not_an_installation() {
        let temporary = TemporaryDirectory::make("portico-programs").unwrap();
        install(temporary.path(), &["postgres"]);
        assert_eq!(Programs::in_directory(temporary.path()), None);
    }

    #[test]
    fn data_are_read_by_their_major_version_only() {
        for (full, major, fits) in
            [("15.18", "15", true), ("17beta1", "17", true), ("9.6.24", "9.6", true), ("15.18", "1", false), ("16.2", "15", false)]
        {
            assert_eq!(is_of(full, major), fits, "{full} {major}");
        }
    }
}
