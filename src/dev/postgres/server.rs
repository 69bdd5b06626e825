//! The running server, and the thread that keeps it alive.

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

use super::POLL_INTERVAL;
use super::cluster::Cluster;
use super::error::PostgresError;

/// The startup timeout, including crash recovery.
const START_LIMIT: Duration = Duration::from_mins(1);

/// A server process. It stops when this is dropped, or when the program ends for any reason (see [`command`](mod@super::command)).
#[derive(Debug)]
pub(super) struct Server {
    process: Arc<Mutex<Child>>,
    keeper: Option<JoinHandle<()>>,
}

impl Server {
    /// Spawns the server from a dedicated thread that lives as long as the server. On Linux the parent-death signal is sent when
    /// the spawning thread ends, and the caller's thread may belong to a thread pool.
    pub(super) fn spawn(command: Command) -> io::Result<Self> {
        let (report, spawned) = channel();
        let keeper = thread::Builder::new().name("postgres-keeper".to_owned()).spawn(move || keep(command, &report))?;
        let process = spawned.recv().expect("the keeper thread reports before it ends")?;
        Ok(Self { process, keeper: Some(keeper) })
    }

    /// Reads the state from the server's `postmaster.pid`, which is cheaper than connecting and correct from the start.
    pub(super) fn await_ready(&self, cluster: &Cluster, log: &Path) -> Result<(), PostgresError> {
        let deadline = Instant::now() + START_LIMIT;
        while !self.has_ended() && Instant::now() < deadline {
            if cluster.postmaster().is_some_and(|it| it.is_ready && it.process == self.process()) {
                return Ok(());
            }
            thread::sleep(POLL_INTERVAL);
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
    /// Fast shutdown: ends the sessions, flushes everything to disk, and takes some hundredths of a second.
    fn drop(&mut self) {
        let mut process = lock(&self.process);
        if is_running(&mut process) {
            // The process has not been reaped, so its id cannot have been reused, and a signal to our own child cannot fail.
            let _ = kill(id(&process), Signal::SIGINT);
        }
        drop(process);
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

/// Waits until the last process of the server has ended, without reaping the first one early. The server's standard output is a
/// pipe that no process writes to. It is closed when the last process that holds it ends.
fn keep(mut command: Command, report: &Sender<io::Result<Arc<Mutex<Child>>>>) {
    let mut child = match command.stdout(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => {
            return report.send(Err(error)).expect("the spawning thread waits for the report");
        }
    };
    let mut output = child.stdout.take().expect("standard output is a pipe");
    let process = Arc::new(Mutex::new(child));
    report.send(Ok(Arc::clone(&process))).expect("the spawning thread waits for the report");
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
    Pid::from_raw(process.id().try_into().expect("process ids fit into pid_t"))
}

/// The last 15 lines, usually the whole log of a failed start.
fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}
