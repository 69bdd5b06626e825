//! Locates `initdb` and `postgres`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::account::Account;
use super::error::PostgresError;
use super::fetch;
use crate::kernel::database::programs::{installed, is_executable};

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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

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
