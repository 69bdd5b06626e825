//! The span of an attempt. It has neither the path of the endpoint nor anything of the event but its name, because both may be personal.

use crate::kernel::traces::{Moment, Span, SpanKind, Traces};
use crate::webhooks::sending::Claimed;
use crate::webhooks::sending::outcome::Outcome;

/// Begins it below the span that the event follows from, if that is recorded.
pub fn begin(traces: &Traces, claimed: &Claimed, began: Moment) -> Option<Span> {
    let mut span = traces.following(claimed.trace?, SpanKind::Client, format!("deliver {}", claimed.event_name), began)?;
    span.set("http.request.method", "POST");
    span.set("server.address", claimed.endpoint.url.host().to_string());
    span.set("portico.event.id", claimed.event.to_string());
    span.set("portico.delivery.id", claimed.delivery.to_string());
    span.set("portico.delivery.attempt", i64::from(claimed.number));
    span.set("portico.webhook.id", claimed.subscription.to_string());
    Some(span)
}

/// Ends it with what came of it.
pub fn end(mut span: Span, outcome: &Outcome) {
    if let Some(answer) = &outcome.answer {
        span.set("http.response.status_code", i64::from(answer.status.as_u16()));
    }
    if let Some(fault) = outcome.fault {
        span.set("error.type", fault.as_str());
    }
    if !outcome.answer.as_ref().is_some_and(|answer| answer.status.is_success()) {
        span.fail("");
    }
}
