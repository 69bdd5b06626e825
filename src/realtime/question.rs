//! The authorization request: a body that the socket server signed recently with the shared key.

use axum::body::Bytes;
use axum::extract::{FromRef, FromRequest, Request};
use axum::http::HeaderMap;
use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kernel::json;
use crate::kernel::openapi::object;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::request_body::must_be_plain;
use crate::realtime::key::SocketKey;
use crate::realtime::state::Realtime;

/// The maximum difference between the clocks of the socket server and this service. An intercepted request can be replayed for
/// this long.
const TOLERANCE: TimeDelta = TimeDelta::seconds(300);

/// The question whether the holder of the token may subscribe to the channel.
#[derive(Deserialize)]
pub(super) struct Question {
    pub(super) token: String,
    pub(super) channel: String,
}

impl Question {
    pub(super) fn schema() -> Value {
        object([
            ("token", json!({ "type": "string", "description": "The socket token of the customer." })),
            ("channel", json!({ "type": "string", "description": "The channel, such as `order.order_01h455vb4pex5vsknk084sn02q`." })),
        ])
    }
}

impl<S> FromRequest<S> for Question
where
    S: Send + Sync,
    Realtime: FromRef<S>,
{
    type Rejection = Problem;

    /// Verifies the signature. `X-Socket-Timestamp` contains seconds since 1970, `X-Socket-Signature` the HMAC-SHA256 over
    /// `timestamp.body` in lower-case hex.
    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let realtime = Realtime::from_ref(state);
        let key = realtime.key()?;
        let headers = request.headers().clone();
        let body = Bytes::from_request(request, state).await.map_err(|refused| ProblemCode::of_status(refused.status()))?;
        if !is_signed(&headers, &body, key, realtime.clock.now()) {
            return Err(ProblemCode::SocketSignatureInvalid.into());
        }
        must_be_plain(&headers)?;
        json::parse(&body)
    }
}

fn is_signed(headers: &HeaderMap, body: &[u8], key: &SocketKey, now: DateTime<Utc>) -> bool {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (timestamp, signature) = (header("x-socket-timestamp"), header("x-socket-signature"));
    let is_number = !timestamp.is_empty() && timestamp.bytes().all(|byte| byte.is_ascii_digit());
    let Some(signed_at) = timestamp.parse().ok().filter(|_| is_number).and_then(|seconds| DateTime::from_timestamp(seconds, 0)) else {
        return false;
    };
    let Ok(signature) = hex::decode(signature) else { return false };
    (now - signed_at).abs() <= TOLERANCE && key.has_signed(timestamp, body, &signature)
}
