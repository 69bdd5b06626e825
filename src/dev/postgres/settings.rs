//! The settings of a private server, passed to PostgreSQL as command line options.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The settings of a private server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The directory of everything that the server needs. It is created if missing; see
    /// [`default_data_dir`](crate::config::default_data_dir).
    pub data_dir: PathBuf,
    /// Whether a commit survives a power failure. Tests do without, which makes them several times faster.
    pub durable: bool,
    /// PostgreSQL's setting of the same name.
    pub max_connections: u16,
}

impl Settings {
    /// Passes all settings on the command line; the `postgresql.conf` written by initdb is left to the user.
    pub(super) fn configure(&self, postgres: &mut Command, sockets: &Path) {
        postgres.args(["-D", ".", "-p", "5432", "-k"]).arg(sockets);
        let mut set = |option: &str| {
            postgres.args(["-c", option]);
        };
        set("listen_addresses=");
        set("timezone=UTC");
        set("log_timezone=UTC");
        set(&format!("max_connections={}", self.max_connections));
        if !self.durable {
            set("fsync=off");
            set("synchronous_commit=off");
            set("full_page_writes=off");
            set("wal_level=minimal");
            set("max_wal_senders=0");
            // An autovacuum worker connected to a template database would prevent it from being copied.
            set("autovacuum=off");
        }
    }
}
