//! The service as it is deployed: in its own process, on a private PostgreSQL.

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread::sleep;
use std::time::Instant;

use portico::dev::demo::Demo;
use portico::dev::postgres::{DATABASE, PrivatePostgres};
use portico::dev::temporary::TemporaryDirectory;

use super::database::Database;
use super::process::{POLL_INTERVAL, Process, TIMEOUT};
use super::program::Program;

/// A running service. It stops when this value is dropped or when this program ends, in whatever way.
pub struct Service {
    process: Process,
    program: Program,
    data: TemporaryDirectory,
    settings: Vec<(String, String)>,
    pub address: SocketAddr,
    pub demo: Demo,
}

impl Service {
    /// Starts the service of this edition with settings changed by environment variables.
    pub fn start(settings: &[(&str, &str)]) -> Self {
        Self::of(&Program::own(), settings)
    }

    /// Starts the service of any edition.
    pub fn of(program: &Program, settings: &[(&str, &str)]) -> Self {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self::start_on(program.clone(), first_data(program), settings, &[])
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
        let Self { process, program, data, settings, .. } = self;
        drop(process);
        Self::start_on(program, data, settings, arguments)
    }

    fn start_on(program: Program, data: TemporaryDirectory, settings: Vec<(String, String)>, arguments: &[&str]) -> Self {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let development = [
            ("PORTICO_ENVIRONMENT", "development"),
            ("PORTICO_DEV__DATA_DIR", data.path().to_str().unwrap()),
            ("PORTICO_HTTP__LISTEN", &address),
        ];
        let changed = settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let process = Process::serve(&program, arguments, development.into_iter().chain(changed), data.path().join("portico.log"));
        let address = address.parse().unwrap();
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
        Self { process, program, data, settings, address, demo }
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

    /// The program that runs.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The data directory.
    pub fn directory(&self) -> &Path {
        self.data.path()
    }

    /// The process id of the service.
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// The process id of the PostgreSQL postmaster.
    pub fn postmaster(&self) -> u32 {
        let file = fs::read_to_string(self.data.path().join("postgres/postmaster.pid")).unwrap();
        file.lines().next().unwrap().trim().parse().unwrap()
    }
}

/// What each program makes at its first start. It is made once and copied: most of a first start are the migrations.
static FIRST_DATA: Mutex<BTreeMap<PathBuf, TemporaryDirectory>> = Mutex::new(BTreeMap::new());

fn first_data(program: &Program) -> TemporaryDirectory {
    let mut made = FIRST_DATA.lock().unwrap();
    let first = made.entry(program.path().to_owned()).or_insert_with(|| {
        let Service { process, data, .. } = Service::start_on(program.clone(), new_directory(), Vec::new(), &[]);
        drop(process);
        data
    });
    let data = new_directory();
    // With the owner: PostgreSQL runs under an account of its own if this program runs as root.
    let copied = Command::new("cp").arg("-a").arg(first.path().join(".")).arg(data.path()).status().unwrap();
    assert!(copied.success(), "the first data are not copied");
    data
}

/// Ends what [`Service::start`] keeps for the next one.
pub fn remove_first_data() {
    FIRST_DATA.lock().unwrap().clear();
}

fn new_directory() -> TemporaryDirectory {
    TemporaryDirectory::make("portico-bench").unwrap()
}
