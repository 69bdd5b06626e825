//! What a private server is to be like, and how PostgreSQL is told.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What a private server is to be like.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Holds everything the server needs, and is made if missing; see
    /// [`default_data_dir`](crate::dev::data_dir::default_data_dir).
    pub data_dir: PathBuf,
    /// Whether a commit survives a power cut. Tests do without, and are several times as fast.
    pub durable: bool,
    /// Connections at the same time.
    pub max_connections: u16,
}

impl Settings {
    /// Everything is said on the command line; the `postgresql.conf` that initdb wrote stays the
    /// user's.
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
            // A worker that looks into a template database would keep it from being copied.
            set("autovacuum=off");
        }
    }
}
