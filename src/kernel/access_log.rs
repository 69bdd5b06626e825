//! The access log: one line for each request but probes, with the route instead of the path and the id of the key instead of who uses it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::{Extensions, StatusCode};

use crate::kernel::ids::KeyId;

/// The routes that are asked every second or two, and would fill the log.
const PROBES: [&str; 2] = ["/healthz", "/readyz"];

/// The store key or API key that a request has turned out to be sent with.
#[derive(Clone, Debug, Default)]
pub struct AskingKey(Arc<OnceLock<KeyId>>);

impl AskingKey {
    /// Notes the key of the request with these extensions, once it is known to be valid.
    pub fn note(request: &Extensions, key: KeyId) {
        if let Some(Self(asking)) = request.get() {
            // A request has one key.
            let _ = asking.set(key);
        }
    }

    /// The key, if there is a valid one.
    pub fn get(&self) -> Option<KeyId> {
        self.0.get().copied()
    }
}

/// Whether requests of this route are probes.
pub fn is_probe(route: Option<&str>) -> bool {
    route.is_some_and(|route| PROBES.contains(&route))
}

/// Writes the line of a request, within the span that has its id, method and route. At level debug if the access log is off.
pub fn write(is_on: bool, route: Option<&str>, status: StatusCode, took: Duration, key: &AskingKey) {
    let (status, duration_ms, key) = (status.as_u16(), in_milliseconds(took), key.get().map(tracing::field::display));
    if is_on && !is_probe(route) {
        tracing::info!(status, duration_ms, key, "request completed");
    } else {
        tracing::debug!(status, duration_ms, key, "request completed");
    }
}

/// With the microseconds as decimals.
fn in_milliseconds(took: Duration) -> f64 {
    took.as_micros() as f64 / 1_000.0
}
