//! Cells: the databases of one PostgreSQL, instances that serve them, and the companies in them.

mod companies;

use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use url::Url;

use crate::support::calls::{Caller, request};
pub use crate::support::cells::companies::{Companies, EVENT};
use crate::support::database::Database;
use crate::support::process::{Process, TIMEOUT};
use crate::support::program::Program;
use crate::support::service::Service;

/// Those of PostgreSQL, of which every cell needs some.
const CONNECTIONS: &str = "900";
/// Those of the requests of each cell.
const OF_A_CELL: &str = "8";
/// A database with all migrations, which cells are copied from.
const TEMPLATE: &str = "migrated";

/// A PostgreSQL, and a service beside it that does nothing.
pub struct Host {
    pub service: Service,
}

impl Host {
    pub fn start() -> Self {
        let service = Service::start(&[("PORTICO_DATABASE__MAX_CONNECTIONS", CONNECTIONS)]);
        Database::of(&service).execute("alter system set shared_preload_libraries = 'pg_stat_statements'");
        let service = service.restart(&["--no-worker"]);
        let this = Self { service };
        let mut database = Database::of(&this.service);
        database.execute("create extension pg_stat_statements");
        database.execute(&format!("create database {TEMPLATE}"));
        this.migrate(&this.settings(&[this.url(TEMPLATE)]));
        this
    }

    pub fn postmaster(&self) -> u32 {
        self.service.postmaster()
    }

    /// The URL of one of its databases.
    pub fn url(&self, database: &str) -> String {
        let mut url = Url::parse(&self.service.database_url()).unwrap();
        url.set_path(database);
        url.into()
    }

    /// The settings of a production that trusts the endpoints, with these cells.
    fn settings(&self, urls: &[String]) -> Vec<(String, String)> {
        let key = self.service.directory().join("application.key").display().to_string();
        let fixed = [
            ("PORTICO_ENVIRONMENT", "production".to_owned()),
            ("PORTICO_APPLICATION_KEY__FILE", key),
            ("PORTICO_HTTP__ADMIN_LISTEN", "off".to_owned()),
            ("PORTICO_WEBHOOKS__ALLOWED_NETWORKS", "127.0.0.0/8,::1/128".to_owned()),
            ("PORTICO_WEBHOOKS__EXTRA_ROOT_CERTIFICATES", self.service.demo.authority.display().to_string()),
            ("PORTICO_GATEWAYS__RECONCILE_EVERY", String::new()),
            ("PORTICO_DATABASE__MAX_CONNECTIONS", OF_A_CELL.to_owned()),
            ("PORTICO_DATABASE__URL", urls[0].clone()),
        ];
        let others = urls.iter().enumerate().skip(1).map(|(number, url)| (format!("PORTICO_DATABASE__CELLS__C{number}__URL"), url.clone()));
        fixed.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(others).collect()
    }

    fn migrate(&self, settings: &[(String, String)]) {
        run(settings, &["migrate"]);
    }

    /// Runs a command on these cells and returns what it prints.
    pub fn run(&self, cells: &Cells, arguments: &[&str]) -> String {
        run(&self.settings(&cells.urls), arguments)
    }
}

fn run(settings: &[(String, String)], arguments: &[&str]) -> String {
    let output = Command::new(Program::own().path()).args(arguments).envs(settings.iter().cloned()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The cells of one measurement.
pub struct Cells {
    pub urls: Vec<String>,
    /// What the names of its databases begin with.
    name: String,
}

impl Cells {
    /// New databases, which have every migration.
    pub fn on(host: &Host, count: usize) -> Self {
        let mut this = Self { urls: Vec::new(), name: format!("of_{count}") };
        for _ in 0..count {
            this.create(host, TEMPLATE);
        }
        // Each cell numbers the tokens of customers by itself.
        host.migrate(&host.settings(&this.urls));
        this
    }

    pub fn count(&self) -> usize {
        self.urls.len()
    }

    /// Adds a cell as operators do: an empty database, which the new settings migrate.
    pub fn add(&mut self, host: &Host) {
        self.create(host, "template0");
        host.migrate(&host.settings(&self.urls));
    }

    fn create(&mut self, host: &Host, template: &str) {
        let name = format!("{}_{}", self.name, self.count());
        Database::of(&host.service).execute(&format!("create database {name} template {template}"));
        self.urls.push(host.url(&name));
    }
}

/// An instance that serves cells.
pub struct Instance {
    pub address: SocketAddr,
    process: Process,
}

impl Instance {
    /// Starts one, and waits until it is ready.
    pub fn serve(host: &Host, cells: &Cells) -> Self {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut settings = host.settings(&cells.urls);
        settings.push(("PORTICO_HTTP__LISTEN".to_owned(), address.to_string()));
        let settings = settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let log = host.service.directory().join(format!("instance-{}.log", address.port()));
        let this = Self { address, process: Process::serve(&Program::own(), &[], settings, log) };
        until("the instance listens", || std::net::TcpStream::connect(address).is_ok());
        until("it is ready", || Caller::connect(address).call(&request("GET", "/readyz", &[], "")).0 == 200);
        this
    }

    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// Stops it in order.
    pub fn stop(mut self) {
        assert!(self.process.terminate().success(), "the instance did not stop in order: {}", self.process.log());
    }
}

/// Waits until something is so.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + TIMEOUT;
    while !holds() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        sleep(Duration::from_millis(20));
    }
}
