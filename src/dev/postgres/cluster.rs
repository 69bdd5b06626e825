//! The files of the server (a cluster in PostgreSQL's terms): created once and kept.

use std::fs::{self, DirBuilder};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use nix::unistd::Pid;

use super::account::Account;
use super::command::command;
use super::error::{Doing, PostgresError};
use super::programs::Programs;
use super::{DATABASE, ROLE};

/// A directory for `postgres -D`.
#[derive(Debug)]
pub(super) struct Cluster {
    directory: PathBuf,
}

impl Cluster {
    /// Opens the cluster at `directory`, or creates it. Its role [`ROLE`] is a superuser without a password: access is controlled
    /// by the permissions of the socket's directory.
    pub(super) fn open_or_make(directory: &Path, programs: &Programs, account: &Account, durable: bool) -> Result<Self, PostgresError> {
        if !directory.exists() {
            // The directory is renamed when it is complete, so that an interrupted creation is never taken for a cluster.
            let unfinished = directory.with_extension("unfinished");
            make_private_directory(&unfinished, account)?;
            make(&unfinished, programs, account, durable)?;
            fs::rename(&unfinished, directory).doing("rename the new cluster to", directory)?;
        }
        Ok(Self { directory: directory.to_owned() })
    }

    /// Renames the directory of a stopped server to the first free name beside it, and returns that.
    pub(super) fn set_aside(self) -> Result<PathBuf, PostgresError> {
        let mut names = (1..).map(|number| self.directory.with_file_name(format!("postgres-set-aside-{number}")));
        let aside = names.find(|name| !name.exists()).expect("only finitely many names are taken");
        fs::rename(&self.directory, &aside).doing("rename the cluster to", &aside)?;
        Ok(aside)
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The server's `postmaster.pid`, if a server is running or was killed.
    pub(super) fn postmaster(&self) -> Option<Postmaster> {
        postmaster(&self.directory)
    }
}

/// The same for the cluster at `directory`.
pub(super) fn postmaster(directory: &Path) -> Option<Postmaster> {
    Postmaster::parse(&fs::read_to_string(directory.join("postmaster.pid")).ok()?)
}

/// The major version of the cluster at `directory`, if there is one.
pub(super) fn version(directory: &Path) -> Option<String> {
    fs::read_to_string(directory.join("PG_VERSION")).ok().map(|version| version.trim().to_owned())
}

/// Creates an empty directory that only the server's account (and root) may enter. An existing directory is removed first.
pub(super) fn make_private_directory(directory: &Path, account: &Account) -> Result<(), PostgresError> {
    if directory.exists() {
        fs::remove_dir_all(directory).doing("empty", directory)?;
    }
    DirBuilder::new().mode(0o700).create(directory).doing("make the directory", directory)?;
    account.take_over(directory).doing("change the owner of", directory)
}

fn make(directory: &Path, programs: &Programs, account: &Account, durable: bool) -> Result<(), PostgresError> {
    let mut initdb = command(&programs.initdb(), account, directory);
    initdb
        .arg("--pgdata=.")
        .arg(format!("--username={ROLE}"))
        .args(["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-instructions"])
        .args((!durable).then_some("--no-sync"));
    let output = initdb.output().doing("run", &programs.initdb())?;
    must_have_succeeded("initdb", &output)?;

    // Single-user mode takes 0.07 s; starting a server, connecting and running `createdb` take three times as long.
    let mut single_user = command(&programs.postgres(), account, directory);
    single_user
        .args(["--single", "-j", "-D", ".", "-c", "exit_on_error=on"])
        .args((!durable).then_some("-F"))
        .arg("postgres")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut process = single_user.spawn().doing("run", &programs.postgres())?;
    let mut input = process.stdin.take().expect("standard input is a pipe");
    // A program that does not read its input has failed, and explains why on standard error.
    let _ = writeln!(input, "create database {DATABASE};");
    drop(input);
    let output = process.wait_with_output().doing("wait for", &programs.postgres())?;
    must_have_succeeded("postgres", &output)
}

fn must_have_succeeded(program: &'static str, output: &Output) -> Result<(), PostgresError> {
    if output.status.success() {
        return Ok(());
    }
    let output = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(PostgresError::ClusterNotMade { program, output })
}

/// The server's main process, as described in `postmaster.pid`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Postmaster {
    pub(super) process: Pid,
    /// Whether the server accepts connections.
    pub(super) is_ready: bool,
}

impl Postmaster {
    /// The file is written line by line. A missing state (line 8) means that the server is still starting.
    fn parse(file: &str) -> Option<Self> {
        let mut lines = file.lines();
        let process = lines.next()?.trim().parse().ok().filter(|id| *id > 0)?;
        let is_ready = lines.nth(6).is_some_and(|state| ["ready", "standby"].contains(&state.trim()));
        Some(Self { process: Pid::from_raw(process), is_ready })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "4711\n/data/postgres\n1763715600\n5432\n/data/socket\n\n  4294967 3\n";

    #[test]
    fn the_postmaster_is_ready_only_when_it_reports_so() {
        let process = Pid::from_raw(4711);
        let cases = [("", false), ("starting\n", false), ("ready   \n", true), ("standby \n", true), ("stopping\n", false)];
        for (state, is_ready) in cases {
            let parsed = Postmaster::parse(&format!("{LINES}{state}"));
            assert_eq!(parsed, Some(Postmaster { process, is_ready }), "{state}");
        }
    }

    #[test]
    fn a_file_that_is_just_being_written_names_nobody() {
        assert_eq!(Postmaster::parse(""), None);
        assert_eq!(Postmaster::parse("\n"), None);
    }
}
