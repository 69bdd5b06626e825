//! The HTTP server: limits of open connections, in all and by address, timeouts of heads, writes and idle connections, and graceful
//! shutdown.
//!
//! A client that sends slowly, reads slowly or does nothing holds a place and nothing else. No address gets so many places that others
//! are kept out.

mod closing;
mod parting;
mod patient_stream;
mod places;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::connect_info::IntoMakeServiceWithConnectInfo;
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Request, StatusCode};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use nix::sys::socket::sockopt::SndBuf;
use nix::sys::socket::{Backlog, setsockopt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service;
use tower::util::{MapRequest, MapResponse};

use crate::kernel::client_address::TrustedProxies;
use crate::kernel::error_chain::chain;

use parting::{PartingStream, Remains};
use patient_stream::{Patience, PatientStream};
use places::{Place, Places};

/// The time that requests in flight get to finish during shutdown.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(15);
/// The time in which a client that is connected can still send a request during shutdown, which may be on its way.
const LAST_REQUEST: Duration = Duration::from_millis(100);
/// That of a client that has sent none. It has connected in order to send one, and may be held up in between.
const FIRST_REQUEST: Duration = Duration::from_secs(1);
/// The time in which clients who are connected get a place during shutdown: those of all who do not wait for a response are free by then.
const PLACES_ARE_FREE: Duration = Duration::from_secs(2);
/// The maximum size of a request head, in bytes. Legitimate heads have a few hundred bytes, and any client can make the server
/// buffer one.
const MAX_HEAD_LEN: usize = 64 * 1024;
/// What the system keeps of responses for each connection, in bytes; it takes twice as much. With megabytes, as it would take by itself,
/// a slow client that reads would look for long as if it did not, and many that do not read would take all memory.
const SEND_BUFFER: usize = 128 * 1024;
/// The pause after a failed accept, because an exhausted resource, such as open files, is not available again at once.
const ACCEPT_AGAIN: Duration = Duration::from_secs(1);

/// The limits of connections.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The timeout for a request head, and of an idle connection.
    pub header_timeout: Duration,
    /// How long a response may wait for a client that does not read.
    pub write_timeout: Duration,
    /// Maximum number of open connections. Further ones wait in the system's queue until one is closed.
    pub connections: NonZeroU32,
    /// Maximum number of open connections of one client address. Further ones are closed at once.
    pub connections_per_address: NonZeroU32,
    /// Proxies, which have the connections of many clients.
    pub proxies: TrustedProxies,
}

/// In the extensions of a response: when a response that goes on for long ends, even if its client does not read it.
#[derive(Clone, Copy, Debug)]
pub struct EndsAt(pub Instant);

/// Listens on `address`, with the longest queue of connections to be accepted that the system offers: thousands on Linux. The standard library's
/// 128 are too few for a crowd that connects at once: the system drops the rest, which connect again a second later.
///
/// # Errors
/// The address cannot be listened on.
pub fn listen(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(address)?;
    nix::sys::socket::listen(&listener, Backlog::MAXCONN)?;
    Ok(listener)
}

/// Serves HTTP/1 on `listener` until `stopping` is cancelled. What is left then are the connections that were accepted.
///
/// A connection is closed if it does not send a whole request head within [`Limits::header_timeout`]. A request head that is too large
/// gets status 431, one that is no HTTP gets 400, both with a problem document. An idle connection counts as one that has not sent its
/// head. A connection is reset if its client does not read a response for [`Limits::write_timeout`], however many requests it has sent
/// ahead.
pub async fn serve(listener: std::net::TcpListener, router: Router, limits: Limits, stopping: CancellationToken) -> io::Result<Leftover> {
    listener.set_nonblocking(true)?;
    setsockopt(&listener, SndBuf, &SEND_BUFFER)?;
    let listener = TcpListener::from_std(listener)?;
    let mut places = Places::new(limits.connections, limits.connections_per_address, limits.proxies);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.header_timeout).max_buf_size(MAX_HEAD_LEN);
    let services = router.into_make_service_with_connect_info::<SocketAddr>();
    let mut open =
        Open { http, services, write_timeout: limits.write_timeout, stopping: stopping.clone(), connections: TaskTracker::new() };
    {
        let mut accepting = pin!(open.accept(&listener, &mut places));
        stopping.run_until_cancelled(accepting.as_mut()).await;
        closing::connect_no_further_ones(&listener);
        _ = timeout(closing::HANDSHAKES, accepting).await;
    }
    let connected = closing::connected_already(listener)?;
    _ = timeout(PLACES_ARE_FREE, open.serve_all(connected, &mut places)).await;
    open.connections.close();
    Ok(Leftover(open.connections))
}

