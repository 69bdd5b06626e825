//! The program, started as an operator starts it.

use std::net::SocketAddr;
use std::process::Stdio;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};

/// `portico …` in production, with these settings.
pub fn portico(arguments: &[&str], settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_portico"));
    command.args(arguments).env_clear().stdin(Stdio::null()).kill_on_drop(true);
    let usual = [("environment", "production"), ("http.listen", "127.0.0.1:0")];
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
    let output = portico(arguments, settings).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A service in its own process, which ends with the story.
pub struct Service {
    pub address: SocketAddr,
    /// The log output until the service listened.
    pub log: String,
    child: Child,
}

impl Service {
    pub async fn start(settings: &[(&str, &str)]) -> Self {
        let mut child = portico(&["serve", "--no-worker"], settings).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut log = String::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            log.push_str(&line);
            log.push('\n');
            if let Some((_, address)) = line.split_once("listening address=") {
                let address = address.trim().parse().unwrap();
                drain(lines);
                return Self { address, log, child };
            }
        }
        panic!("the service did not start: {log}");
    }

    /// The resident memory, in MiB.
    #[cfg(target_os = "linux")]
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id().unwrap())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().split(' ').next().unwrap().parse::<u64>().unwrap() / 1024
    }
}

/// Drains the log pipe: a process that logs into a full pipe blocks.
fn drain(mut lines: Lines<BufReader<ChildStderr>>) {
    #[expect(clippy::disallowed_methods, reason = "it ends with the process it listens to")]
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
}
