//! HTTP clients and connections for addresses that companies name besides their endpoints, such as those of their identity providers and mail
//! servers. They connect to public addresses and to the networks that are open to addresses of their kind, whatever a name resolves to by then.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use ipnet::IpNet;
use reqwest::Client;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use tokio::net::TcpStream;
use url::Host;

use crate::kernel::ids::CompanyId;
use crate::providers::reading_kindly;
use crate::webhooks::targets::{CheckedNames, EndpointUrl, TargetError, Targets};

/// The limit of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection to a server of a company is kept for the next request. Common servers close one that was idle for two or five
/// seconds, and a request must not run into that: unlike a delivery, it is not sent again.
const IDLE_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Makes clients. Clones share what it takes.
#[derive(Clone, Debug)]
pub struct CompanyClients(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    targets: Targets,
    tls: Arc<ClientConfig>,
    roots: Arc<[CertificateDer<'static>]>,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum NoClient {
    /// An address is a literal that may not be connected to.
    #[error(transparent)]
    Forbidden(#[from] TargetError),
    /// The client cannot be built.
    #[error("the client cannot be built")]
    NotBuilt(#[from] reqwest::Error),
}

impl CompanyClients {
    pub(super) fn new(targets: Targets, tls: ClientConfig, roots: Arc<[CertificateDer<'static>]>) -> Self {
        Self(Arc::new(Shared { targets, tls: Arc::new(tls), roots }))
    }

    /// How TLS is spoken to what is no HTTP server.
    pub fn tls(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0.tls)
    }

    /// The clients for addresses of another kind, to which these networks are open.
    pub(super) fn opening(&self, opened: &[IpNet]) -> Self {
        let Shared { targets, tls, roots } = &*self.0;
        Self(Arc::new(Shared { targets: targets.opening(opened), tls: Arc::clone(tls), roots: Arc::clone(roots) }))
    }

    /// The authorities that are trusted beside those of the system.
    pub fn roots(&self) -> Arc<[CertificateDer<'static>]> {
        Arc::clone(&self.0.roots)
    }

    /// The check when a company names a host, to report an error.
    pub async fn check_host(&self, company: CompanyId, host: &Host<String>) -> Result<(), TargetError> {
        self.0.targets.addresses(Some(company), host).await.map(drop)
    }

    /// A connection of a company to a host that it names, at an address that may be connected to.
    pub async fn connect(&self, company: CompanyId, host: &Host<String>, port: u16) -> io::Result<TcpStream> {
        let addresses = self.0.targets.addresses(Some(company), host).await.map_err(io::Error::other)?;
        let addresses: Vec<_> = addresses.into_iter().map(|address| (address, port).into()).collect();
        TcpStream::connect::<&[std::net::SocketAddr]>(&addresses).await
    }

    /// The check when a company names an address, to report an error.
    pub async fn check(&self, company: CompanyId, url: &EndpointUrl) -> Result<(), TargetError> {
        self.0.targets.check(company, url).await
    }

    /// A client of a company for requests to these addresses alone. Their names are checked at every connection; a redirect is not followed.
    pub fn client<'a>(
        &self,
        company: CompanyId,
        urls: impl IntoIterator<Item = &'a EndpointUrl>,
        timeout: Duration,
    ) -> Result<Client, NoClient> {
        for url in urls {
            self.0.targets.check_literal(url)?;
        }
        let mut tls = (*self.0.tls).clone();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let builder = reading_kindly(Client::builder()).tls_backend_preconfigured(tls).https_only(true).no_proxy();
        let builder = builder.dns_resolver(Arc::new(OfCompany(self.0.targets.asked_by(Some(company))))).redirect(Policy::none());
        let builder = builder.pool_max_idle_per_host(1).pool_idle_timeout(IDLE_TIMEOUT);
        Ok(builder.connect_timeout(CONNECT_TIMEOUT).timeout(timeout).build()?)
    }
}

/// Resolves names to addresses that may be connected to.
struct OfCompany(CheckedNames);

impl Resolve for OfCompany {
    fn resolve(&self, name: Name) -> Resolving {
        let names = self.0.clone();
        async move { Ok(Box::new(names.resolve(name.as_str()).await?.into_iter()) as Addrs) }.boxed()
    }
}
