//! Answering connections: a limit on how slowly a request may begin, and an end in order.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use axum::Router;
use axum_server::Handle;
use axum_server::accept::NoDelayAcceptor;
use hyper_util::rt::TokioTimer;
use tokio_util::sync::CancellationToken;

/// Requests under way get this long to end.
const PATIENCE: Duration = Duration::from_secs(15);

/// Answers on `listener` until `stopping` is cancelled and the requests under way have ended.
///
/// Who does not send the whole head of a request within `header_timeout` is hung up on; an idle connection is one that has not begun.
pub async fn answer(listener: TcpListener, router: Router, header_timeout: Duration, stopping: CancellationToken) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let handle = Handle::new();
    // HTTP/1 alone: to tell the versions apart the server would wait for the first bytes without any limit.
    let mut server = axum_server::from_tcp(listener)?.http1_only().acceptor(NoDelayAcceptor::new()).handle(handle.clone());
    server.http_builder().http1().timer(TokioTimer::new()).header_read_timeout(header_timeout);
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
