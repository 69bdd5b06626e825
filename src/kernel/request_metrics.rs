//! What is measured of requests: how many each route answered and how long that took.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::{Method, StatusCode};

use crate::kernel::metrics::{Counter, Durations, Family, Gauge, Registry, durations_by};

/// The status of a request whose client went away before the answer. No answer has it.
const CLIENT_GONE: u16 = 499;

crate::labels! {
    /// The route of a request.
    pub struct RouteLabels {
        /// A method that some route has, or `other`.
        pub method: &'static str,
        /// The path as the router knows it, with the names of its parameters and not with their values; `none` if there is no such route.
        pub route: Arc<str>,
    }
}

crate::labels! {
    /// Of a request that has ended.
    pub struct AnswerLabels {
        /// As in [`RouteLabels`].
        pub method: &'static str,
        /// As in [`RouteLabels`].
        pub route: Arc<str>,
        /// The status of the response.
        pub status: u16,
    }
}

/// The metrics of requests. Clones share them.
#[derive(Clone, Debug)]
pub struct RequestMetrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    answered: Family<AnswerLabels, Counter>,
    took: Durations<RouteLabels>,
    under_way: Gauge,
}

/// A request that is being answered.
#[derive(Debug)]
pub struct UnderWay {
    metrics: RequestMetrics,
    route: RouteLabels,
    since: Instant,
    status: u16,
}

impl Default for RequestMetrics {
    fn default() -> Self {
        Self(Arc::new(Inner { answered: Family::default(), took: durations_by(), under_way: Gauge::default() }))
    }
}

impl RequestMetrics {
    /// Registers what is measured of requests.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("portico_http_requests", "Requests that were answered", &self.0.answered);
        registry.register("portico_http_request_seconds", "Time until the head of the response", &self.0.took);
        registry.register("portico_http_requests_under_way", "Requests that are being answered", &self.0.under_way);
    }

    /// Begins to measure a request.
    pub fn begin(&self, request: &Request) -> UnderWay {
        let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).into();
        self.0.under_way.inc();
        let route = RouteLabels { method: word(request.method()), route };
        UnderWay { metrics: self.clone(), route, since: Instant::now(), status: CLIENT_GONE }
    }
}

impl UnderWay {
    /// The request has its answer.
    pub fn answered(mut self, status: StatusCode) {
        self.status = status.as_u16();
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let Inner { answered, took, under_way } = &*self.metrics.0;
        under_way.dec();
        took.get_or_create(&self.route).observe(self.since.elapsed().as_secs_f64());
        let RouteLabels { method, route } = self.route.clone();
        answered.get_or_create(&AnswerLabels { method, route, status: self.status }).inc();
    }
}

fn word(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn a_request_counts_once_whether_it_was_answered_or_its_client_went_away() {
        let (metrics, mut registry) = (RequestMetrics::default(), Registry::default());
        metrics.register(&mut registry);
        let begin = |method| metrics.begin(&Request::builder().method(method).body(Body::empty()).unwrap());
        begin(Method::GET).answered(StatusCode::OK);
        drop(begin(Method::PATCH));
        let open = begin(Method::GET);
        let text = registry.render();
        for line in [
            r#"portico_http_requests_total{method="GET",route="none",status="200"} 1"#,
            r#"portico_http_requests_total{method="other",route="none",status="499"} 1"#,
            "portico_http_requests_under_way 1",
        ] {
            assert!(text.lines().any(|written| written == line), "{line} in {text}");
        }
        drop(open);
    }
}
