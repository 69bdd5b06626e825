//! What the span of a request says in traces.

use axum::http::{HeaderMap, Method, StatusCode};

use crate::kernel::access_log::{self, AskingKey};
use crate::kernel::request_id::RequestId;
use crate::kernel::traces::{Moment, Span, Traces};

/// Begins the span of a request, if its trace is recorded. Probes have none.
pub(super) fn begin(
    traces: &Traces,
    id: RequestId,
    method: &Method,
    route: Option<&str>,
    headers: &HeaderMap,
    began: Moment,
) -> Option<Span> {
    if access_log::is_probe(route) {
        return None;
    }
    let mut span = traces.request(id, headers, began)?;
    span.rename(format!("{method} {}", route.unwrap_or("unknown route")));
    span.set("http.request.method", method.as_str().to_owned());
    if let Some(route) = route {
        span.set("http.route", route.to_owned());
    }
    span.set("portico.request.id", id.to_string());
    Some(span)
}

/// The request has its answer.
pub(super) fn conclude(mut span: Span, status: StatusCode, key: &AskingKey) {
    span.set("http.response.status_code", i64::from(status.as_u16()));
    if let Some(key) = key.get() {
        span.set("portico.key.id", key.to_string());
    }
    if status.is_server_error() {
        span.fail("");
    }
}
