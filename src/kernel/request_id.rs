//! The id of an HTTP request: in the `X-Request-Id` header, every log line, every problem, the audit trail, and the events that the
//! request published.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize, Serializer};
use uuid::Uuid;

use crate::kernel::ids::uuid_v7;

/// A UUIDv7, written as 32 hex digits. Ids are ordered by time, so that an index of them grows at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, sqlx::Type)]
#[serde(try_from = "String")]
#[sqlx(transparent)]
pub struct RequestId(Uuid);

/// The text is not 32 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The id of a request has 32 hex digits.")]
pub struct InvalidRequestId;

impl RequestId {
    /// A new id for a request that arrives at `now`.
    pub fn new(now: DateTime<Utc>) -> Self {
        Self(uuid_v7(now))
    }

    /// The id that the middleware gave this request.
    pub fn of(parts: &Parts) -> Option<Self> {
        parts.extensions.get().copied()
    }

    /// The UUID.
    pub fn uuid(self) -> Uuid {
        self.0
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RequestId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts).expect("the request layer adds it to every request"))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.simple().fmt(f)
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for RequestId {
    type Err = InvalidRequestId;

    fn from_str(text: &str) -> Result<Self, InvalidRequestId> {
        let has_form = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        has_form.then(|| Uuid::try_parse(text).ok()).flatten().map(Self).ok_or(InvalidRequestId)
    }
}

impl TryFrom<String> for RequestId {
    type Error = InvalidRequestId;

    fn try_from(text: String) -> Result<Self, InvalidRequestId> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn an_id_has_32_hex_digits_and_is_read_as_it_is_written() {
        let id = RequestId::new(DateTime::UNIX_EPOCH + TimeDelta::days(20_000));
        assert_eq!((id.to_string().len(), id.to_string().parse()), (32, Ok(id)));
        assert_eq!(id.to_string().to_uppercase().parse(), Ok(id));
        for text in ["", "7", "01890a5d-ac96-774b-bcce-b302099a8057", "01890a5dac96774bbcceb302099a805g", &"ä".repeat(16)] {
            assert_eq!(text.parse::<RequestId>(), Err(InvalidRequestId), "{text}");
        }
    }

    #[test]
    fn a_later_request_has_a_greater_id() {
        let at = |milliseconds| RequestId::new(DateTime::UNIX_EPOCH + TimeDelta::milliseconds(milliseconds)).to_string();
        assert!(at(1_795_000_000_001) > at(1_795_000_000_000));
    }
}
