//! The HTTP server: a limit of open connections, header timeout and size limit, and graceful shutdown.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service;

use crate::kernel::error_chain::chain;

/// The time that requests in flight get to finish during shutdown.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(15);
/// The maximum size of a request head, in bytes. Legitimate heads have a few hundred bytes, and any client can make the server
/// buffer one.
const MAX_HEAD_LEN: usize = 64 * 1024;
/// The pause after a failed accept, because an exhausted resource, such as open files, is not available again at once.
const ACCEPT_AGAIN: Duration = Duration::from_secs(1);

/// The limits of connections.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The timeout for a request head, and of an idle connection.
    pub header_timeout: Duration,
    /// Maximum number of open connections. Further ones wait in the system's queue until one is closed.
    pub connections: NonZeroU32,
}

/// Serves HTTP/1 on `listener` until `stopping` is cancelled and the requests in flight have finished.
///
/// A connection is closed if it does not send a whole request head within [`Limits::header_timeout`]. A request head that is too large
/// gets status 431. An idle connection counts as one that has not sent its head.
pub async fn serve(listener: TcpListener, router: Router, limits: Limits, stopping: CancellationToken) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let room = Arc::new(Semaphore::new(limits.connections.get() as usize));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.header_timeout).max_buf_size(MAX_HEAD_LEN);
    let mut services = router.into_make_service_with_connect_info::<SocketAddr>();
    let connections = TaskTracker::new();
    while let Some((stream, client, place)) = stopping.run_until_cancelled(accept(&listener, &room)).await {
        let Ok(service) = services.call(client).await;
        let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
        let stopping = stopping.clone();
        connections.spawn(async move {
            let mut connection = pin!(connection);
            // Errors of a connection concern its client only.
            tokio::select! {
                _ = connection.as_mut() => {}
                () = stopping.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    _ = timeout(SHUTDOWN_GRACE, connection).await;
                }
            }
            drop(place);
        });
    }
    drop(listener);
    connections.close();
    connections.wait().await;
    Ok(())
}

/// Accepts the next connection, once the number of open connections is below the limit.
async fn accept(listener: &tokio::net::TcpListener, room: &Arc<Semaphore>) -> (TcpStream, SocketAddr, OwnedSemaphorePermit) {
    let place = Arc::clone(room).acquire_owned().await.expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            // If the client has disconnected, setting the option fails. The first read detects it.
            Ok((stream, client)) => {
                _ = stream.set_nodelay(true);
                return (stream, client, place);
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(error = chain(&error), "a connection could not be accepted");
                sleep(ACCEPT_AGAIN).await;
            }
        }
    }
}

/// Whether the error concerns one connection only (the client disconnected before the accept). The next one can be accepted at once.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
