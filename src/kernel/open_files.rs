//! The limit of open files of the process. Every connection counts against it.

use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Raises the soft limit of this process to the hard limit. The usual soft limit of 1,024 only exists for programs that use `select`,
/// which cannot handle larger descriptors.
pub fn raise_limit() -> io::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    Ok(())
}
