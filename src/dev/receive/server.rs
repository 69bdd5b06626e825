//! The HTTPS server of the receiver, on loopback only.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum_server::Handle;
use axum_server::tls_rustls::RustlsConfig;
use chrono::{DateTime, Utc};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_util::sync::CancellationToken;

use super::delivery::ReceivedDelivery;
use super::verify::{SigningSecret, Verdicts};
use crate::dev::authority::{Authority, AuthorityError, IssuedCertificate};
use crate::kernel::routing::post;

/// Far above the size of any envelope.
const BODY_LIMIT: usize = 1024 * 1024;
/// The time that deliveries in flight get to finish when the receiver is stopped.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// The reason why the receiver does not run.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// The port is in use or not permitted.
    #[error("could not listen on port {port} of 127.0.0.1")]
    Listen {
        /// The requested port.
        port: u16,
        /// The cause.
        source: io::Error,
    },
    /// The certificate could not be issued.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// The issued certificate is unsuitable for TLS.
    #[error("TLS could not be set up")]
    Tls(#[from] rustls::Error),
    /// The issued certificate is not valid PEM.
    #[error("the generated certificate could not be parsed")]
    Pem(#[from] pem::Error),
    /// The server failed.
    #[error("the receiver stopped unexpectedly")]
    Serve(#[source] io::Error),
}

/// How a receiver handles deliveries.
pub struct Desk {
    /// The accepted signing secrets. If empty, signatures are not checked.
    pub secrets: Vec<SigningSecret>,
    /// The status code for deliveries with acceptable signatures; others get 401.
    pub answer: StatusCode,
    /// The clock.
    pub now: Box<dyn Fn() -> DateTime<Utc> + Send + Sync>,
    /// Called with every delivery, before the response is sent.
    pub show: Box<dyn Fn(ReceivedDelivery) + Send + Sync>,
}

/// A receiver that is bound to its port.
pub struct Receiver {
    listener: TcpListener,
    address: SocketAddr,
    tls: RustlsConfig,
    desk: Arc<Desk>,
}

impl Receiver {
    /// Binds the port (0: any free one) on 127.0.0.1, with a certificate for `localhost` and the loopback addresses.
    ///
    /// # Errors
    /// Returns a [`ReceiveError`] if the port is not available or no certificate can be issued.
    pub fn bind(port: u16, authority: &Authority, desk: Desk) -> Result<Self, ReceiveError> {
        let issued = authority.issue(&["localhost", "127.0.0.1", "::1"], (desk.now)())?;
        let listen = || {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
            // Tokio requires non-blocking sockets.
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) = listen().map_err(|source| ReceiveError::Listen { port, source })?;
        let tls = RustlsConfig::from_config(Arc::new(tls(&issued)?));
        Ok(Self { listener, address, tls, desk: Arc::new(desk) })
    }

    /// The bound address. If port 0 was requested, it has the port that was found.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Receives until `stop` is cancelled and the connections are closed.
    ///
    /// # Errors
    /// Returns [`ReceiveError::Serve`] if the socket fails.
    pub async fn run(self, stop: CancellationToken) -> Result<(), ReceiveError> {
        let routes = Router::new()
            .route("/", post(receive))
            .route("/{*path}", post(receive))
            .layer(DefaultBodyLimit::max(BODY_LIMIT))
            .with_state(self.desk);
        let handle = Handle::new();
        let server = axum_server::from_tcp_rustls(self.listener, self.tls).map_err(ReceiveError::Serve)?;
        let server = server.handle(handle.clone()).serve(routes.into_make_service());
        let stopping = async {
            stop.cancelled().await;
            handle.graceful_shutdown(Some(SHUTDOWN_GRACE));
            std::future::pending().await
        };
        tokio::select! {
            served = server => served.map_err(ReceiveError::Serve),
            never = stopping => never,
        }
    }
}

/// Selects the cryptography provider explicitly, because the process may not have set a default.
fn tls(issued: &IssuedCertificate) -> Result<ServerConfig, ReceiveError> {
    let chain = CertificateDer::pem_slice_iter(issued.chain_pem.as_bytes()).collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes())?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

async fn receive(State(desk): State<Arc<Desk>>, headers: HeaderMap, body: Result<Bytes, BytesRejection>) -> Response {
    let body = match body {
        Ok(body) => body,
        Err(rejection) => {
            tracing::warn!(
                limit = BODY_LIMIT,
                error = %rejection,
                "a delivery was too large or incomplete"
            );
            return rejection.into_response();
        }
    };
    let verdicts = Verdicts::on(&headers, &body, &desk.secrets);
    let answer = if verdicts.are_acceptable() { desk.answer } else { StatusCode::UNAUTHORIZED };
    (desk.show)(ReceivedDelivery { received_at: (desk.now)(), headers, body, verdicts, answer });
    answer.into_response()
}
