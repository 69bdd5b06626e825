//! `ETag` and `If-Match`: a client that states which version it has read cannot overwrite a later one (RFC 9110, sections 8.8.3 and
//! 13.1.1).
//!
//! A tag is compared weakly, which the RFC does not ask for: a proxy that compresses answers weakens the tag, and the version is the same.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header::IF_MATCH;
use axum::http::request::Parts;

use crate::kernel::problem::{Problem, ProblemCode};

/// The `ETag` of a record version.
pub fn of(version: i64) -> String {
    format!("\"{version}\"")
}

/// The versions that a request accepts. Any version, if the request has no `If-Match` header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IfMatch(Option<Vec<String>>);

impl IfMatch {
    /// Returns the error `record_changed` unless the request accepts this version.
    pub fn check(&self, version: i64) -> Result<(), Problem> {
        let Some(tags) = &self.0 else { return Ok(()) };
        let tag = of(version);
        match tags.iter().any(|listed| listed == "*" || listed.strip_prefix("W/").unwrap_or(listed) == tag) {
            true => Ok(()),
            false => Err(ProblemCode::RecordChanged.into()),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let lines = parts.headers.get_all(IF_MATCH);
        if lines.iter().next().is_none() {
            return Ok(Self(None));
        }
        // An unreadable header value matches no version, so the request is rejected instead of overwriting a later version.
        let lines = lines.iter().filter_map(|line| line.to_str().ok());
        Ok(Self(Some(lines.flat_map(|line| line.split(',')).map(|tag| tag.trim().to_owned()).collect())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn allows(lines: &[&str], version: i64) -> bool {
        let mut request = axum::http::Request::builder();
        for line in lines {
            request = request.header(IF_MATCH, *line);
        }
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        IfMatch::from_request_parts(&mut parts, &()).await.unwrap().check(version).is_ok()
    }

    #[tokio::test]
    async fn only_the_version_that_was_read_is_changed() {
        assert!(allows(&[], 3).await);
        assert!(allows(&["*"], 3).await);
        assert!(allows(&["\"3\""], 3).await);
        assert!(allows(&["\"2\", \"3\""], 3).await);
        assert!(allows(&["\"2\"", "\"3\""], 3).await);
        assert!(allows(&["W/\"3\""], 3).await);
        for other in ["\"2\"", "W/\"2\"", "w/\"3\"", "3", "W/3", "", "\"3", "\"33\""] {
            assert!(!allows(&[other], 3).await, "{other:?}");
        }
    }
}
