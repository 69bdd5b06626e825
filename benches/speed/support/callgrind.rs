//! Callgrind, which counts the instructions of the service.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::service::Service;

/// A service that runs under Callgrind.
pub struct Callgrind {
    process: u32,
    /// What the names of its reports begin with.
    reports: PathBuf,
    /// How many reports there are.
    written: usize,
}

impl Callgrind {
    /// What the service is started with. Nothing is counted before [`Self::of`].
    pub const COMMAND: [&str; 4] = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=callgrind.out"];

    /// Begins to count.
    pub fn of(service: &Service) -> Self {
        let this = Self { process: service.process(), reports: service.directory().join("callgrind.out"), written: 0 };
        this.control(&["--instr=on"]);
        this
    }

    /// The instructions of the service while something is done.
    pub fn instructions(&mut self, work: impl FnOnce()) -> f64 {
        self.control(&["--zero"]);
        work();
        self.control(&["--dump"]);
        self.written += 1;
        let report = self.reports.with_extension(format!("out.{}", self.written));
        let text = fs::read_to_string(&report).expect("Callgrind has written a report");
        let total = text.lines().find_map(|line| line.strip_prefix("totals: ")).expect("a report has a total");
        total.trim().parse().unwrap()
    }

    fn control(&self, arguments: &[&str]) {
        let output = Command::new("callgrind_control").args(arguments).arg(self.process.to_string()).output();
        let output = output.expect("callgrind_control is installed: package valgrind");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
