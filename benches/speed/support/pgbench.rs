//! PostgreSQL's own benchmark, on the service's server.

use std::fs;
use std::process::Command;
use std::time::Duration;

use super::service::Service;

/// A single row, found by its key and changed.
const UPDATE: &str = "\\set aid random(1, 100000)
update pgbench_accounts set abalance = abalance + 1 where aid = :aid;
";

/// On a database that has its tables.
pub struct Pgbench {
    database: String,
    clients: usize,
    /// The file that holds [`UPDATE`].
    update: String,
}

impl Pgbench {
    pub fn prepare(service: &Service, clients: usize) -> Self {
        let update = service.directory().join("update.sql");
        fs::write(&update, UPDATE).unwrap();
        let this = Self { database: service.database_url(), clients, update: update.to_str().unwrap().to_owned() };
        this.run(&["--initialize", "--quiet", "--scale=1"]);
        this
    }

    /// Selects of a single row by its key, prepared.
    pub fn selects_per_second(&self, time: Duration) -> f64 {
        self.transactions_per_second("--select-only", time)
    }

    /// Updates of a single row by its key, prepared, each a transaction.
    pub fn updates_per_second(&self, time: Duration) -> f64 {
        self.transactions_per_second(&format!("--file={}", self.update), time)
    }

    fn transactions_per_second(&self, script: &str, time: Duration) -> f64 {
        let (clients, seconds) = (format!("--client={}", self.clients), format!("--time={}", time.as_secs().max(1)));
        let report = self.run(&[script, "--protocol=prepared", "--no-vacuum", &clients, &seconds]);
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
