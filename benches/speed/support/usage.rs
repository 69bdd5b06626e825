//! Memory and processor time of processes, as Linux reports them.

use std::fs;

use super::service::Service;
use crate::figures::Figures;

/// The resident memory of the service's process, in MiB.
pub fn resident_mib(service: &Service) -> f64 {
    let status = fs::read_to_string(format!("/proc/{}/status", service.process())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}

/// Processor time in seconds.
#[derive(Clone, Copy)]
pub struct Cpu {
    pub service: f64,
    /// Of all processes of its PostgreSQL.
    pub postgres: f64,
}

impl Cpu {
    /// What a service and its PostgreSQL have used since they were started.
    pub fn of(service: &Service) -> Self {
        Self::of_processes(service.process(), service.postmaster())
    }

    /// The same of the process of a service and of a postmaster.
    pub fn of_processes(service: u32, postmaster: u32) -> Self {
        let used: Vec<_> = processes().filter_map(Used::by).collect();
        let seconds = |belongs: &dyn Fn(&Used) -> bool| {
            let ticks: u64 = used.iter().filter(|used| belongs(used)).map(|used| used.ticks).sum();
            // Linux reports hundredths of a second, whatever its internal resolution.
            ticks as f64 / 100.0
        };
        let of_postgres = |used: &Used| used.process == postmaster || used.parent == postmaster;
        Self { service: seconds(&|used: &Used| used.process == service), postgres: seconds(&of_postgres) }
    }

    pub fn since(self, before: Self) -> Self {
        Self { service: self.service - before.service, postgres: self.postgres - before.postgres }
    }

    pub fn total(self) -> f64 {
        self.service + self.postgres
    }

    /// Notes who has used how much for each of `count` units.
    pub fn note(self, figures: &mut Figures, name: &str, count: f64) {
        figures.note(&format!("{name}, CPU of the service in µs"), self.service * 1e6 / count);
        figures.note(&format!("{name}, CPU of PostgreSQL in µs"), self.postgres * 1e6 / count);
    }
}

/// The processes that this one has started.
pub fn children(process: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap();
    children.split_whitespace().map(|child| child.parse().unwrap()).collect()
}

fn processes() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The ticks that a process has used, including its ended children.
struct Used {
    process: u32,
    parent: u32,
    ticks: u64,
}

impl Used {
    /// `None` if the process has ended.
    fn by(process: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name is in parentheses and may contain anything; the following fields are numbers: state, parent, …
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let parent = fields.get(1)?.parse().ok()?;
        let ticks = fields.get(11..15)?.iter().filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
        Some(Self { process, parent, ticks })
    }
}
