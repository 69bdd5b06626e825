//! Sending: one signed POST to one endpoint, within one deadline.
//!
//! No transaction is open here. Every failure is an [`Outcome`]; sending itself cannot fail. The body is the event's own bytes,
//! shared by all its deliveries. The response body is read as a stream, without decompression, and no further than it is kept.
//!
//! An attempt is what the endpoint may have processed. A request that it certainly has not is sent again within the same attempt:
//! at once on a new connection if the endpoint said so ([`fault::is_unprocessed`]), and once after two seconds if nothing was sent at
//! a first attempt because nobody listened or the name was unknown ([`second_tries`]). An endpoint may also end an idle connection: a
//! request that meets the end of a kept connection is sent again once, on a new one, unless a byte of an answer came
//! ([`Post::met_the_end_of_a_kept_connection`]).

mod certificates;
mod connector;
pub mod fault;
pub mod outcome;
mod post;
mod retry_after;
mod second_tries;
mod status_line;
mod stream;
pub mod tls_reason;
mod traced;
mod traffic;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, header};
use chrono::{DateTime, Utc};
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use tracing::field::display;

use crate::kernel::clock::Clock;
use crate::kernel::crypto::CannotOpen;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{CompanyId, DeliveryId, EventId, SubscriptionId};
use crate::kernel::traces::{Moment, Span, TraceContext, Traces};
use crate::webhooks::endpoint::{AttemptHeaders, Endpoint, Headers};
use crate::webhooks::sending::certificates::{Certificates, end_of_expired};
use crate::webhooks::sending::connector::{Connector, on_behalf_of};
use crate::webhooks::sending::fault::{Fault, is_unprocessed, may_pass_soon};
use crate::webhooks::sending::outcome::{Answer, Outcome};
use crate::webhooks::sending::post::{Client, Post};
use crate::webhooks::sending::second_tries::SecondTries;
use crate::webhooks::sending::traffic::Traffic;
use crate::webhooks::targets::Targets;

/// Bytes of the response body that are kept; the rest is not read. Response headers are limited to the same size.
pub const MAX_LOGGED_BODY_LEN: usize = 16 * 1024;
/// Bytes of the header lines of a response that are read with HTTP/2. With HTTP/1 it is somewhat more.
const MAX_HEADERS_LEN: u32 = 256 * 1024;
/// How long a connection without requests is kept: less than the five seconds of common servers. One that a server ends sooner is gone before the
/// next request, or ends under it, which is then sent again.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);
/// How often a request is sent again at once.
const MAX_RESENDS: usize = 2;

/// Posts claimed deliveries.
#[derive(Clone, Debug)]
pub struct Sender {
    client: Client,
    /// Opens a connection for each request.
    client_without_pool: Client,
    targets: Targets,
    certificates: Certificates,
    second_tries: SecondTries,
    clock: Clock,
    traces: Traces,
}

/// A claimed delivery, with everything that is needed to send it.
#[derive(Debug)]
pub struct Claimed {
    /// The delivery id.
    pub delivery: DeliveryId,
    /// The company that owns the delivery.
    pub company: CompanyId,
    /// The subscription that the delivery is for.
    pub subscription: SubscriptionId,
    /// The event that is delivered.
    pub event: EventId,
    /// The attempt number, from 1; the fencing token of the lease.
    pub number: i16,
    /// Number of failed attempts before this one.
    pub(crate) failures: i16,
    pub(crate) event_name: String,
    /// The sequence number among the events about the same record.
    pub(crate) sequence: Option<i64>,
    /// Whether other deliveries wait for this one to end.
    pub(crate) in_order: bool,
    pub(crate) is_replay: bool,
    /// The body; one allocation is shared by all deliveries of the event.
    pub(crate) body: Bytes,
    /// The span that the event follows from, if it is recorded.
    pub(crate) trace: Option<TraceContext>,
    pub(crate) endpoint: Arc<Endpoint>,
}

/// One POST that was made, and its outcome.
#[derive(Debug)]
pub struct Attempt {
    pub(crate) delivery: DeliveryId,
    pub(crate) company: CompanyId,
    pub(crate) subscription: SubscriptionId,
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) number: i16,
    /// Number of failed attempts before this one.
    pub(crate) failures: i16,
    /// Whether other deliveries wait for this one to end.
    pub(crate) in_order: bool,
    pub(crate) is_replay: bool,
    pub(crate) started_at: DateTime<Utc>,
    pub(crate) ended_at: DateTime<Utc>,
    pub(crate) took: Duration,
    /// The request headers as the log keeps them, in JSON.
    pub(crate) request_headers: String,
    pub(crate) outcome: Outcome,
}

