//! The running server, and the thread that keeps it alive.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::POLL_INTERVAL;
use super::cluster::Cluster;
use super::error::PostgresError;

/// The startup timeout, including crash recovery.
const START_LIMIT: Duration = Duration::from_mins(1);

/// The pause before a server that has ended by itself is started again.
const RESTART_PAUSE: Duration = Duration::from_millis(200);

/// A server process. It stops when this is dropped, or when the program ends for any reason (see [`command`](mod@super::command)).
#[derive(Debug)]
pub(super) struct Server {
    shared: Arc<Shared>,
    keeper: Option<JoinHandle<()>>,
}

/// What the keeper and the others know of the server.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Signals that the server is to stop.
    stops: Condvar,
}

#[derive(Debug)]
struct State {
    /// The first process of the server.
    process: Child,
    /// Whether a server that ends by itself is started again.
    keeps_running: bool,
    stops: bool,
}

impl Server {
    /// Spawns the server from a dedicated thread that lives as long as the server. On Linux the parent-death signal is sent when
    /// the spawning thread ends, and the caller's thread may belong to a thread pool.
    pub(super) fn spawn(command: Command) -> io::Result<Self> {
        let (report, spawned) = channel();
        let keeper = thread::Builder::new().name("postgres-keeper".to_owned()).spawn(move || keep(command, &report))?;
        let shared = spawned.recv().expect("the keeper thread reports before it ends")?;
        Ok(Self { shared, keeper: Some(keeper) })
    }

    pub(super) fn keep_running(&self) {
        self.shared.state().keeps_running = true;
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
        id(&self.shared.state().process)
    }

    fn has_ended(&self) -> bool {
        !is_running(&mut self.shared.state().process)
    }
}

impl Drop for Server {
    /// Fast shutdown: ends the sessions, flushes everything to disk, and takes some hundredths of a second.
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.stops = true;
        if is_running(&mut state.process) {
            // The process has not been reaped, so its id cannot have been reused, and a signal to our own child cannot fail.
            let _ = kill(id(&state.process), Signal::SIGINT);
        }
        drop(state);
        self.shared.stops.notify_all();
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the server stays away, or is to be started again after a pause.
    fn stays_away(&self) -> bool {
        let state = self.state();
        if state.stops || !state.keeps_running {
            return true;
        }
        let waited = self.stops.wait_timeout_while(state, RESTART_PAUSE, |state| !state.stops);
        waited.unwrap_or_else(PoisonError::into_inner).0.stops
    }
}

/// Runs the server for as long as it is wanted.
fn keep(mut command: Command, report: &Sender<io::Result<Arc<Shared>>>) {
    command.stdout(Stdio::piped());
    let process = match command.spawn() {
        Ok(process) => process,
        Err(error) => {
            return report.send(Err(error)).expect("the spawning thread waits for the report");
        }
    };
    let state = State { process, keeps_running: false, stops: false };
    let shared = Arc::new(Shared { state: Mutex::new(state), stops: Condvar::new() });
    report.send(Ok(Arc::clone(&shared))).expect("the spawning thread waits for the report");
    loop {
        await_end(&shared);
        if shared.stays_away() {
            return;
        }
        let mut state = shared.state();
        if state.stops {
            return;
        }
        match command.spawn() {
            Ok(process) => {
                state.process = process;
                tracing::warn!("the private PostgreSQL has ended by itself and is started again; see postgres.log in the data directory");
            }
            Err(error) => tracing::error!(%error, "the private PostgreSQL has ended by itself and cannot be started again; trying on"),
        }
    }
}

/// Waits until the last process of the server has ended, without reaping the first one early. The server's standard output is a
/// pipe that no process writes to. It is closed when the last process that holds it ends.
fn await_end(shared: &Shared) {
    let output = shared.state().process.stdout.take();
    if let Some(mut output) = output {
        let _ = output.read_to_end(&mut Vec::new());
    }
    let _ = shared.state().process.wait();
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
