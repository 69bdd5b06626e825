//! The middleware around every request: request id, its spans in the log and in traces, the line in the access log, the limits of the body, timeout,
//! and the problem document of a failed response.

mod head;
mod response;
mod traced;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use tokio::task::yield_now;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;
use tracing::Instrument;
use tracing::field::display;

use crate::kernel::access_log::{self, AskingKey};
use crate::kernel::client_address::{self, TrustedProxies};
use crate::kernel::clock::Clock;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::request_body::{Arrival, BodyLimits};
use crate::kernel::request_id::RequestId;
use crate::kernel::request_metrics::RequestMetrics;
use crate::kernel::traces::{Moment, Traces, within};

pub use response::TellsTheReason;

/// The time for a request, from its head to the head of its response.
pub const TIME_LIMIT: Duration = Duration::from_secs(30);

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
    /// The maximum sizes of bodies.
    pub body_limits: BodyLimits,
    /// The path below which customers ask, whose problems are in the language that they accept.
    pub customers_below: &'static str,
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
        middleware::from_fn_with_state(Arc::new((surroundings, time_limit)), request_context),
        CatchPanicLayer::custom(response::of_panic),
        // The limits of bodies are kept before.
        DefaultBodyLimit::disable(),
    ))
}

/// The response to a request that reaches no router.
pub fn finish(response: impl IntoResponse, now: DateTime<Utc>) -> Response {
    response::finish(response.into_response(), RequestId::new(now), None)
}

async fn request_context(State(state): State<Arc<(Surroundings, Duration)>>, mut request: Request, next: Next) -> Response {
    let (surroundings, time_limit) = &*state;
    let (now, access_log) = (surroundings.clock.now(), surroundings.access_log);
    let began = Moment::now(now);
    let route = request.extensions().get::<MatchedPath>().cloned();
    let measured = surroundings.metrics.begin(request.method(), route.clone(), began);
    let route = route.as_ref().map(MatchedPath::as_str);
    let client = client_address::of(&request, &surroundings.trusted_proxies);
    let (id, key) = (RequestId::new(now), AskingKey::default());
    request.extensions_mut().insert(client);
    request.extensions_mut().insert(id);
    request.extensions_mut().insert(key.clone());
    let traced = traced::begin(&surroundings.traces, id, request.method(), route, request.headers(), began);
    let trace_id = traced.as_ref().map(|span| display(span.context().trace_id()));
    let span = tracing::info_span!("request", id = %id, method = %request.method(), route = route.map(display), trace_id);
    let languages = languages(&request, surroundings.customers_below);
    let answer = async {
        let unanswered = Unanswered(Some(&surroundings.stopping));
        let arrival = Arrival::of(&request);
        let handled = async {
            if let Some(problem) = head::refuse(&request) {
                return problem.into_response();
            }
            match surroundings.body_limits.bound(request, route, &arrival) {
                Ok(request) => next.run(request).await,
                Err(problem) => problem.into_response(),
            }
        };
        let response = match timeout(*time_limit, handled).await {
            Ok(_) if arrival.is_too_large() => Problem::from(ProblemCode::BodyTooLarge).into_response(),
            Ok(response) => response,
            Err(_) if arrival.is_awaited() => Problem::from(ProblemCode::RequestTimeout).into_response(),
            Err(_) => Problem::from(ProblemCode::Overloaded).into_response(),
        };
        unanswered.answer();
        if arrival.is_left() {
            // The connection notices before the response that nobody reads the rest. It takes what has arrived already, and otherwise tells the client
            // that it closes: another request on it would break.
            yield_now().await;
        }
        let took = began.elapsed();
        access_log::write(access_log, route, response.status(), took, &key);
        (response, took)
    };
    let (response, took) = within(traced.as_ref(), answer.instrument(span)).await;
    let response = response::finish(response, id, languages);
    measured.answered(response.status(), took);
    if let Some(span) = traced {
        traced::conclude(span, response.status(), &key);
    }
    response
}

/// What is said of the language of problems, if a customer asks. It is kept as it was written, because few responses are problems.
fn languages(request: &Request, customers_below: &str) -> Option<Vec<HeaderValue>> {
    let asks = request.uri().path().starts_with(customers_below);
    asks.then(|| request.headers().get_all(header::ACCEPT_LANGUAGE).iter().cloned().collect())
}

/// A request that has no response yet. If it never gets one because the service stops, the log says so.
struct Unanswered<'a>(Option<&'a CancellationToken>);

impl Unanswered<'_> {
    fn answer(mut self) {
        self.0 = None;
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if self.0.is_some_and(CancellationToken::is_cancelled) {
            tracing::warn!("the request was cut off, because it had no response when the service stopped");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::num::NonZeroU32;

    use axum::body::{Body, Bytes, to_bytes};
    use axum::routing::{get, post};
    use serde_json::Value;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::time::interval;
    use tower::ServiceExt;

    use super::*;
    use crate::kernel::captured_log::CapturedLog;
    use crate::kernel::http_server;
    use crate::kernel::lifecycle::Lifecycle;

    fn surroundings() -> Surroundings {
        Surroundings {
            trusted_proxies: TrustedProxies::default(),
            clock: Clock::System,
            traces: Traces::default(),
            metrics: RequestMetrics::default(),
            access_log: true,
            body_limits: BodyLimits::default(),
            customers_below: "/shop",
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
        let body = serde_json::from_slice(&to_bytes(body, usize::MAX).await.unwrap()).unwrap();
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
        assert_eq!(&answer, b"HTTP/1.1 408");
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

        let log = CapturedLog::default();
        let lines = log.clone();
        let logging = tracing::subscriber::set_default(tracing_subscriber::fmt().with_writer(move || lines.clone()).finish());
        tokio::time::pause();
        lifecycle.stop().await;
        drop(logging);
        let log = log.text();
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
        let log = CapturedLog::default();
        let lines = log.clone();
        let subscriber = tracing_subscriber::fmt().json().with_max_level(tracing::Level::DEBUG).with_writer(move || lines.clone()).finish();
        let logging = tracing::subscriber::set_default(subscriber);
        let (answer, _) = answer(router).await;
        drop(logging);
        let log = log.text();
        let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let messages: Vec<_> = lines.iter().map(|line| line["fields"]["message"].as_str().unwrap()).collect();
        assert!(["before it waits", "afterwards", "request completed"].iter().all(|message| messages.contains(message)), "{messages:?}");
        for line in &lines {
            assert_eq!(line["span"]["id"], answer.headers()["x-request-id"].to_str().unwrap(), "{line}");
        }
    }
}
