//! The program, started as an operator starts it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};
use tokio::task::JoinHandle;

use crate::support::waiting::in_time;

/// `portico …` in production, with these settings.
pub fn portico(arguments: &[&str], settings: &[(&str, &str)]) -> Command {
    set_up(Command::new(THIS), arguments, settings)
}

/// The line of a report of `portico doctor` about `what`.
pub fn finding<'a>(report: &'a str, what: &str) -> &'a str {
    report.lines().find(|line| line[6..].starts_with(what)).unwrap_or_else(|| panic!("{what}: {report}"))
}

const THIS: &str = env!("CARGO_BIN_EXE_portico");

/// One of several versions of the program.
pub struct Program(PathBuf);

impl Program {
    /// That of the tests.
    pub fn this() -> Self {
        Self(THIS.into())
    }

    pub fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// A command in production, with these settings.
    fn command(&self, arguments: &[&str], settings: &[(&str, &str)]) -> Command {
        let mut command = set_up(Command::new(&self.0), arguments, settings);
        if self.0 != Path::new(THIS) {
            // Another edition may not know this setting, and has no metrics then.
            command.env_remove("PORTICO_HTTP__ADMIN_LISTEN");
        }
        command
    }

    /// The output of a command; the story ends if it fails.
    pub async fn printed(&self, arguments: &[&str], settings: &[(&str, &str)]) -> String {
        let output = self.command(arguments, settings).output().await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

fn set_up(mut command: Command, arguments: &[&str], settings: &[(&str, &str)]) -> Command {
    command.args(arguments).env_clear().stdin(Stdio::null()).kill_on_drop(true);
    // No proxy has to notice that a service is about to stop, but where a story says so.
    let usual =
        [("environment", "production"), ("http.listen", "127.0.0.1:0"), ("http.admin_listen", "off"), ("http.shutdown_delay", "0s")];
    for (key, value) in usual.iter().chain(settings) {
        command.env(format!("PORTICO_{}", key.replace('.', "__").to_uppercase()), value);
    }
    if !settings.iter().any(|(key, _)| *key == "application_key") {
        command.env("PORTICO_APPLICATION_KEY", STANDARD.encode([7; 32]));
    }
    command
}

/// The output of a command; the story ends if it fails.
pub async fn printed(arguments: &[&str], settings: &[(&str, &str)]) -> String {
    Program::this().printed(arguments, settings).await
}

/// What a command says that fails; the story ends if it does not.
pub async fn refused(arguments: &[&str], settings: &[(&str, &str)]) -> String {
    let output = portico(arguments, settings).output().await.unwrap();
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

/// Sends SIGTERM, as a container platform does.
pub fn ask_to_stop(child: &Child) {
    send(child, Signal::SIGTERM);
}

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().unwrap().try_into().unwrap()), signal).unwrap();
}

