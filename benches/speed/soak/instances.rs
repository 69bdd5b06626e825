//! Two instances of the program as they are deployed: in production, on one database, each at an address of its own.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::calls::{Caller, request};
use crate::support::process::{POLL_INTERVAL, Process, TIMEOUT};
use crate::support::program::Program;
use crate::support::service::Service;

/// Ports that no outgoing connection gets, so that an instance that is away finds its own when it comes back.
const PORTS: Range<u16> = 20_000..32_000;

/// What happens to an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is gone at once, as when there is no memory left, and started again.
    Kill,
    /// It stops in order and the program is started again, as when its version is replaced.
    Upgrade,
}

/// A fault, and what came of it.
pub struct Happened {
    /// Since the beginning.
    pub at: Duration,
    /// The number of the instance.
    pub instance: usize,
    pub fault: Fault,
    /// How long the instance was not ready, or on its way out.
    pub took: Duration,
}

/// An instance, which may be away for a moment.
pub struct Instance {
    pub address: SocketAddr,
    /// Where its metrics are.
    pub metrics: SocketAddr,
    settings: Vec<(&'static str, String)>,
    log: PathBuf,
    process: Mutex<Option<Process>>,
}

impl Instance {
    /// Two instances on the database of `service`, which trust what it trusts.
    pub fn two(service: &Service) -> [Self; 2] {
        let addresses = PORTS.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let mut free = addresses.filter(|address| TcpListener::bind(address).is_ok());
        ["one", "two"].map(|name| {
            let [address, metrics] = [(); 2].map(|()| free.next().expect("some ports are free"));
            let settings = vec![
                ("PORTICO_ENVIRONMENT", "production".to_owned()),
                ("PORTICO_HTTP__LISTEN", address.to_string()),
                ("PORTICO_HTTP__ADMIN_LISTEN", metrics.to_string()),
                ("PORTICO_DATABASE__URL", service.database_url()),
                ("PORTICO_APPLICATION_KEY__FILE", service.directory().join("application.key").display().to_string()),
                ("PORTICO_WEBHOOKS__ALLOWED_NETWORKS", "127.0.0.0/8,::1/128".to_owned()),
                ("PORTICO_WEBHOOKS__EXTRA_ROOT_CERTIFICATES", service.demo.authority.display().to_string()),
                ("PORTICO_GATEWAYS__CALLBACKS_PER_MINUTE", "4000000000".to_owned()),
                // There is no card provider to ask.
                ("PORTICO_GATEWAYS__RECONCILE_EVERY", String::new()),
            ];
            let log = service.directory().join(format!("{name}.log"));
            let this = Self { address, metrics, settings, log, process: Mutex::default() };
            this.start();
            this
        })
    }

    /// Lets something happen to the instance; returns, when it is ready again, how long it was not there.
    pub fn suffer(&self, fault: Fault) -> Duration {
        let begin = Instant::now();
        let mut process = self.process.lock().unwrap().take().expect("the instance runs");
        match fault {
            Fault::Kill => process.kill(),
            Fault::Upgrade => assert!(process.terminate().success(), "the instance did not stop in order: {}", process.log()),
        }
        drop(process);
        self.start();
        begin.elapsed()
    }

    fn start(&self) {
        let settings = self.settings.iter().map(|(name, value)| (*name, value.as_str()));
        *self.process.lock().unwrap() = Some(Process::serve(&Program::own(), &[], settings, self.log.clone()));
        let until = Instant::now() + TIMEOUT;
        while TcpStream::connect(self.address).is_err() {
            assert!(Instant::now() < until, "the instance did not start: {}", fs::read_to_string(&self.log).unwrap_or_default());
            sleep(POLL_INTERVAL);
        }
        while Caller::connect(self.address).call(&request("GET", "/readyz", &[], "")).0 != 200 {
            assert!(Instant::now() < until, "the instance is not ready");
            sleep(POLL_INTERVAL);
        }
    }
}