impl Sender {
    /// A sender that trusts the authorities of `tls`.
    pub fn new(targets: Targets, clock: Clock, tls: ClientConfig, traces: Traces) -> Self {
        let connector = Connector::new(targets.clone(), tls);
        let mut builder = legacy::Client::builder(TokioExecutor::new());
        builder.timer(TokioTimer::new()).pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIMEOUT);
        // An answer is read as far as it can be. What still cannot be read counts by its status line.
        builder.http1_allow_spaces_after_header_name_in_responses(true).http1_allow_obsolete_multiline_headers_in_responses(true);
        builder.http1_ignore_invalid_headers_in_responses(true).http2_max_header_list_size(MAX_HEADERS_LEN);
        let client = builder.build(connector.clone());
        let client_without_pool = builder.pool_max_idle_per_host(0).build(connector);
        Self { client, client_without_pool, targets, certificates: Certificates::new(), second_tries: SecondTries::new(), clock, traces }
    }

    /// Sends a claimed delivery and waits for the response, at most as long as the timeout of the subscription.
    pub async fn send(&self, claimed: Claimed) -> Attempt {
        let started_at = self.clock.now();
        let started = Moment::now(started_at);
        let span = traced::begin(&self.traces, &claimed, started);
        let (request_headers, outcome) = match headers(&claimed, span.as_ref(), started_at) {
            Ok(headers) => (headers.logged, self.post(&claimed, headers.map).await),
            Err(error) => {
                let trace_id = claimed.trace.map(|trace| display(trace.trace_id()));
                tracing::error!(subscription = %claimed.subscription, trace_id, error = chain(&error), "a delivery could not be signed");
                ("{}".to_owned(), Fault::Unsigned.into())
            }
        };
        if let Some(span) = span {
            traced::end(span, &outcome);
        }
        Attempt {
            delivery: claimed.delivery,
            company: claimed.company,
            subscription: claimed.subscription,
            endpoint: claimed.endpoint,
            number: claimed.number,
            failures: claimed.failures,
            in_order: claimed.in_order,
            is_replay: claimed.is_replay,
            started_at,
            ended_at: self.clock.now(),
            took: started.elapsed(),
            request_headers,
            outcome,
        }
    }

    async fn post(&self, claimed: &Claimed, mut headers: HeaderMap) -> Outcome {
        let endpoint = &claimed.endpoint;
        if let Err(reason) = self.targets.check_literal(&endpoint.url) {
            return Fault::from(&reason).into();
        }
        let Ok(uri) = endpoint.url.uri() else { return Fault::Blocked.into() };
        headers.entry(header::ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        let (mut post, mut outcome) = (Post::new(uri, headers, claimed.body.clone()), Outcome::default());
        let exchange = on_behalf_of(claimed.company, self.exchange(claimed, &mut post, &mut outcome));
        let ended = tokio::time::timeout(endpoint.timeout.duration(), exchange).await;
        if outcome.answer.is_none() {
            outcome.answer = post.status().map(Answer::of_status);
        }
        outcome.fault = match ended {
            Ok(fault) => fault,
            Err(_) => Some(if outcome.answer.is_some() { Fault::TooSlow } else { Fault::Timeout }),
        };
        outcome.resends = post.resends();
        outcome
    }

    /// Sends the request and stores the response in `outcome` as it arrives, so that a deadline keeps what has arrived by then. Returns
    /// what went wrong.
    async fn exchange(&self, claimed: &Claimed, post: &mut Post, outcome: &mut Outcome) -> Option<Fault> {
        let response = match self.request(claimed, post).await {
            Ok(response) => response,
            Err(error) => {
                outcome.certificate_expires_at = end_of_expired(&error);
                return Some(post.fault(&error));
            }
        };
        if let Some(traffic) = response.extensions().get::<Traffic>() {
            traffic.note_answer();
        }
        outcome.certificate_expires_at = self.certificates.end_of(&response);
        let (head, mut body) = response.into_parts();
        let answer = outcome.answer.insert(Answer { status: head.status, headers: head.headers, body: Vec::new() });
        while answer.body.len() < MAX_LOGGED_BODY_LEN
            && let Some(frame) = body.frame().await
        {
            let Ok(frame) = frame else { return Some(Fault::Closed) };
            let (chunk, limit) = (frame.into_data().unwrap_or_default(), MAX_LOGGED_BODY_LEN - answer.body.len());
            answer.body.extend_from_slice(&chunk[..chunk.len().min(limit)]);
        }
        None
    }

    /// Sends the request, and once more after a while if it is a first attempt and nothing was sent.
    async fn request(&self, claimed: &Claimed, post: &mut Post) -> Result<Response<Incoming>, legacy::Error> {
        let begun = Instant::now();
        let sent = self.send_until_processed(post).await;
        match &sent {
            Err(error) if claimed.number == 1 && may_pass_soon(error) => {}
            _ => return sent,
        }
        let is_time_left = begun.elapsed() + second_tries::WAIT < claimed.endpoint.timeout.duration();
        let Some(_place) = self.second_tries.place(claimed.company).filter(|_| is_time_left) else { return sent };
        tokio::time::sleep(second_tries::WAIT).await;
        self.send_until_processed(post).await
    }

    /// Sends the request, again on a connection of its own if it met the end of a kept one, and while the endpoint has certainly not
    /// processed it.
    async fn send_until_processed(&self, post: &mut Post) -> Result<Response<Incoming>, legacy::Error> {
        let mut sent = post.send(&self.client).await;
        for _ in 0..MAX_RESENDS {
            // A connection of its own is never a kept one, so that happens once.
            if !sent.as_ref().is_err_and(|error| is_unprocessed(error) || post.met_the_end_of_a_kept_connection(error)) {
                break;
            }
            sent = post.send(&self.client_without_pool).await;
        }
        sent
    }
}

fn headers(claimed: &Claimed, span: Option<&Span>, at: DateTime<Utc>) -> Result<Headers, CannotOpen> {
    let endpoint = &claimed.endpoint;
    let attempt = AttemptHeaders {
        delivery: claimed.delivery,
        number: claimed.number,
        event: claimed.event,
        event_name: &claimed.event_name,
        sequence: claimed.sequence,
        body: &claimed.body,
        at,
        trace: span.map(Span::context),
    };
    Ok(endpoint.headers.clone().with_attempt(&attempt, endpoint.secrets(at)?, endpoint.signature_format))
}
