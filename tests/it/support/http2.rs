//! An endpoint that speaks just enough HTTP/2 to refuse: every request's stream is reset, or the connection ended.

use std::io;

use portico::kernel::lifecycle::Lifecycle;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::support::receiver::acceptor;

/// How a request is refused.
#[derive(Clone, Copy, Debug)]
pub enum Refusal {
    /// RST_STREAM with an error of the server.
    Reset,
    /// GOAWAY, and the connection is closed.
    GoAway,
}

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const INTERNAL_ERROR: [u8; 4] = [0, 0, 0, 2];

/// Listens as `name`; gives the URL.
pub async fn refusing(name: &str, refusal: Refusal) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{name}:{}/", listener.local_addr().unwrap().port());
    let tls = acceptor(name, &[b"h2"]);
    let tasks = Lifecycle::default();
    tasks.clone().spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let tls = tls.clone();
            // A client that gives up is part of the story.
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
