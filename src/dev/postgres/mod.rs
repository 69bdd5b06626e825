//! A private PostgreSQL for `cargo run` and `cargo test`, so that neither needs a server, a password or a port.
//!
//! ```text
//! <data_dir>/postgres/              the cluster, created once by initdb          cluster
//!            postgres-set-aside-1/  a former cluster that cannot be migrated     cluster
//!            npm/                   PostgreSQL's programs, if none is installed  fetch
//!            socket/                the Unix socket, the only way to connect     socket
//!            postgres.log           the server's log since its start
//! ```
//!
//! Only one process at a time runs a server on a data directory: the one that holds the lock of `claim`. The server runs under an
//! `account` that PostgreSQL accepts, and ends with the process. It shuts down cleanly when [`PrivatePostgres`] is stopped or
//! dropped. When the process is killed or exits without dropping it, as a test binary does, the kernel's parent-death signal stops
//! the server. A server that dies by itself is started again, if the process asks for that.
//!
//! Systems other than Linux have no such signal. There the server outlives a killed process until the next start on the same data,
//! which stops it first. A server whose data directory was removed by a later test run notices within a minute and exits.

mod account;
mod claim;
mod cluster;
mod command;
mod error;
mod fetch;
mod programs;
mod server;
mod settings;
mod socket;
#[cfg(test)]
mod tests;

use std::env;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};

use self::account::Account;
use self::claim::Claim;
use self::cluster::Cluster;
use self::command::command;
use self::error::Doing;
pub use self::error::PostgresError;
use self::programs::Programs;
use self::server::Server;
pub use self::settings::Settings;
use self::socket::SocketDirectory;
use super::data_dir::open_data_dir;
use super::temporary::TemporaryDirectory;
use crate::config::default_data_dir;

/// The role that owns everything on a private server.
pub const ROLE: &str = "portico";
/// The database that a private server has after its first start.
pub const DATABASE: &str = "portico";

/// How long a previous process on the same data may take to stop.
const WAIT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long its server may take, which ends once it has written everything to a disk that may be busy.
const SHUTDOWN_LIMIT: Duration = Duration::from_mins(1);
/// The pause between two questions to such a server, each of which costs it a process.
const SHUTDOWN_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The poll interval; a start takes 30 ms.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// A running private server. Dropping it stops it and blocks until it has ended; async callers use [`stop`](Self::stop) instead.
#[derive(Debug)]
pub struct PrivatePostgres {
    // Dropped in this order: the server ends before its files are removed and before another process may take the lock.
    server: Server,
    cluster: Cluster,
    socket: SocketDirectory,
    _temporary: Option<TemporaryDirectory>,
    _claim: Claim,
}

impl PrivatePostgres {
    /// Starts the server and waits until it accepts connections: 0.6 s the first time, 0.03 s later.
    ///
    /// Blocks its thread; async code calls it through `spawn_blocking`.
    ///
    /// # Errors
    /// Returns a [`PostgresError`] that distinguishes missing programs, a conflicting process, and errors of PostgreSQL itself.
    pub fn start(settings: &Settings) -> Result<Self, PostgresError> {
        Self::start_on(settings, &settings.data_dir.join("npm"), None)
    }

    /// Starts an empty server for tests, on a temporary directory that is removed with it (or, if the test binary exits without
    /// dropping it, by the next start of this kind). Blocks its thread.
    ///
    /// # Errors
    /// The same as [`start`](Self::start).
    pub fn start_temporary(max_connections: u16) -> Result<Self, PostgresError> {
        let temporary = TemporaryDirectory::make("portico-test").doing("make a directory in", &env::temp_dir())?;
        let settings = Settings { data_dir: temporary.path().to_owned(), durable: false, max_connections };
        Self::start_on(&settings, &default_data_dir().join("npm"), Some(temporary))
    }

