//! `pg_dump` and `pg_restore`: where they are, and how they reach the database of the settings.
//!
//! The password goes into their environment, which only their own account can read, and never into their arguments, which everybody on the
//! machine can.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use secrecy::ExposeSecret;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, Command};
use tokio_util::sync::CancellationToken;

use crate::cli::Failure;
use crate::config::Config;
use crate::kernel::database::DatabaseUrl;
use crate::kernel::database::programs::find_program;

/// A signal came before the command was done.
#[derive(Debug, thiserror::Error)]
#[error("stopped: what was not complete is taken back")]
pub(super) struct Stopped;

/// What `work` returns, unless a signal comes before. The program that it runs is killed then. At a terminal the program gets the signal too,
/// which is the reason if it fails.
pub(super) async fn unless_stopped<T>(stop: &CancellationToken, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    // Boxed: a large future would otherwise have its size twice here.
    match stop.run_until_cancelled(Box::pin(work)).await {
        Some(done) if done.is_ok() || !stop.is_cancelled() => done,
        _ => Err(Stopped.into()),
    }
}

/// The database of the settings, for the role that owns the tables: the other one may neither read all of it nor make any. The private one of
/// development has no URL that outlives it.
pub(super) fn database_url(config: &Config) -> Result<&DatabaseUrl, Failure> {
    let url = config.database.url.as_ref().map(|url| config.database.owner_url.as_ref().unwrap_or(url));
    Ok(url.ok_or("backups are of the database that database.url names, and it names none")?)
}

/// Starts `program` with these arguments on this database.
pub(super) fn start(program: &str, url: &DatabaseUrl, arguments: &[&str], stdin: Stdio, stdout: Stdio) -> Result<Child, Failure> {
    let path = find(program)?;
    let (without_password, password) = url.for_libpq();
    let mut command = Command::new(&path);
    for (name, _) in std::env::vars_os() {
        // PGPORT and similar variables would lead elsewhere. The password may be in the environment instead of the URL.
        if name.as_encoded_bytes().starts_with(b"PG") && (name != "PGPASSWORD" || password.is_some()) {
            command.env_remove(name);
        }
    }
    if let Some(password) = password {
        command.env("PGPASSWORD", password.expose_secret());
    }
    command.arg(format!("--dbname={without_password}")).arg("--no-password").args(arguments);
    command.stdin(stdin).stdout(stdout).stderr(Stdio::piped()).kill_on_drop(true);
    command.spawn().map_err(|error| format!("{} cannot be run: {error}", path.display()).into())
}

fn find(program: &str) -> Result<PathBuf, Failure> {
    let missing = || format!("{program} is not installed (Debian: apt-get install postgresql-client)").into();
    find_program(program).ok_or_else(missing)
}

/// What the program complains about, once it has ended.
pub(super) async fn complaints(stderr: Option<ChildStderr>) -> String {
    let mut text = String::new();
    if let Some(mut stderr) = stderr {
        // What is not text is left out: the exit status tells that it failed.
        let _ = stderr.read_to_string(&mut text).await;
    }
    text.trim().to_owned()
}

pub(super) fn must_have_succeeded(program: &str, status: ExitStatus, complaints: &str) -> Result<(), Failure> {
    if status.success() { Ok(()) } else { Err(format!("{program} has failed ({status}): {complaints}").into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_missing_is_named_with_its_package() {
        assert_eq!(
            find("pg_of_no_edition").unwrap_err().to_string(),
            "pg_of_no_edition is not installed (Debian: apt-get install postgresql-client)"
        );
    }
}
