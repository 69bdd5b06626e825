//! The way to an endpoint: look its name up, connect, shake hands. Each step has a limit of its own, so that the log can say which
//! one failed.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::Uri;
use futures::FutureExt;
use futures::future::BoxFuture;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use rustls::client::ResolvesClientCert;
use rustls::pki_types::ServerName;
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, SignatureScheme};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tower::{Service, ServiceExt};

use crate::kernel::ids::CompanyId;
use crate::webhooks::sending::stream::SecureStream;
use crate::webhooks::sending::tls_reason::TlsReason;
use crate::webhooks::targets::Targets;

/// The limit of connecting, over all addresses of a name.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The limit of the TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

tokio::task_local! {
    /// The company that a request is sent for. The client knows only names, but look-ups are shared fairly between companies. It begins
    /// to connect on the task of the request that needs the connection.
    static COMPANY: CompanyId;
    /// Whether the endpoint has asked for a certificate of its client in the handshake of this task.
    static WANTS_CERTIFICATE: Cell<bool>;
}

/// Runs `request`; the connections that it opens are those of `company`.
pub async fn on_behalf_of<T>(company: CompanyId, request: impl Future<Output = T>) -> T {
    COMPANY.scope(company, request).await
}

/// Connects to endpoints over verified TLS, and only to addresses that were checked for this connection.
#[derive(Clone)]
pub struct Connector {
    targets: Targets,
    tls: TlsConnector,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("the name could not be looked up, or no connection could be made")]
    Tcp(#[source] <HttpConnector as Service<Uri>>::Error),
    #[error("the TLS handshake failed")]
    Tls { reason: TlsReason, source: io::Error },
    #[error("the TLS handshake did not end in time")]
    TlsTimeout,
}

impl ConnectError {
    fn tls(error: io::Error, wants_certificate: bool) -> Self {
        Self::Tls { reason: TlsReason::of(&error, wants_certificate).unwrap_or(TlsReason::Other), source: error }
    }
}

/// Has no certificate for an endpoint that asks for one, and notes that it did. Only then one can say what it means when it refuses to go on.
#[derive(Debug)]
struct NoCertificate;

impl ResolvesClientCert for NoCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let _ = WANTS_CERTIFICATE.try_with(|wants_certificate| wants_certificate.set(true));
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}

impl Connector {
    pub fn new(targets: Targets, mut tls: ClientConfig) -> Self {
        tls.client_auth_cert_resolver = Arc::new(NoCertificate);
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Self { targets, tls: TlsConnector::from(Arc::new(tls)) }
    }

    async fn connect(self, endpoint: Uri, company: Option<CompanyId>) -> Result<TokioIo<SecureStream>, ConnectError> {
        let mut tcp = HttpConnector::new_with_resolver(self.targets.asked_by(company));
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let host = endpoint.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let stream = tcp.oneshot(endpoint).await.map_err(ConnectError::Tcp)?.into_inner();
        let name = ServerName::try_from(host).map_err(|error| ConnectError::tls(io::Error::other(error), false))?;
        let shaking_hands = WANTS_CERTIFICATE.scope(Cell::new(false), async {
            let shaken = timeout(HANDSHAKE_TIMEOUT, self.tls.connect(name, stream)).await;
            (shaken, WANTS_CERTIFICATE.with(Cell::get))
        });
        let (shaken, wants_certificate) = shaking_hands.await;
        let stream = shaken.map_err(|_| ConnectError::TlsTimeout)?.map_err(|error| ConnectError::tls(error, wants_certificate))?;
        Ok(TokioIo::new(SecureStream::new(stream, wants_certificate)))
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<SecureStream>;
    type Error = ConnectError;
    type Future = BoxFuture<'static, Result<TokioIo<SecureStream>, ConnectError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, endpoint: Uri) -> Self::Future {
        // Read here, because the future may be finished by another task.
        let company = COMPANY.try_with(|company| *company).ok();
        self.clone().connect(endpoint, company).boxed()
    }
}