/// What a command prints, or why it failed, when `secret` is on its standard input.
pub async fn fed(arguments: &[&str], settings: &[(&str, &str)], secret: &str) -> Result<String, String> {
    let mut command = portico(arguments, settings);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that refuses its arguments reads nothing.
    let _ = child.stdin.take().unwrap().write_all(secret.as_bytes()).await;
    let output = child.wait_with_output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// The address in the line of either format that names it.
fn listening(line: &str) -> Option<SocketAddr> {
    let text = line.split_once("listening address=").map(|(_, address)| address.trim().to_owned());
    let json = || {
        serde_json::from_str::<Value>(line).ok().filter(|line| line["message"] == "listening")?["address"].as_str().map(ToOwned::to_owned)
    };
    Some(text.or_else(json)?.parse().unwrap())
}

/// A service in its own process, which ends with the story.
pub struct Service {
    pub address: SocketAddr,
    log: Arc<Mutex<String>>,
    /// Ends with the log.
    reading: JoinHandle<()>,
    child: Child,
}

impl Service {
    pub async fn start(settings: &[(&str, &str)]) -> Self {
        Self::start_with(&["--no-worker"], settings).await
    }

    /// A service with these arguments of `serve`.
    pub async fn start_with(arguments: &[&str], settings: &[(&str, &str)]) -> Self {
        Self::start_of(&Program::this(), arguments, settings).await
    }

    /// A service of this version, with these arguments of `serve`.
    pub async fn start_of(program: &Program, arguments: &[&str], settings: &[(&str, &str)]) -> Self {
        Self::started_by(program.command(&[&["serve"], arguments].concat(), settings)).await
    }

    /// A service with these soft and hard limits of open files.
    #[cfg(target_os = "linux")]
    pub async fn start_with_open_files((soft, hard): (u32, u32), settings: &[(&str, &str)]) -> Self {
        let mut command = Command::new("prlimit");
        command.arg(format!("--nofile={soft}:{hard}")).arg(env!("CARGO_BIN_EXE_portico"));
        Self::started_by(set_up(command, &["serve", "--no-worker"], settings)).await
    }

    /// A service that may allocate this much.
    #[cfg(target_os = "linux")]
    pub async fn start_with_memory(mebibytes: u32, settings: &[(&str, &str)]) -> Self {
        let mut command = Command::new("prlimit");
        command.arg(format!("--data={}", u64::from(mebibytes) << 20)).arg(THIS);
        Self::started_by(set_up(command, &["serve", "--no-worker"], settings)).await
    }

    async fn started_by(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::new(String::new()));
        let listening = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                append(&log, &line);
                if let Some(address) = listening(&line) {
                    return address;
                }
            }
            panic!("the service did not start: {}", log.lock().unwrap());
        };
        let address = in_time("the service listens", listening).await;
        let reading = keep_reading(lines, Arc::clone(&log));
        Self { address, log, reading, child }
    }

    /// The log of the service so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Asks the service to stop, as a container platform does, and waits until it has and its log is read. Returns whether it ended well.
    pub async fn terminate(&mut self) -> bool {
        self.stop(Signal::SIGTERM).await
    }

    /// The same with another signal.
    pub async fn stop(&mut self, signal: Signal) -> bool {
        send(&self.child, signal);
        let ended = in_time("the service has stopped", self.child.wait()).await.unwrap();
        in_time("its log has ended", &mut self.reading).await.unwrap();
        ended.success()
    }

    /// Ends the service as the kernel does that is out of memory: it learns nothing of it.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// The processor time used by all threads of the service.
    #[cfg(target_os = "linux")]
    pub fn processor_time(&self) -> Duration {
        let spent = self.threads().map(|thread| {
            let spent = std::fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
            spent.split(' ').next().and_then(|nanoseconds| nanoseconds.parse().ok()).map_or(Duration::ZERO, Duration::from_nanos)
        });
        spent.sum()
    }

    /// The number of threads of the service whose name starts with `beginning`.
    #[cfg(target_os = "linux")]
    pub fn threads_named(&self, beginning: &str) -> usize {
        let names = self.threads().map(|thread| std::fs::read_to_string(thread.join("comm")).unwrap_or_default());
        names.filter(|name| name.starts_with(beginning)).count()
    }

    #[cfg(target_os = "linux")]
    fn threads(&self) -> impl Iterator<Item = PathBuf> {
        std::fs::read_dir(format!("/proc/{}/task", self.child.id().unwrap())).unwrap().map(|entry| entry.unwrap().path())
    }

    /// The memory that it has allocated and uses, in MiB. Pages of the executable, which the system may drop, do not count.
    #[cfg(target_os = "linux")]
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id().unwrap())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().split(' ').next().unwrap().parse::<u64>().unwrap() / 1024
    }
}

fn append(log: &Mutex<String>, line: &str) {
    let mut log = log.lock().unwrap();
    log.push_str(line);
    log.push('\n');
}

/// Drains the log pipe: a process that logs into a full pipe blocks.
#[expect(clippy::disallowed_methods, reason = "it ends with the process it listens to")]
fn keep_reading(mut lines: Lines<BufReader<ChildStderr>>, log: Arc<Mutex<String>>) -> JoinHandle<()> {
    tokio::spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            append(&log, &line);
        }
    })
}
