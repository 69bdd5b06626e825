//! The running server, and the thread it hangs on.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::PAUSE;
use super::cluster::Cluster;
use super::error::PostgresError;

/// How long a server may take to come up, recovery after a power cut included.
const START_LIMIT: Duration = Duration::from_mins(1);

/// A server that stops when this is dropped, or when the program ends in whatever way (see
/// [`command`](mod@super::command)).
#[derive(Debug)]
pub(super) struct Server {
    process: Arc<Mutex<Child>>,
    keeper: Option<JoinHandle<()>>,
}

impl Server {
    /// Spawned by a thread of its own, which lives as long as the server: on Linux the parent-death
    /// signal comes when the spawning thread ends, and that of the caller may be one of a pool.
    pub(super) fn spawn(command: Command) -> io::Result<Self> {
        let (report, spawned) = channel();
        let keeper = thread::Builder::new().name("postgres-keeper".to_owned()).spawn(move || keep(command, &report))?;
        let process = spawned.recv().expect("the keeper reports before it does anything else")?;
        Ok(Self { process, keeper: Some(keeper) })
    }

    /// Reads the state that the server notes in its `postmaster.pid`: cheaper than connecting, and
    /// true from the first moment.
    pub(super) fn await_ready(&self, cluster: &Cluster, log: &Path) -> Result<(), PostgresError> {
        let deadline = Instant::now() + START_LIMIT;
        while !self.has_ended() && Instant::now() < deadline {
            if cluster.postmaster().is_some_and(|it| it.is_ready && it.process == self.process()) {
                return Ok(());
            }
            thread::sleep(PAUSE);
        }
        Err(PostgresError::NotReady { log: log.to_owned(), tail: tail(&fs::read_to_string(log).unwrap_or_default()) })
    }

    fn process(&self) -> Pid {
        id(&lock(&self.process))
    }

    fn has_ended(&self) -> bool {
        !is_running(&mut lock(&self.process))
    }
}

impl Drop for Server {
    /// Fast shutdown: ends the sessions, writes everything down, and takes some hundredths of a
    /// second.
    fn drop(&mut self) {
        let mut process = lock(&self.process);
        if is_running(&mut process) {
            // Not reaped yet, so the number cannot be anybody else's; and a process of ours cannot
            // refuse.
            let _ = kill(id(&process), Signal::SIGINT);
        }
        drop(process);
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

/// Waits until the last process of the server is gone, without reaping the first one before its
/// time: the server has a pipe for its standard output, to which nobody writes, and which is closed
/// by the end of the last who could.
fn keep(mut command: Command, report: &Sender<io::Result<Arc<Mutex<Child>>>>) {
    let mut child = match command.stdout(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => {
            return report.send(Err(error)).expect("the spawner waits for the report");
        }
    };
    let mut output = child.stdout.take().expect("standard output was asked to be a pipe");
    let process = Arc::new(Mutex::new(child));
    report.send(Ok(Arc::clone(&process))).expect("the spawner waits for the report");
    let _ = output.read_to_end(&mut Vec::new());
    let _ = lock(&process).wait();
}

fn lock(process: &Mutex<Child>) -> MutexGuard<'_, Child> {
    process.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_running(process: &mut Child) -> bool {
    matches!(process.try_wait(), Ok(None))
}

fn id(process: &Child) -> Pid {
    Pid::from_raw(process.id().try_into().expect("process ids fit into pid_t, from which this one came"))
}

/// The last lines, of which there are rarely more after a failed start.
fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}
