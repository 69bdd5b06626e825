//! The service as it is deployed: in its own process, on a private PostgreSQL.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use portico::dev::demo::Demo;
use portico::dev::postgres::{DATABASE, PrivatePostgres};
use portico::dev::temporary::TemporaryDirectory;

use super::database::Database;

/// The time limit for starting and stopping the service.
const TIMEOUT: Duration = Duration::from_secs(40);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A running service. It stops when this value is dropped or when this program ends, in whatever way.
pub struct Service {
    process: Process,
    data: TemporaryDirectory,
    settings: Vec<(String, String)>,
    pub address: SocketAddr,
    pub demo: Demo,
}

impl Service {
    /// Starts the service with settings changed by environment variables.
    pub fn start(settings: &[(&str, &str)]) -> Self {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self::start_on(TemporaryDirectory::make("portico-bench").unwrap(), settings, &[])
    }

    /// Starts the service on a PostgreSQL with `pg_stat_statements`.
    pub fn start_counting_statements(settings: &[(&str, &str)]) -> Self {
        let service = Self::start(settings);
        Database::of(&service).execute("alter system set shared_preload_libraries = 'pg_stat_statements'");
        let service = service.restart(&[]);
        Database::of(&service).execute("create extension pg_stat_statements");
        service
    }

    /// Stops the service with its PostgreSQL and restarts it on the same data, optionally with `--no-worker`.
    pub fn restart(self, arguments: &[&str]) -> Self {
        let Self { process, data, settings, .. } = self;
        drop(process);
        Self::start_on(data, settings, arguments)
    }

    fn start_on(data: TemporaryDirectory, settings: Vec<(String, String)>, arguments: &[&str]) -> Self {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let log = data.path().join("portico.log");
        // The kernel terminates the service when this program is gone, for whatever reason.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "TERM", env!("CARGO_BIN_EXE_portico"), "serve"])
            .args(arguments)
            .env("PORTICO_ENVIRONMENT", "development")
            .env("PORTICO_DEV__DATA_DIR", data.path())
            .env("PORTICO_HTTP__LISTEN", address.to_string())
            .env("PORTICO_HTTP__ADMIN_LISTEN", "off")
            .env("PORTICO_HTTP__TRUSTED_PROXIES", "127.0.0.1/32")
            .env("PORTICO_STOREFRONT__REQUESTS_PER_MINUTE", "4000000000")
            .env("PORTICO_COMPANIES__REQUESTS_PER_MINUTE", "4000000000")
            // A line for each request would fill the disk. docs/performance.md says what it costs.
            .env("PORTICO_LOG__ACCESS", "false")
            .envs(settings.iter().map(|(name, value)| (name, value)))
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .expect("setpriv starts the service");
        let process = Process { child, log };
        let until = Instant::now() + TIMEOUT;
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < until, "the service did not start");
            sleep(POLL_INTERVAL);
        }
        let demo = loop {
            match fs::read(data.path().join("demo.json")).ok().and_then(|json| serde_json::from_slice(&json).ok()) {
                Some(demo) => break demo,
                None => assert!(Instant::now() < until, "the service did not write demo.json"),
            }
            sleep(POLL_INTERVAL);
        };
        Self { process, data, settings, address, demo }
    }

    /// The URL of the service's database.
    pub fn database_url(&self) -> String {
        PrivatePostgres::running(self.data.path(), DATABASE).expect("the private PostgreSQL runs")
    }

    /// The `Authorization` header of the store's apps.
    pub fn store_key(&self) -> String {
        format!("Bearer {}", self.demo.store_key)
    }

    /// The `Authorization` header of the company's own systems.
    pub fn api_key(&self) -> String {
        format!("Bearer {}", self.demo.api_key)
    }

    /// The data directory.
    pub fn directory(&self) -> &Path {
        self.data.path()
    }

    /// The process id of the service.
    pub fn process(&self) -> u32 {
        self.process.child.id()
    }

    /// The process id of the PostgreSQL postmaster.
    pub fn postmaster(&self) -> u32 {
        let file = fs::read_to_string(self.data.path().join("postgres/postmaster.pid")).unwrap();
        file.lines().next().unwrap().trim().parse().unwrap()
    }
}

/// Stops the process on drop and waits for it. If the thread is panicking, it prints the log, which may contain the cause.
struct Process {
    child: Child,
    log: PathBuf,
}

impl Drop for Process {
    fn drop(&mut self) {
        let process = Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        let _ = kill(process, Signal::SIGTERM);
        let until = Instant::now() + TIMEOUT;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > until {
                let _ = self.child.kill();
            }
            sleep(POLL_INTERVAL);
        }
        if std::thread::panicking() {
            eprintln!("{}", fs::read_to_string(&self.log).unwrap_or_default());
        }
    }
}
