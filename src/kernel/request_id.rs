//! The id of an HTTP request: in the `X-Request-Id` header, every log line, every problem, and the audit trail.

use std::fmt;

use axum::http::request::Parts;

use crate::kernel::crypto::random_bytes;

/// 128 random bits, written as 32 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId(u128);

impl RequestId {
    pub(super) fn random() -> Self {
        Self(u128::from_be_bytes(random_bytes()))
    }

    /// The id that the middleware gave this request.
    pub fn of(parts: &Parts) -> Option<Self> {
        parts.extensions.get().copied()
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}
