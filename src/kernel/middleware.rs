//! The middleware around every request: request id, tracing span, timeout, and the problem document of a failed response.

use std::any::Any;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::TimeoutLayer;
use tracing::Instrument;

use crate::kernel::client_address::{self, TrustedProxies};
use crate::kernel::clock::Clock;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::request_id::RequestId;
use crate::kernel::request_metrics::RequestMetrics;

/// The maximum body size of ordinary routes: 256 KiB. Decisions, section 1.
pub const BODY_LIMIT: usize = 256 * 1024;
/// The timeout of a request.
const TIME_LIMIT: Duration = Duration::from_secs(30);
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Wraps a whole router. No response bypasses this layer.
pub fn layer(router: Router, trusted_proxies: TrustedProxies, clock: Clock, metrics: RequestMetrics) -> Router {
    layer_with_time_limit(TIME_LIMIT, router, trusted_proxies, clock, metrics)
}

fn layer_with_time_limit(
    time_limit: Duration,
    router: Router,
    trusted_proxies: TrustedProxies,
    clock: Clock,
    metrics: RequestMetrics,
) -> Router {
    // The first is outermost. Applied together, because the router boxes every route once per layer and clones the boxes per request.
    router.layer((
        middleware::from_fn_with_state((trusted_proxies, clock, metrics), request_context),
        CatchPanicLayer::custom(answer_panic),
        TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, time_limit),
        DefaultBodyLimit::max(BODY_LIMIT),
    ))
}

type Context = (TrustedProxies, Clock, RequestMetrics);

async fn request_context(State((trusted_proxies, clock, metrics)): State<Context>, mut request: Request, next: Next) -> Response {
    let measured = metrics.begin(&request);
    let (id, client) = (RequestId::new(clock.now()), client_address::of(&request, &trusted_proxies));
    request.extensions_mut().insert(client);
    request.extensions_mut().insert(id);
    let span = tracing::info_span!("request", id = %id, method = %request.method(), path = %request.uri().path());
    let answer = async {
        let response = next.run(request).await;
        tracing::debug!(status = response.status().as_u16(), "request completed");
        response
    };
    let response = finish_response(answer.instrument(span).await, id);
    measured.answered(response.status());
    response
}

/// Marks a failed response that tells the reason itself, to a person: a page.
#[derive(Clone, Copy, Debug)]
pub struct TellsTheReason;

/// Writes the problem document of a failed response. Every response gets the request id and, unless it sets its own,
/// `Cache-Control: no-store`, because responses contain tokens, keys and customer data.
fn finish_response(mut response: Response, id: RequestId) -> Response {
    let id = id.to_string();
    let failed = response.status().is_client_error() || response.status().is_server_error();
    if failed && response.extensions().get::<TellsTheReason>().is_none() {
        let problem = response.extensions_mut().remove::<Problem>();
        let problem = problem.unwrap_or_else(|| Problem::new(ProblemCode::of_status(response.status())));
        // The other headers of the response stay (Retry-After, Allow, RateLimit-…); the status code and the body come from the problem.
        let (mut parts, _) = response.into_parts();
        parts.status = problem.code().status();
        if let Some(wait) = problem.clone().into_response().headers().get(header::RETRY_AFTER) {
            parts.headers.insert(header::RETRY_AFTER, wait.clone());
        }
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        response = Response::from_parts(parts, Body::from(problem.body(&id).to_string()));
    }
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response.headers_mut().insert(REQUEST_ID, HeaderValue::from_str(&id).expect("hex digits are a valid header value"));
    response
}

