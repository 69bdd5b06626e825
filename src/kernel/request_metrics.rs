//! What is measured of requests: how many each route answered and how long that took.
//!
//! Every request is measured, so it must cost next to nothing: the series of an answer are looked up once, by the text of the route without a
//! copy of it, and there is one series of each kind to add to.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::extract::MatchedPath;
use axum::http::{Method, StatusCode};

use crate::kernel::metrics::{Counter, Durations, Family, Gauge, Histogram, Registry, TailHasher, durations_by};
use crate::kernel::traces::Moment;

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
    /// Those of each route. There are as many routes as the router has, and few statuses of each.
    known: RwLock<HashMap<Box<str>, Vec<Known>, BuildHasherDefault<TailHasher>>>,
}

/// The series of an answer.
#[derive(Debug)]
struct Known {
    method: &'static str,
    status: u16,
    answered: Counter,
    took: Histogram,
}

/// A request that is being answered.
#[derive(Debug)]
pub struct UnderWay {
    metrics: RequestMetrics,
    method: &'static str,
    route: Option<MatchedPath>,
    began: Moment,
    answer: Option<(StatusCode, Duration)>,
}

impl Default for RequestMetrics {
    fn default() -> Self {
        let (answered, took) = (Family::default(), durations_by());
        Self(Arc::new(Inner { answered, took, under_way: Gauge::default(), known: RwLock::default() }))
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
    pub fn begin(&self, method: &Method, route: Option<MatchedPath>, began: Moment) -> UnderWay {
        self.0.under_way.inc();
        UnderWay { metrics: self.clone(), method: word(method), route, began, answer: None }
    }
}

impl UnderWay {
    /// The request has its answer, after this time.
    pub fn answered(mut self, status: StatusCode, took: Duration) {
        self.answer = Some((status, took));
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let (status, took) = match self.answer {
            Some((status, took)) => (status.as_u16(), took),
            None => (CLIENT_GONE, self.began.elapsed()),
        };
        let route = self.route.as_ref().map_or("none", MatchedPath::as_str);
        self.metrics.0.under_way.dec();
        self.metrics.0.count(self.method, route, status, took);
    }
}

impl Inner {
    fn count(&self, method: &'static str, route: &str, status: u16, took: Duration) {
        if let Some(of_route) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(route)
            && let Some(known) = of_route.iter().find(|known| known.status == status && known.method == method)
        {
            return known.count(took);
        }
        let new = self.series(method, route.into(), status);
        new.count(took);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let of_route = known.entry(route.into()).or_default();
        if !of_route.iter().any(|known| known.status == status && known.method == method) {
            of_route.push(new);
        }
    }

    fn series(&self, method: &'static str, route: Arc<str>, status: u16) -> Known {
        let took = self.took.get_or_create_owned(&RouteLabels { method, route: Arc::clone(&route) });
        Known { method, status, answered: self.answered.get_or_create_owned(&AnswerLabels { method, route, status }), took }
    }
}

impl Known {
    fn count(&self, took: Duration) {
        self.answered.inc();
        self.took.observe(took.as_secs_f64());
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
    use chrono::DateTime;

    use super::*;

    #[test]
    fn a_request_counts_once_whether_it_was_answered_or_its_client_went_away() {
        let (metrics, mut registry) = (RequestMetrics::default(), Registry::default());
        metrics.register(&mut registry);
        let begin = |method| metrics.begin(&method, None, Moment::now(DateTime::UNIX_EPOCH));
        for _ in 0..2 {
            begin(Method::GET).answered(StatusCode::OK, Duration::from_millis(2));
        }
        drop(begin(Method::PATCH));
        let open = begin(Method::GET);
        let text = registry.render();
        for line in [
            r#"portico_http_requests_total{method="GET",route="none",status="200"} 2"#,
            r#"portico_http_requests_total{method="other",route="none",status="499"} 1"#,
            r#"portico_http_request_seconds_count{method="GET",route="none"} 2"#,
            "portico_http_requests_under_way 1",
        ] {
            assert!(text.lines().any(|written| written == line), "{line} in {text}");
        }
        drop(open);
    }
}
