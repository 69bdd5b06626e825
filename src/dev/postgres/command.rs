//! How PostgreSQL's programs are called: under their account, detached from the terminal, and never outliving this process.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::account::Account;

/// A command that runs `program` in `directory`.
///
/// - The environment contains only language and time zone: `PGPORT` and similar variables would change the server's behaviour, and
///   the server must not see our secrets.
/// - It leads its own process group: Ctrl-C only reaches this process, which stops PostgreSQL after all its users.
/// - On Linux it receives a signal to stop when the *thread* that spawned it ends.
pub(super) fn command(program: &Path, account: &Account, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("LC_ALL", "C").env("TZ", "UTC").current_dir(directory).stdin(Stdio::null()).process_group(0);
    account.lower(&mut command);
    #[cfg(target_os = "linux")]
    end_with_parent(&mut command);
    command
}

/// Makes the kernel send SIGINT, PostgreSQL's fast shutdown, when our thread ends for any reason.
#[cfg(target_os = "linux")]
fn end_with_parent(command: &mut Command) {
    use nix::errno::Errno;
    use nix::sys::prctl::set_pdeathsig;
    use nix::sys::signal::Signal;
    use nix::unistd::{getpid, getppid};

    let parent = getpid();
    let arrange = move || {
        set_pdeathsig(Signal::SIGINT)?;
        // If our thread had ended before that call, the signal would never be sent.
        if getppid() == parent { Ok(()) } else { Err(Errno::ESRCH.into()) }
    };
    // The standard library runs this after it has changed the account, which would have reset the setting.
    #[expect(unsafe_code, reason = "between fork and exec, the closure makes only two async-signal-safe calls and does not allocate")]
    unsafe {
        command.pre_exec(arrange);
    }
}
