//! The way to an endpoint: look its name up, connect, shake hands. Each step has a limit of its own, so that the log can say which
//! one failed.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::Uri;
use futures::FutureExt;
use futures::future::BoxFuture;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower::{Service, ServiceExt};

use crate::kernel::ids::CompanyId;
use crate::webhooks::targets::Targets;

/// The limit of connecting, over all addresses of a name.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The limit of the TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

tokio::task_local! {
    /// The company that a request is sent for. The client knows only names, but look-ups are shared fairly between companies. It begins
    /// to connect on the task of the request that needs the connection.
    static COMPANY: CompanyId;
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
    Tls(#[source] io::Error),
    #[error("the TLS handshake did not end in time")]
    TlsTimeout,
}

/// The certificate that an endpoint presented, in DER.
#[derive(Clone, Debug)]
pub struct PeerCertificate(pub Arc<[u8]>);

impl Connector {
    pub fn new(targets: Targets, mut tls: ClientConfig) -> Self {
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Self { targets, tls: TlsConnector::from(Arc::new(tls)) }
    }

    async fn connect(self, endpoint: Uri, company: Option<CompanyId>) -> Result<SecureStream, ConnectError> {
        let mut tcp = HttpConnector::new_with_resolver(self.targets.asked_by(company));
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let host = endpoint.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let stream = tcp.oneshot(endpoint).await.map_err(ConnectError::Tcp)?.into_inner();
        let name = ServerName::try_from(host).map_err(|error| ConnectError::Tls(io::Error::other(error)))?;
        let shaking_hands = timeout(HANDSHAKE_TIMEOUT, self.tls.connect(name, stream));
        let stream = shaking_hands.await.map_err(|_| ConnectError::TlsTimeout)?.map_err(ConnectError::Tls)?;
        let certificate = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
        let certificate = PeerCertificate(certificate.map(|der| der.as_ref().into()).unwrap_or_default());
        Ok(SecureStream { stream: TokioIo::new(stream), certificate })
    }
}

impl Service<Uri> for Connector {
    type Response = SecureStream;
    type Error = ConnectError;
    type Future = BoxFuture<'static, Result<SecureStream, ConnectError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, endpoint: Uri) -> Self::Future {
        // Read here, because the future may be finished by another task.
        let company = COMPANY.try_with(|company| *company).ok();
        self.clone().connect(endpoint, company).boxed()
    }
}

/// A connection to an endpoint.
pub struct SecureStream {
    stream: TokioIo<TlsStream<TcpStream>>,
    certificate: PeerCertificate,
}

impl Connection for SecureStream {
    fn connected(&self) -> Connected {
        let connected = Connected::new().extra(self.certificate.clone());
        let speaks_http2 = self.stream.inner().get_ref().1.alpn_protocol() == Some(b"h2");
        if speaks_http2 { connected.negotiated_h2() } else { connected }
    }
}

impl Read for SecureStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl Write for SecureStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }
}
