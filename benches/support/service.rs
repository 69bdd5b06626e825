//! The service as it is deployed: its own process on a private PostgreSQL.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use portico::dev::demo::Demo;
use portico::dev::postgres::{DATABASE, PrivatePostgres};
use portico::dev::temporary::TemporaryDirectory;

/// A running service; it ends with this value.
pub struct Service {
    process: Child,
    data: TemporaryDirectory,
    pub address: SocketAddr,
    pub demo: Demo,
}

impl Service {
    /// Starts it with some settings changed, as environment variables.
    pub fn start(settings: &[(&str, &str)]) -> Self {
        let data = TemporaryDirectory::make("portico-bench").unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let process = Command::new(env!("CARGO_BIN_EXE_portico"))
            .env("PORTICO_ENVIRONMENT", "development")
            .env("PORTICO_LOG__FILTER", "warn")
            .env("PORTICO_DEV__DATA_DIR", data.path())
            .env("PORTICO_HTTP__LISTEN", address.to_string())
            .env("PORTICO_HTTP__TRUSTED_PROXIES", "127.0.0.1/32")
            .env("PORTICO_STOREFRONT__REQUESTS_PER_MINUTE", "4000000000")
            .envs(settings.iter().copied())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < until, "the service did not start");
            sleep(Duration::from_millis(20));
        }
        let demo = loop {
            match fs::read(data.path().join("demo.json")).ok().and_then(|json| serde_json::from_slice(&json).ok()) {
                Some(demo) => break demo,
                None => assert!(Instant::now() < until, "the service did not greet"),
            }
            sleep(Duration::from_millis(20));
        };
        Self { process, data, address, demo }
    }

    /// The service's database.
    pub fn database(&self) -> String {
        PrivatePostgres::running(self.data.path(), DATABASE).expect("the private PostgreSQL runs")
    }

    /// The memory the service's process holds, in MiB.
    pub fn resident_mib(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(f64::NAN) / 1024.0
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let process = Pid::from_raw(i32::try_from(self.process.id()).unwrap());
        let _ = kill(process, Signal::SIGTERM);
        let _ = self.process.wait();
    }
}
