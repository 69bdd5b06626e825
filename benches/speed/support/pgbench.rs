//! PostgreSQL's own benchmark on the service's server: what the database can do without the service.

use std::fs;
use std::process::Command;
use std::time::Duration;

use super::service::Service;

/// A database with the tables of `pgbench`.
pub struct Pgbench<'a> {
    service: &'a Service,
    clients: usize,
}

impl<'a> Pgbench<'a> {
    pub fn prepare(service: &'a Service, clients: usize) -> Self {
        let this = Self { service, clients };
        this.run(&["--initialize", "--quiet", "--scale=1"]);
        this
    }

    /// Selects of a single row by its key, prepared.
    pub fn selects_per_second(&self, time: Duration) -> f64 {
        self.measure(&["--select-only"], time)
    }

    /// Inserts of a single row, prepared, each durable before its response.
    pub fn inserts_per_second(&self, time: Duration) -> f64 {
        self.script("insert into pgbench_history (tid, bid, aid, delta, mtime) values (1, 1, 1, 1, current_timestamp);", time)
    }

    /// Updates of a single row by its key, prepared, each durable before its response.
    pub fn updates_per_second(&self, time: Duration) -> f64 {
        let sql = "\\set aid random(1, 100000)\nupdate pgbench_accounts set abalance = abalance + 1 where aid = :aid;";
        self.script(sql, time)
    }

    fn script(&self, sql: &str, time: Duration) -> f64 {
        let script = self.service.directory().join("pgbench.sql");
        fs::write(&script, sql).unwrap();
        self.measure(&[&format!("--file={}", script.display())], time)
    }

    fn measure(&self, what: &[&str], time: Duration) -> f64 {
        let (clients, seconds) = (format!("--client={}", self.clients), format!("--time={}", time.as_secs().max(1)));
        let report = self.run(&[what, &["--protocol=prepared", "--no-vacuum", &clients, &seconds]].concat());
        let line = report.lines().find_map(|line| line.strip_prefix("tps = ")).expect("pgbench prints its rate");
        line.split(' ').next().unwrap().parse().unwrap()
    }

    fn run(&self, arguments: &[&str]) -> String {
        let programs = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path().join("bin"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::env::split_paths(&path).chain(programs)).unwrap();
        let database = self.service.database_url();
        let output = Command::new("pgbench").env("PATH", &path).args(arguments).arg(database).output().expect("pgbench is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}
