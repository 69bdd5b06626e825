//! PostgreSQL's own benchmark: what the server could do if nothing were asked of it but one statement.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::service::Service;

/// One row in a transaction of its own.
const INSERT: &str = "insert into pgbench_history (tid, bid, aid, delta, mtime) values (1, 1, 1, 1, current_timestamp);";

/// PostgreSQL's own benchmark, on a database that has its tables.
pub struct Pgbench {
    database: String,
    script: PathBuf,
}

impl Pgbench {
    pub fn prepare(service: &Service) -> Self {
        let script = service.directory().join("insert.sql");
        fs::write(&script, INSERT).unwrap();
        let this = Self { database: service.database_url(), script };
        this.run(&["--initialize", "--quiet", "--scale=1"]);
        this
    }

    /// Selects of a single row by its key, prepared.
    pub fn selects_per_second(&self, clients: usize, time: Duration) -> f64 {
        self.rate("--select-only", clients, time)
    }

    /// Inserts of a single row, each on disk before the next, prepared.
    pub fn inserts_per_second(&self, clients: usize, time: Duration) -> f64 {
        self.rate(&format!("--file={}", self.script.display()), clients, time)
    }

    fn rate(&self, what: &str, clients: usize, time: Duration) -> f64 {
        let (clients, seconds) = (format!("--client={clients}"), format!("--time={}", time.as_secs().max(1)));
        let report = self.run(&[what, "--protocol=prepared", "--no-vacuum", &clients, &seconds]);
        let line = report.lines().find_map(|line| line.strip_prefix("tps = ")).expect("pgbench tells its rate");
        line.split(' ').next().unwrap().parse().unwrap()
    }

    fn run(&self, arguments: &[&str]) -> String {
        let programs = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path().join("bin"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::env::split_paths(&path).chain(programs)).unwrap();
        let output = Command::new("pgbench").env("PATH", &path).args(arguments).arg(&self.database).output().expect("pgbench is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}
