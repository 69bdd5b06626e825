//! What a process delivers with, whichever database the deliveries come from.

use std::path::PathBuf;
use std::sync::Arc;

use ipnet::IpNet;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};

use crate::kernel::authorities;
use crate::kernel::clock::Clock;
use crate::kernel::traces::Traces;
use crate::webhooks::company_clients::CompanyClients;
use crate::webhooks::permits::Permits;
use crate::webhooks::sending::Sender;
use crate::webhooks::settings::Settings;
use crate::webhooks::targets::{Resolver, Targets};

/// The HTTP client, the check of its targets, and the permits for deliveries in flight. Clones share them.
#[derive(Clone, Debug)]
pub struct Delivering {
    pub(super) targets: Targets,
    /// To which no network is open yet.
    company_clients: CompanyClients,
    pub(super) sender: Sender,
    pub(super) permits: Arc<Permits>,
    pub(super) traces: Traces,
}

/// The reason why webhooks cannot be delivered with these settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A file of `webhooks.extra_root_certificates` cannot be read.
    #[error("webhooks.extra_root_certificates: {0} cannot be read")]
    Unreadable(PathBuf, #[source] std::io::Error),
    /// A file of `webhooks.extra_root_certificates` contains no certificates.
    #[error("webhooks.extra_root_certificates: {0} is not a PEM file of certificates")]
    NotCertificates(PathBuf, #[source] pem::Error),
    /// The HTTP client cannot be built; usually the system has no root certificates.
    #[error("the client for webhooks cannot be built; are the system's root certificates (ca-certificates) installed?")]
    NoClient(#[source] rustls::Error),
}

impl Delivering {
    /// Reads the root certificates and builds the client. `resolver` resolves the host names of endpoints: [`Resolver::system`],
    /// except in tests.
    pub fn new(settings: &Settings, resolver: Resolver, clock: Clock, traces: Traces) -> Result<Self, SettingsError> {
        let mut roots = Vec::new();
        for path in &settings.extra_root_certificates {
            let pem = std::fs::read(path).map_err(|error| SettingsError::Unreadable(path.clone(), error))?;
            let certificates = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
            let certificates = certificates.and_then(|found| if found.is_empty() { Err(pem::Error::NoItemsFound) } else { Ok(found) });
            roots.extend(certificates.map_err(|error| SettingsError::NotCertificates(path.clone(), error))?);
        }
        let targets = Targets::new(&settings.allowed_networks, resolver);
        let tls = authorities::trusting(roots.clone()).map_err(SettingsError::NoClient)?;
        let company_clients = CompanyClients::new(targets.opening(&[]), tls.clone(), roots.into());
        let sender = Sender::new(targets.clone(), clock, tls, traces.clone());
        Ok(Self { targets, company_clients, sender, permits: Arc::new(Permits::new(settings.concurrency())), traces })
    }

    /// Makes clients for addresses of one other kind that companies name, under the same rules. The networks `opened` are open to them, and those of
    /// webhooks are not: an installation that lets deliveries inside need not let key sets and mail servers be asked there.
    pub fn company_clients(&self, opened: &[IpNet]) -> CompanyClients {
        self.company_clients.opening(opened)
    }
}
