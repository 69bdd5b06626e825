//! The HTTP server: header timeout and size limit, and graceful shutdown.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::time::Duration;

use axum::Router;
use axum_server::Handle;
use axum_server::accept::Accept;
use hyper_util::rt::TokioTimer;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// The time that requests in flight get to finish during shutdown.
const PATIENCE: Duration = Duration::from_secs(15);
/// The shortest method and its space: `GET `.
const FIRST_WORD: usize = 4;
/// The maximum size of a request head, in bytes. Legitimate heads have a few hundred bytes, and any client can make the server
/// buffer one.
const HEAD_LIMIT: usize = 64 * 1024;
/// The poll interval while a new connection has sent less than the first word.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Serves HTTP/1 on `listener` until `stopping` is cancelled and the requests in flight have finished.
///
/// A connection is closed if it does not send a whole request head within `header_timeout`. A request head that is too large gets
/// status 431. An idle connection counts as one that has not sent its head.
pub async fn answer(listener: TcpListener, router: Router, header_timeout: Duration, stopping: CancellationToken) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let handle = Handle::new();
    let acceptor = FirstWord { within: header_timeout, stopping: stopping.clone() };
    let mut server = axum_server::from_tcp(listener)?.acceptor(acceptor).handle(handle.clone());
    server.http_builder().http1().timer(TokioTimer::new()).header_read_timeout(header_timeout).max_buf_size(HEAD_LIMIT);
    let serving = server.serve(router.into_make_service_with_connect_info::<SocketAddr>());
    let stopped = async {
        stopping.cancelled().await;
        handle.graceful_shutdown(Some(PATIENCE));
        std::future::pending().await
    };
    tokio::select! {
        served = serving => served,
        () = stopped => unreachable!("what stops the server waits for it to end"),
    }
}

/// Accepts a connection after its first word has arrived. The server tells HTTP/1 from HTTP/2 by the first bytes, and would wait
/// for them without a timeout. This acceptor applies the timeout and rejects HTTP/2.
#[derive(Clone, Debug)]
struct FirstWord {
    within: Duration,
    stopping: CancellationToken,
}

impl<S: Send + 'static> Accept<TcpStream, S> for FirstWord {
    type Stream = TcpStream;
    type Service = S;
    type Future = Pin<Box<dyn Future<Output = io::Result<(TcpStream, S)>> + Send>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        let Self { within, stopping } = self.clone();
        Box::pin(async move {
            stream.set_nodelay(true)?;
            tokio::select! {
                arrived = timeout(within, first_word(&stream)) => arrived.map_err(|_| io::ErrorKind::TimedOut)??,
                () = stopping.cancelled() => return Err(io::ErrorKind::ConnectionAborted.into()),
            }
            Ok((stream, service))
        })
    }
}

async fn first_word(stream: &TcpStream) -> io::Result<()> {
    let mut word = [0; FIRST_WORD];
    loop {
        match stream.peek(&mut word).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            FIRST_WORD if &word == b"PRI " => return Err(io::ErrorKind::Unsupported.into()),
            FIRST_WORD => return Ok(()),
            _ => sleep(LOOK_AGAIN).await,
        }
    }
}
