//! The system's limit of open files; every connection is one.

use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Raises the limit of this process as far as the system allows. The usual one, 1,024, is for programs that ask which of their files are
/// ready by numbers below it.
pub fn raise_limit() -> io::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    Ok(())
}
