//! The middleware around every request: request id, its spans in the log and in traces, the line in the access log, timeout, and the problem
//! document of a failed response.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::TimeoutLayer;
use tracing::Instrument;
use tracing::field::display;

use crate::kernel::access_log::{self, AskingKey};
use crate::kernel::client_address::{self, TrustedProxies};
use crate::kernel::clock::Clock;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::request_id::RequestId;
use crate::kernel::request_metrics::RequestMetrics;
use crate::kernel::traces::{Moment, Span, Traces, within};

/// The maximum body size of ordinary routes: 256 KiB. Decisions, section 1.
pub const BODY_LIMIT: usize = 256 * 1024;
/// The timeout of a request.
const TIME_LIMIT: Duration = Duration::from_secs(30);
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What the middleware goes by.
#[derive(Debug)]
pub struct Surroundings {
    /// Who may name the client of a request.
    pub trusted_proxies: TrustedProxies,
    /// When a request arrives.
    pub clock: Clock,
    /// Where its span goes.
    pub traces: Traces,
    /// What is measured of it.
    pub metrics: RequestMetrics,
    /// Whether the access log is on.
    pub access_log: bool,
    /// Cancelled when requests in flight may be cut off.
    pub stopping: CancellationToken,
}

/// Wraps a whole router. No response bypasses this layer.
pub fn layer(router: Router, surroundings: Surroundings) -> Router {
    layer_with_time_limit(TIME_LIMIT, router, surroundings)
}

fn layer_with_time_limit(time_limit: Duration, router: Router, surroundings: Surroundings) -> Router {
    // The first is outermost. Applied together, because the router boxes every route once per layer and clones the boxes per request.
    router.layer((
        middleware::from_fn_with_state(Arc::new(surroundings), request_context),
        CatchPanicLayer::custom(answer_panic),
        TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, time_limit),
        DefaultBodyLimit::max(BODY_LIMIT),
    ))
}

async fn request_context(State(surroundings): State<Arc<Surroundings>>, mut request: Request, next: Next) -> Response {
    let (now, access_log) = (surroundings.clock.now(), surroundings.access_log);
    let measured = surroundings.metrics.begin(&request);
    let began = Moment::now(now);
    let client = client_address::of(&request, &surroundings.trusted_proxies);
    let (id, key) = (RequestId::new(now), AskingKey::default());
    request.extensions_mut().insert(client);
    request.extensions_mut().insert(id);
    request.extensions_mut().insert(key.clone());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map(MatchedPath::as_str);
    let mut traced = if access_log::is_probe(route) { None } else { surroundings.traces.request(id, request.headers(), began) };
    if let Some(span) = &mut traced {
        describe(span, id, request.method().as_str(), route);
    }
    let trace_id = traced.as_ref().map(|span| display(span.context().trace_id()));
    let span = tracing::info_span!("request", id = %id, method = %request.method(), route = route.map(display), trace_id);
    let answer = async {
        let unanswered = Unanswered(Some(surroundings));
        let response = next.run(request).await;
        unanswered.answer();
        access_log::write(access_log, route, response.status(), began.elapsed(), &key);
        response
    };
    let response = finish_response(within(traced.as_ref(), answer.instrument(span)).await, id);
    measured.answered(response.status());
    if let Some(span) = traced {
        conclude(span, response.status(), &key);
    }
    response
}

fn describe(span: &mut Span, id: RequestId, method: &str, route: Option<&str>) {
    span.rename(format!("{method} {}", route.unwrap_or("unknown route")));
    span.set("http.request.method", method.to_owned());
    if let Some(route) = route {
        span.set("http.route", route.to_owned());
    }
    span.set("portico.request.id", id.to_string());
}

fn conclude(mut span: Span, status: StatusCode, key: &AskingKey) {
    span.set("http.response.status_code", i64::from(status.as_u16()));
    if let Some(key) = key.get() {
        span.set("portico.key.id", key.to_string());
    }
    if status.is_server_error() {
        span.fail("");
    }
}

/// A request that has no response yet. If it never gets one because the service stops, the log says so.
struct Unanswered(Option<Arc<Surroundings>>);

impl Unanswered {
    fn answer(mut self) {
        self.0 = None;
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        if self.0.as_ref().is_some_and(|surroundings| surroundings.stopping.is_cancelled()) {
            tracing::warn!("the request was cut off, because it had no response when the service stopped");
        }
    }
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
    use std::sync::Mutex;

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

    fn surroundings() -> Surroundings {
        Surroundings {
            trusted_proxies: TrustedProxies::default(),
            clock: Clock::System,
            traces: Traces::default(),
            metrics: RequestMetrics::default(),
            access_log: true,
            stopping: CancellationToken::new(),
        }
    }

    fn limits() -> http_server::Limits {
        http_server::Limits {
            header_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(10),
            connections: NonZeroU32::MIN,
            connections_per_address: NonZeroU32::MIN,
            proxies: TrustedProxies::default(),
        }
    }

    async fn answer(router: Router) -> (Response<()>, Value) {
        let request = Request::get("/").body(Body::empty()).unwrap();
        let layered = layer_with_time_limit(Duration::from_millis(50), router, surroundings());
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
        let router = layer_with_time_limit(Duration::from_millis(50), Router::new().route("/", post(listens)), surroundings());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let lifecycle = Lifecycle::default();
        let answering = http_server::serve(listener, router, limits(), lifecycle.stopping().clone());
        lifecycle.spawn(async move { answering.await.unwrap().end().await });

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
    async fn a_request_that_is_cut_off_when_the_service_stops_is_logged() {
        let begun = Arc::new(tokio::sync::Notify::new());
        let seen = Arc::clone(&begun);
        let never = async move || {
            seen.notify_one();
            std::future::pending::<()>().await;
        };
        let lifecycle = Lifecycle::default();
        let surroundings = Surroundings { stopping: lifecycle.stopping().clone(), ..surroundings() };
        let router = layer_with_time_limit(Duration::from_secs(60), Router::new().route("/never", get(never)), surroundings);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let serving = http_server::serve(listener, router, limits(), lifecycle.stopping().clone());
        lifecycle.spawn(async move { serving.await.unwrap().end().await });
        client.write_all(b"GET /never HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        begun.notified().await;

        let log = Log::default();
        let lines = log.clone();
        let logging = tracing::subscriber::set_default(tracing_subscriber::fmt().with_writer(move || lines.clone()).finish());
        tokio::time::pause();
        lifecycle.stop().await;
        drop(logging);
        let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        assert!(log.contains("the request was cut off"), "{log}");
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
