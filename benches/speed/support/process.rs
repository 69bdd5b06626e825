//! The program in a process of its own.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::program::Program;

/// The time limit for starting and stopping the service.
pub const TIMEOUT: Duration = Duration::from_secs(40);
pub const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A running `portico serve`. It is asked to stop and waited for when this value is dropped. If the thread is panicking then, the log is
/// printed, which may contain the cause.
pub struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts the service in the directory of the log, with these settings beside those of the program.
    pub fn serve<'a>(program: &Program, arguments: &[&str], settings: impl IntoIterator<Item = (&'a str, &'a str)>, log: PathBuf) -> Self {
        // The kernel terminates the service when this program is gone, for whatever reason.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "TERM"])
            .args(program.command())
            .arg("serve")
            .args(arguments)
            .current_dir(log.parent().expect("a log is in a directory"))
            .envs(program.settings())
            .envs(settings)
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .expect("setpriv starts the service");
        Self { child, log }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Asks the service to stop, as a container platform does, and waits until it has. What does not stop in time is killed.
    pub fn terminate(&mut self) -> ExitStatus {
        // Once it has ended, another process may have its id.
        if let Ok(None) = self.child.try_wait() {
            kill(Pid::from_raw(self.child.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
        }
        let until = Instant::now() + TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            if Instant::now() > until {
                let _ = self.child.kill();
            }
            sleep(POLL_INTERVAL);
        }
    }

    /// Ends the service as the kernel does that is out of memory: it learns nothing of it.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.terminate();
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
    }
}
