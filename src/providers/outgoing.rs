//! What requests to all providers have in common: the authorities that are trusted, and that a request is part of the trace of the one that needs it.

use std::time::Duration;

use reqwest::{Client, ClientBuilder, RequestBuilder, Response};

use crate::kernel::authorities;
use crate::kernel::traces::{self, SpanKind, TRACEPARENT};

/// How long a connection to a provider is kept for the next request. Their load balancers close one that was idle for a minute, some for half of
/// it, and a request must not run into that: one that may have been processed is not sent again.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);

/// A client that trusts the authorities of the system. Without any, it cannot be built.
pub fn client() -> ClientBuilder {
    let builder = match authorities::trusting(Vec::new()) {
        Ok(mut tls) => {
            tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
            Client::builder().tls_backend_preconfigured(tls)
        }
        // Building it fails for the same reason.
        Err(_) => Client::builder(),
    };
    reading_kindly(builder).pool_idle_timeout(IDLE_TIMEOUT)
}

/// Reads answers of HTTP/1 as far as they can be read: a header line that is not as it should be is no reason to take none of an answer.
pub fn reading_kindly(builder: ClientBuilder) -> ClientBuilder {
    builder
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_ignore_invalid_headers_in_responses(true)
}

/// Sends a request. If what needs it is recorded, so is this, and the provider is told the span. The span has neither the path nor the body,
/// which may be personal.
pub async fn send(request: RequestBuilder, name: &'static str) -> reqwest::Result<Response> {
    let Some(mut span) = traces::part_now(SpanKind::Client, name) else { return request.send().await };
    let answer = request.header(TRACEPARENT, span.context().header_value()).send().await;
    match &answer {
        Ok(answer) => {
            if let Some(host) = answer.url().host_str() {
                span.set("server.address", host.to_owned());
            }
            span.set("http.response.status_code", i64::from(answer.status().as_u16()));
        }
        Err(error) => span.fail(if error.is_timeout() { "timed out" } else { "no response" }),
    }
    answer
}
