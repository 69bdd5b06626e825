//! Memory and processor time of processes, as Linux reports them.

use std::fs;

use super::service::Service;

/// The resident memory of the service's process, in MiB.
pub fn resident_mib(service: &Service) -> f64 {
    let status = fs::read_to_string(format!("/proc/{}/status", service.process())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}

/// Processor time of the service and all processes of its PostgreSQL, in seconds.
pub fn cpu_seconds(service: &Service) -> f64 {
    cpu_seconds_of(service.process(), service.postmaster())
}

/// Processor time of a process and all processes of a PostgreSQL, in seconds.
pub fn cpu_seconds_of(program: u32, postmaster: u32) -> f64 {
    let ticks: u64 = processes().filter_map(|process| Ticks::of(process, &[program, postmaster])).map(|Ticks(ticks)| ticks).sum();
    // Linux reports hundredths of a second, whatever its internal resolution.
    ticks as f64 / 100.0
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
struct Ticks(u64);

impl Ticks {
    /// The ticks of `process`, if it is one of `families` or a child of the second one.
    fn of(process: u32, families: &[u32]) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name is in parentheses and may contain anything; the following fields are numbers: state, parent, …
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let parent: u32 = fields.get(1)?.parse().ok()?;
        let used = fields.get(11..15)?.iter().filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
        (families.contains(&process) || families[1..].contains(&parent)).then_some(Self(used))
    }
}
