//! HTTP/2 endpoints: one that accepts everything, and one that implements just enough of the protocol to refuse every request by
//! resetting its stream or closing the connection.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::{StatusCode, Version};
use axum_server::tls_rustls::RustlsConfig;
use portico::kernel::lifecycle::Lifecycle;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::support::receiver::{acceptor, server_config};

/// How a request is refused.
#[derive(Clone, Copy, Debug)]
pub enum Refusal {
    /// RST_STREAM with an internal error.
    Reset,
    /// GOAWAY, then the connection is closed.
    GoAway,
}

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const INTERNAL_ERROR: [u8; 4] = [0, 0, 0, 2];

/// An accepted request: the client address and the HTTP version.
pub type Taken = (SocketAddr, Version);

/// Listens as `name` and accepts everything; returns the URL and the accepted requests.
pub fn taking(name: &str) -> (String, Arc<Mutex<Vec<Taken>>>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("https://{name}:{}/", listener.local_addr().unwrap().port());
    let taken = Arc::<Mutex<Vec<Taken>>>::default();
    let note = Arc::clone(&taken);
    let take = async move |ConnectInfo(from): ConnectInfo<SocketAddr>, version: Version| {
        note.lock().unwrap().push((from, version));
        StatusCode::NO_CONTENT
    };
    let routes = Router::new().fallback(take).into_make_service_with_connect_info::<SocketAddr>();
    let tls = RustlsConfig::from_config(Arc::new(server_config(name, &[b"h2", b"http/1.1"])));
    Lifecycle::default().spawn(async move { axum_server::from_tcp_rustls(listener, tls).unwrap().serve(routes).await.unwrap() });
    (url, taken)
}

/// Listens as `name`; returns the URL.
pub async fn refusing(name: &str, refusal: Refusal) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{name}:{}/", listener.local_addr().unwrap().port());
    let tls = acceptor(name, &[b"h2"]);
    let tasks = Lifecycle::default();
    tasks.clone().spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let tls = tls.clone();
            // Clients that abort are part of the story.
            tasks.spawn(async move { drop(refuse(tls, stream, refusal).await) });
        }
    });
    url
}

async fn refuse(tls: TlsAcceptor, stream: TcpStream, refusal: Refusal) -> io::Result<()> {
    let mut stream = tls.accept(stream).await?;
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).await?;
    stream.write_all(&frame(SETTINGS, [0; 4], &[])).await?;
    stream.flush().await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let [_, a, b, kind, flags, stream_id @ ..] = head;
        let mut payload = vec![0; usize::from(u16::from_be_bytes([a, b]))];
        stream.read_exact(&mut payload).await?;
        match (kind, refusal) {
            (SETTINGS, _) if flags == 0 => {
                let mut acknowledged = frame(SETTINGS, [0; 4], &[]);
                acknowledged[4] = 1;
                stream.write_all(&acknowledged).await?;
            }
            (HEADERS, Refusal::Reset) => stream.write_all(&frame(RST_STREAM, stream_id, &INTERNAL_ERROR)).await?,
            (HEADERS, Refusal::GoAway) => {
                stream.write_all(&frame(GOAWAY, [0; 4], &[[0; 4], INTERNAL_ERROR].concat())).await?;
                return stream.shutdown().await;
            }
            _ => {}
        }
        stream.flush().await?;
    }
}

fn frame(kind: u8, stream_id: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, 0], stream_id.as_slice(), payload].concat()
}
