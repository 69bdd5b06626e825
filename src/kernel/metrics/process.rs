//! What the system knows of this process, under the names that all programs use for it. Where there is no `/proc`, some of it is absent.

use std::fs;

use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::{SysconfVar, sysconf};

use crate::kernel::metrics::{Kind, Registry, Unlabelled};

pub(super) fn register(registry: &mut Registry) {
    registry.read::<Unlabelled>("process_cpu_seconds", "Processor time that the process has used", Kind::Counter, || {
        cpu_seconds().map(|seconds| ([], seconds)).into_iter().collect()
    });
    registry.gauge("process_resident_memory_bytes", "Memory of the process that is not swapped out", resident_memory);
    registry.gauge("process_open_fds", "Open files, to which connections belong", open_files);
    registry.gauge("process_max_fds", "The limit of open files", || Some(getrlimit(Resource::RLIMIT_NOFILE).ok()?.0 as f64));
}

fn cpu_seconds() -> Option<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    Some((usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 / 1e6)
}

fn resident_memory() -> Option<f64> {
    let pages: f64 = fs::read_to_string("/proc/self/statm").ok()?.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * sysconf(SysconfVar::PAGE_SIZE).ok()?? as f64)
}

fn open_files() -> Option<f64> {
    // One of them is the directory that is read here.
    Some(fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1) as f64)
}
