//! The stream of a connection to an endpoint, over TLS. It notes what comes over it ([`Traffic`]).

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::webhooks::sending::tls_reason::TlsReason;
use crate::webhooks::sending::traffic::Traffic;

/// The certificate that an endpoint presented, in DER.
#[derive(Clone, Debug)]
pub struct PeerCertificate(pub Arc<[u8]>);

/// A connection to an endpoint.
pub struct SecureStream {
    stream: TlsStream<TcpStream>,
    certificate: PeerCertificate,
    /// Whether the endpoint has asked for a certificate of its client.
    wants_certificate: bool,
    traffic: Traffic,
}

impl SecureStream {
    /// The stream after the handshake.
    pub fn new(stream: TlsStream<TcpStream>, wants_certificate: bool) -> Self {
        let (_, session) = stream.get_ref();
        let certificate = session.peer_certificates().and_then(<[_]>::first);
        let certificate = PeerCertificate(certificate.map(|der| der.as_ref().into()).unwrap_or_default());
        let traffic = Traffic::new(session.alpn_protocol() == Some(b"h2"));
        Self { stream, certificate, wants_certificate, traffic }
    }

    /// Notes what a write came to. An endpoint that refuses a request before it has read all of it closes the connection behind its answer, or
    /// behind the alert that says why; then the write fails, and the client reads no more. So what is there is read here.
    fn note_written<T>(mut self: Pin<&mut Self>, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if matches!(written, Poll::Ready(Err(_))) {
            let mut rest = [0; 512];
            let _ = self.as_mut().poll_read(cx, &mut ReadBuf::new(&mut rest));
        }
        written
    }
}

impl Connection for SecureStream {
    fn connected(&self) -> Connected {
        let connected = Connected::new().extra(self.certificate.clone()).extra(self.traffic.clone());
        if self.traffic.speaks_http2() { connected.negotiated_h2() } else { connected }
    }
}

impl AsyncRead for SecureStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(cx, buffer));
        match &read {
            Ok(()) => self.traffic.note_received(&buffer.filled()[before..]),
            Err(error) => {
                if let Some(reason) = TlsReason::of(error, self.wants_certificate) {
                    self.traffic.note_end_of_tls(reason);
                }
            }
        }
        Poll::Ready(read)
    }
}

impl AsyncWrite for SecureStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.traffic.note_sending();
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.note_written(cx, written)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        self.traffic.note_sending();
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.note_written(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.note_written(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