    fn start_on(settings: &Settings, npm: &Path, temporary: Option<TemporaryDirectory>) -> Result<Self, PostgresError> {
        let data_dir = open_data_dir(&settings.data_dir).doing("make", &settings.data_dir)?;
        let claim = Claim::take(&data_dir, WAIT_TIMEOUT)?;
        let directory = data_dir.join("postgres");
        let account = Account::for_cluster(&directory)?;
        account.must_reach(&data_dir)?;

        let programs = Programs::find(cluster::version(&directory).as_deref(), npm, &account)?;
        let cluster = Cluster::open_or_make(&directory, &programs, &account, settings.durable)?;
        let socket = SocketDirectory::locate(&data_dir)?;
        await_predecessor(&cluster, &socket);
        socket.make(&account)?;

        let log = data_dir.join("postgres.log");
        let mut postgres = command(&programs.postgres(), &account, cluster.directory());
        settings.configure(&mut postgres, socket.path());
        postgres.stderr(open_log(&log)?);
        let server = Server::spawn(postgres).doing("run", &programs.postgres())?;
        server.await_ready(&cluster, &log)?;
        Ok(Self { server, cluster, socket, _temporary: temporary, _claim: claim })
    }

    /// The URL of a database on the server that another process runs on `data_dir`, if there is one. Waits for one that starts or stops,
    /// and blocks its thread meanwhile.
    ///
    /// A server without such a process is not there to stay, even if it answers: its process was killed, and it is about to follow.
    #[must_use]
    pub fn running(data_dir: &Path, database: &str) -> Option<String> {
        let data_dir = data_dir.canonicalize().ok()?;
        let deadline = Instant::now() + WAIT_TIMEOUT;
        while Claim::is_held(&data_dir) && Instant::now() < deadline {
            if cluster::postmaster(&data_dir.join("postgres")).is_some_and(|postmaster| postmaster.is_ready)
                && let Some(url) = socket::url_if_answered(&data_dir, ROLE, database)
            {
                return Some(url);
            }
            thread::sleep(POLL_INTERVAL);
        }
        None
    }

    /// From now on, the server is started again when it ends by itself. Each time, the log says so.
    pub fn keep_running(&self) {
        self.server.keep_running();
    }

    /// The URL of a database on this server, for example of [`DATABASE`].
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        self.socket.url(ROLE, database)
    }

    /// Ends all sessions and the server, and waits until it has ended. Must be called after all users of the server have ended.
    pub async fn stop(self) {
        let stopping = tokio::task::spawn_blocking(move || drop(self));
        stopping.await.expect("stopping does not panic, and a running blocking task is not cancelled");
    }

    /// Stops the server and renames its data, so that the next start creates an empty cluster. Returns the new path of the data.
    ///
    /// # Errors
    /// Returns an error of the file system.
    pub async fn set_aside(self) -> Result<PathBuf, PostgresError> {
        let setting_aside = tokio::task::spawn_blocking(move || {
            // The lock is held until the data is renamed.
            let Self { server, cluster, _claim, .. } = self;
            drop(server);
            cluster.set_aside()
        });
        setting_aside.await.expect("stopping does not panic, and a running blocking task is not cancelled")
    }
}

fn open_log(log: &Path) -> Result<File, PostgresError> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(log).doing("write the log", log)
}

/// Waits for the server of a previous process to end. That process has ended, because this one holds its lock. Its server may still
/// be flushing data or, without a parent-death signal, still be running.
fn await_predecessor(cluster: &Cluster, socket: &SocketDirectory) {
    let begun = Instant::now();
    while let Some(predecessor) = cluster.postmaster()
        // Also true if another process got the same id after a power failure; PostgreSQL itself distinguishes the two cases.
        && kill(predecessor.process, None).is_ok()
    {
        // Only a running server responds in this directory, so the process id is its own.
        let responds = socket.is_answered();
        let (limit, pause) = if responds { (SHUTDOWN_LIMIT, SHUTDOWN_POLL_INTERVAL) } else { (WAIT_TIMEOUT, POLL_INTERVAL) };
        if begun.elapsed() >= limit {
            return;
        }
        if responds {
            let _ = kill(predecessor.process, Signal::SIGINT);
        }
        thread::sleep(pause);
    }
}