/// The connections that are open when no further ones are accepted.
#[derive(Debug)]
pub struct Leftover(TaskTracker);

impl Leftover {
    /// How many there are.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.0.len()
    }

    /// Waits until they are closed, each of them after the request in flight and after [`SHUTDOWN_GRACE`] at the latest.
    pub async fn end(self) {
        self.0.wait().await;
    }
}

/// The open connections.
struct Open {
    http: http1::Builder,
    services: IntoMakeServiceWithConnectInfo<Router, SocketAddr>,
    write_timeout: Duration,
    stopping: CancellationToken,
    connections: TaskTracker,
}

impl Open {
    /// Serves whoever connects.
    async fn accept(&mut self, listener: &TcpListener, places: &mut Places) -> Infallible {
        loop {
            let (stream, client, place) = accept(listener, places).await;
            self.serve(stream, client, place).await;
        }
    }

    /// Serves these, each once there is a place for it.
    async fn serve_all(&mut self, connected: Vec<(TcpStream, SocketAddr)>, places: &mut Places) {
        for (stream, client) in connected {
            let free = places.free().await;
            if let Some(place) = places.give(free, client) {
                self.serve(stream, client, place).await;
            }
        }
    }

    async fn serve(&mut self, stream: TcpStream, client: SocketAddr, place: Place) {
        // If the client has disconnected, setting the option fails. The first read detects it.
        _ = stream.set_nodelay(true);
        let Ok(service) = self.services.call(client).await;
        let patience = Patience::new(self.write_timeout);
        // Whether the last response refused a body that its client may still be sending.
        let (noting, unread) = (patience.clone(), Arc::new(AtomicBool::new(false)));
        let leaves_unread = Arc::clone(&unread);
        let (asked, stopping) = (Arc::new(AtomicBool::new(false)), self.stopping.clone());
        let asks = Arc::clone(&asked);
        let service = MapRequest::new(service, move |request: Request<Incoming>| {
            asks.store(true, Ordering::Relaxed);
            request
        });
        let service = MapResponse::new(service, move |mut response: Response| {
            leaves_unread
                .store(matches!(response.status(), StatusCode::REQUEST_TIMEOUT | StatusCode::PAYLOAD_TOO_LARGE), Ordering::Relaxed);
            if stopping.is_cancelled() {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            noting.begin_response(response.extensions().get().map(|EndsAt(moment)| *moment));
            response
        });
        let remains = Remains::default();
        let stream = PartingStream::new(PatientStream::new(stream, patience.clone()), remains.clone());
        let connection = self.http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
        let stopping = self.stopping.clone();
        let conversation = async move {
            let mut connection = pin!(connection);
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = stopping.cancelled() => {
                    let time = if asked.load(Ordering::Relaxed) { LAST_REQUEST } else { FIRST_REQUEST };
                    if let Ok(ended) = timeout(time, connection.as_mut()).await {
                        return ended;
                    }
                    patience.end_connection();
                    connection.as_mut().graceful_shutdown();
                    timeout(SHUTDOWN_GRACE, connection).await.unwrap_or(Ok(()))
                }
            }
        };
        self.connections.spawn(async move {
            let _place = place;
            let refused = conversation.await.is_err_and(|error| error.is_parse());
            // Errors of a connection concern its client only.
            _ = remains.part(refused, unread.load(Ordering::Relaxed)).await;
        });
    }
}

/// Accepts the next connection that gets a place, once one is free.
async fn accept(listener: &TcpListener, places: &mut Places) -> (TcpStream, SocketAddr, Place) {
    let mut free = places.free().await;
    loop {
        match listener.accept().await {
            Ok((stream, client)) => {
                if let Some(place) = places.give(free, client) {
                    return (stream, client, place);
                }
                free = places.free().await;
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn a_crowd_that_comes_at_once_is_connected_before_anybody_is_accepted() {
        let most: usize = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap().trim().parse().unwrap();
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        // A connection that finds no room in the queue is not made in time.
        let connect = |_| TcpStream::connect_timeout(&address, Duration::from_secs(60));
        let crowd: Result<Vec<_>, _> = (0..most.min(1_000)).map(connect).collect();
        crowd.unwrap();
    }
}
