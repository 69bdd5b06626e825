//! How one of PostgreSQL's programs is called: as its account, apart from the terminal, and never
//! outliving us.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::account::Account;

/// A call of `program` that starts in `directory`.
///
/// - The environment is empty but for language and time zone: `PGPORT` and its like would bend the
///   server, and our own secrets are none of its business.
/// - It leads its own process group: Ctrl-C reaches only us, and we stop PostgreSQL after everybody
///   who uses it.
/// - On Linux it is told to stop when the *thread* that spawned it ends.
pub(super) fn command(program: &Path, account: &Account, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("LC_ALL", "C").env("TZ", "UTC").current_dir(directory).stdin(Stdio::null()).process_group(0);
    account.lower(&mut command);
    #[cfg(target_os = "linux")]
    end_with_parent(&mut command);
    command
}

/// Has the kernel send SIGINT, PostgreSQL's fast shutdown, when our thread is gone, whatever ended
/// it.
#[cfg(target_os = "linux")]
fn end_with_parent(command: &mut Command) {
    use nix::errno::Errno;
    use nix::sys::prctl::set_pdeathsig;
    use nix::sys::signal::Signal;
    use nix::unistd::{getpid, getppid};

    let parent = getpid();
    let arrange = move || {
        set_pdeathsig(Signal::SIGINT)?;
        // Had we died before that line, nobody would ever send the signal.
        if getppid() == parent { Ok(()) } else { Err(Errno::ESRCH.into()) }
    };
    // The standard library runs this after the change of account, which would have cleared the
    // setting.
    #[expect(unsafe_code, reason = "between fork and exec only two async-signal-safe calls, and no allocation")]
    unsafe {
        command.pre_exec(arrange);
    }
}
