//! `ETag` and `If-Match`: a client that states which version it has read cannot overwrite a later one (RFC 9110, sections 8.8.3 and
//! 13.1.1).
//!
//! A tag is compared weakly, which the RFC does not ask for: a proxy that compresses answers weakens the tag, and the version is the same.

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
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let lines = parts.headers.get_all(IF_MATCH);
        if lines.iter().next().is_none() {
            return Ok(Self(None));
        }
        let tags = lines.iter().flat_map(|line| line.to_str().unwrap_or_default().split(',')).map(str::trim);
        let tags: Option<Vec<_>> = tags.map(|tag| is_tag(tag).then(|| tag.to_owned())).collect();
        // Of what is no tag, nobody can say that the record has changed.
        tags.map(|tags| Self(Some(tags))).ok_or_else(|| {
            let detail = "The header If-Match must be the ETag of the record, with its quotes: \"3\".";
            Problem::new(ProblemCode::ParameterInvalid).detail(detail).member("parameter", "If-Match")
        })
    }
}

/// Whether it is `*` or a tag, weak or not. None of this service has a comma, which is what they are listed with.
fn is_tag(text: &str) -> bool {
    let quoted = text.strip_prefix("W/").unwrap_or(text).strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    text == "*" || quoted.is_some_and(|opaque| !opaque.contains(['"', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(lines: &[&str]) -> Result<IfMatch, Problem> {
        let mut request = axum::http::Request::builder();
        for line in lines {
            request = request.header(IF_MATCH, *line);
        }
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        IfMatch::from_request_parts(&mut parts, &()).await
    }

    async fn allows(lines: &[&str], version: i64) -> bool {
        read(lines).await.unwrap().check(version).is_ok()
    }

    #[tokio::test]
    async fn only_the_version_that_was_read_is_changed() {
        assert!(allows(&[], 3).await);
        assert!(allows(&["*"], 3).await);
        assert!(allows(&["\"3\""], 3).await);
        assert!(allows(&["\"2\", \"3\""], 3).await);
        assert!(allows(&["\"2\"", "\"3\""], 3).await);
        assert!(allows(&["W/\"3\""], 3).await);
        for other in ["\"2\"", "W/\"2\"", "\"33\"", "\"\"", "\"a3\""] {
            assert!(!allows(&[other], 3).await, "{other:?}");
        }
    }

    #[tokio::test]
    async fn what_is_no_tag_is_refused_as_such() {
        for wrong in ["3", "w/\"3\"", "W/3", "", "\"3", "\"", "\"3\"junk", "\"3\" \"4\"", "\"3\", 4"] {
            assert_eq!(read(&[wrong]).await.unwrap_err().code(), ProblemCode::ParameterInvalid, "{wrong:?}");
        }
    }
}