fn answer_panic(panic: Box<dyn Any + Send>) -> Response {
    let message = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(message = message.unwrap_or("no message"), "a handler panicked");
    Problem::new(ProblemCode::Internal).into_response()
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::TcpListener;
    use std::num::NonZeroU32;
    use std::sync::{Arc, Mutex};

    use axum::body::{Bytes, to_bytes};
    use axum::routing::{get, post};
    use serde_json::Value;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::time::interval;
    use tower::ServiceExt;

    use super::*;
    use crate::kernel::http_server;
    use crate::kernel::lifecycle::Lifecycle;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    async fn answer(router: Router) -> (Response<()>, Value) {
        let request = Request::get("/").body(Body::empty()).unwrap();
        let layered =
            layer_with_time_limit(Duration::from_millis(50), router, TrustedProxies::default(), Clock::System, RequestMetrics::default());
        let (parts, body) = layered.oneshot(request).await.unwrap().into_parts();
        let body = serde_json::from_slice(&to_bytes(body, BODY_LIMIT).await.unwrap()).unwrap();
        (Response::from_parts(parts, ()), body)
    }

    #[tokio::test]
    async fn a_panic_is_a_problem_without_details() {
        async fn panics() {
            panic!("at the disco")
        }
        let (answer, body) = answer(Router::new().route("/", get(panics))).await;
        assert_eq!((answer.status().as_u16(), &body["code"]), (500, &Value::from("internal_error")));
        assert_eq!(answer.headers()["content-type"], "application/problem+json");
        assert_eq!(answer.headers()["x-request-id"], body["request_id"].as_str().unwrap());
        assert!(!body.to_string().contains("disco"));
    }

    #[tokio::test]
    async fn a_request_beyond_the_time_limit_is_aborted() {
        let (answer, body) = answer(Router::new().route("/", get(std::future::pending::<()>))).await;
        assert_eq!((answer.status().as_u16(), &body["code"]), (503, &Value::from("overloaded")));
        assert_eq!(answer.headers()["retry-after"], "1");
    }

    #[tokio::test]
    async fn a_slow_body_times_out() {
        async fn listens(_: Bytes) {}
        let router = layer_with_time_limit(
            Duration::from_millis(50),
            Router::new().route("/", post(listens)),
            TrustedProxies::default(),
            Clock::System,
            RequestMetrics::default(),
        );
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let lifecycle = Lifecycle::default();
        let limits = http_server::Limits {
            header_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(10),
            connections: NonZeroU32::MIN,
            connections_per_address: NonZeroU32::MIN,
            proxies: TrustedProxies::default(),
        };
        let answering = http_server::serve(listener, router, limits, lifecycle.stopping().clone());
        lifecycle.spawn(async move { answering.await.unwrap() });

        let (mut answers, mut slow) = TcpStream::connect(address).await.unwrap().into_split();
        slow.write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n").await.unwrap();
        let trickling = async {
            let mut moments = interval(Duration::from_millis(5));
            while slow.write_all(b" ").await.is_ok() {
                moments.tick().await;
            }
            std::future::pending().await
        };
        let mut answer = [0; 12];
        tokio::select! {
            read = answers.read_exact(&mut answer) => assert_eq!(read.unwrap(), answer.len()),
            () = trickling => {}
        }
        assert_eq!(&answer, b"HTTP/1.1 503");
        lifecycle.stop().await;
    }

    #[tokio::test]
    async fn every_line_that_is_logged_for_a_request_has_its_id() {
        async fn talks() {
            tracing::warn!("before it waits");
            tokio::task::yield_now().await;
            tracing::info!("afterwards");
            panic!("at the disco")
        }
        let router = Router::new().route("/", get(talks));
        // The first request makes the places that log known, so that no other test makes them known at the same moment as this one begins
        // to listen: what is lost then stays lost.
        answer(router.clone()).await;
        let log = Log::default();
        let lines = log.clone();
        let subscriber = tracing_subscriber::fmt().json().with_max_level(tracing::Level::DEBUG).with_writer(move || lines.clone()).finish();
        let logging = tracing::subscriber::set_default(subscriber);
        let (answer, _) = answer(router).await;
        drop(logging);
        let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let messages: Vec<_> = lines.iter().map(|line| line["fields"]["message"].as_str().unwrap()).collect();
        assert!(["before it waits", "afterwards", "request completed"].iter().all(|message| messages.contains(message)), "{messages:?}");
        for line in &lines {
            assert_eq!(line["span"]["id"], answer.headers()["x-request-id"].to_str().unwrap(), "{line}");
        }
    }
}
