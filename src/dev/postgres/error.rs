//! Why a private PostgreSQL is not there.

use std::io;
use std::path::{Path, PathBuf};

/// What kept the private server from running; each text is meant for the person who typed `cargo
/// run`.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// Neither the programs nor `npm`, which could fetch them.
    #[error(
        "PostgreSQL is not installed: its programs `initdb` and `postgres` are neither on PATH \
         nor where they usually lie. Install them with {install}, or name a server of your own in \
         the settings"
    )]
    ProgramsMissing {
        /// The command for this system.
        install: &'static str,
    },
    /// `npm` is there, but did not bring the programs.
    #[error(
        "PostgreSQL is not installed and npm could not fetch it. Install it with {install}. What \
         npm said:\n{output}"
    )]
    FetchFailed {
        /// The command for this system.
        install: &'static str,
        /// What npm wrote to its standard error.
        output: String,
    },
    /// The data were made by a PostgreSQL that has gone; another major version cannot read them.
    #[error(
        "the data are of PostgreSQL {version}, which is not installed any more; install that \
         version again, or move the data directory away to start empty"
    )]
    OtherVersion {
        /// The major version that made them.
        version: String,
    },
    /// We are root, PostgreSQL refuses to be, and nobody else is there.
    #[error(
        "PostgreSQL does not run as root, and this system has neither an account `postgres` nor \
         `nobody`"
    )]
    NoAccount,
    /// The server's account is shut out by a directory on the way.
    #[error(
        "PostgreSQL runs as `{account}` here, which may not enter {}; choose a data directory \
         elsewhere, such as /var/lib/portico",
        directory.display()
    )]
    ShutOut {
        /// The account the server runs as.
        account: String,
        /// The first directory on the way to the data that it may not enter.
        directory: PathBuf,
    },
    /// Somebody else runs a server there, and did not stop while we waited.
    #[error(
        "another Portico is running on the data in {}; stop it, or choose another data directory",
        data_dir.display()
    )]
    InUse {
        /// The directory both want.
        data_dir: PathBuf,
    },
    /// No directory's name will do for a Unix socket.
    #[error(
        "the names of all directories for the Unix socket are too long or hold a comma; the last \
         one tried was {}",
        tried.display()
    )]
    NoPlaceForSocket {
        /// The last candidate.
        tried: PathBuf,
    },
    /// The cluster could not be made.
    #[error("{program} failed while making the database cluster:\n{output}")]
    ClusterNotMade {
        /// Which of PostgreSQL's programs.
        program: &'static str,
        /// What it wrote to its standard error.
        output: String,
    },
    /// The server ended, or hung, before it took connections.
    #[error("PostgreSQL did not come up; its log {} ends with:\n{tail}", log.display())]
    NotReady {
        /// The whole log.
        log: PathBuf,
        /// Its last lines.
        tail: String,
    },
    /// The system refused something.
    #[error("could not {doing} {}", path.display())]
    Io {
        /// What was to be done, as a verb.
        doing: &'static str,
        /// To which file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// Says of a refusal by the system what was to be done, and to what.
pub(super) trait Doing<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, PostgresError>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, PostgresError> {
        self.map_err(|source| PostgresError::Io { doing, path: path.to_owned(), source })
    }
}
