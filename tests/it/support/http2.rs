//! HTTP/2 endpoints: one that accepts everything, and one that implements just enough of the protocol to refuse every request by
//! resetting its stream or closing the connection.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
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
    /// GOAWAY with an internal error, then the connection is closed.
    GoAway,
    /// After this number of requests of a connection that it accepts, GOAWAY without an error, as proxies do.
    AwayAfter(u32),
    /// RST_STREAM with REFUSED_STREAM, for the first so many requests. Later ones are accepted.
    Refused(u32),
    /// After this number of requests of a connection that it accepts, the connection is closed under the next one, without a word of HTTP/2.
    LeavesAfter(u32),
    /// Likewise, but it is reset.
    ResetsAfter(u32),
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const NO_ERROR: [u8; 4] = [0; 4];
const INTERNAL_ERROR: [u8; 4] = [0, 0, 0, 2];
const REFUSED_STREAM: [u8; 4] = [0, 0, 0, 7];
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `:status: 200`, as HPACK encodes it.
const OK: [u8; 1] = [0x88];

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
    let refused = Arc::new(AtomicU32::new(0));
    tasks.clone().spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (tls, refused) = (tls.clone(), Arc::clone(&refused));
            // Clients that abort are part of the story.
            tasks.spawn(async move { drop(refuse(tls, stream, refusal, &refused).await) });
        }
    });
    url
}

async fn refuse(tls: TlsAcceptor, stream: TcpStream, refusal: Refusal, refused: &AtomicU32) -> io::Result<()> {
    let mut stream = tls.accept(stream).await?;
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).await?;
    stream.write_all(&frame(SETTINGS, 0, [0; 4], &[])).await?;
    stream.flush().await?;
    let (mut accepted, mut last_accepted, mut is_away) = (0, [0; 4], false);
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let [_, a, b, kind, flags, stream_id @ ..] = head;
        let mut payload = vec![0; usize::from(u16::from_be_bytes([a, b]))];
        stream.read_exact(&mut payload).await?;
        let ends = kind == DATA && flags & END_STREAM != 0;
        match (kind, refusal) {
            (SETTINGS, _) if flags == 0 => stream.write_all(&frame(SETTINGS, 1, [0; 4], &[])).await?,
            (HEADERS, Refusal::Reset) => stream.write_all(&frame(RST_STREAM, 0, stream_id, &INTERNAL_ERROR)).await?,
            (HEADERS, Refusal::GoAway) => {
                stream.write_all(&frame(GOAWAY, 0, [0; 4], &[[0; 4], INTERNAL_ERROR].concat())).await?;
                return stream.shutdown().await;
            }
            // What comes on a connection that was sent away is not even looked at; the client closes it.
            (HEADERS, Refusal::AwayAfter(count)) if accepted == count && !is_away => {
                is_away = true;
                stream.write_all(&frame(GOAWAY, 0, [0; 4], &[last_accepted, NO_ERROR].concat())).await?;
            }
            (HEADERS, Refusal::AwayAfter(_)) if !is_away => {
                accepted += 1;
                last_accepted = stream_id;
            }
            (DATA, Refusal::AwayAfter(_)) if ends && u32::from_be_bytes(stream_id) <= u32::from_be_bytes(last_accepted) => {
                stream.write_all(&frame(HEADERS, END_STREAM | END_HEADERS, stream_id, &OK)).await?;
            }
            (DATA, Refusal::Refused(count)) if ends && refused.fetch_add(1, Ordering::Relaxed) < count => {
                stream.write_all(&frame(RST_STREAM, 0, stream_id, &REFUSED_STREAM)).await?;
            }
            (DATA, Refusal::Refused(_)) if ends => {
                stream.write_all(&frame(HEADERS, END_STREAM | END_HEADERS, stream_id, &OK)).await?;
            }
            (DATA, Refusal::LeavesAfter(count)) if ends && accepted == count => return stream.shutdown().await,
            (DATA, Refusal::ResetsAfter(count)) if ends && accepted == count => return stream.get_ref().0.set_zero_linger(),
            (DATA, Refusal::LeavesAfter(_) | Refusal::ResetsAfter(_)) if ends => {
                accepted += 1;
                stream.write_all(&frame(HEADERS, END_STREAM | END_HEADERS, stream_id, &OK)).await?;
            }
            _ => {}
        }
        stream.flush().await?;
    }
}

fn frame(kind: u8, flags: u8, stream_id: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags], stream_id.as_slice(), payload].concat()
}
