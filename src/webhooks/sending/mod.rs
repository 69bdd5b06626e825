//! Sending: one signed POST to one endpoint, within one deadline.
//!
//! No transaction is open here. Every failure is an [`Outcome`]; sending itself cannot fail. The body is the event's own bytes,
//! shared by all its deliveries. The response body is read as a stream, without decompression, and no further than it is kept.
//!
//! An attempt is what the endpoint may have processed. A request that it certainly has not is sent again within the same attempt:
//! at once on a new connection if the endpoint said so ([`fault::is_unprocessed`]), and once after two seconds if nothing was sent at
//! a first attempt because nobody listened or the name was unknown ([`second_tries`]).

mod certificates;
mod connector;
pub mod fault;
pub mod outcome;
mod second_tries;
mod traced;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::uri::InvalidUri;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use chrono::{DateTime, Utc};
use http_body_util::{BodyExt, Full};
use hyper::Request;
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
use crate::webhooks::sending::second_tries::SecondTries;
use crate::webhooks::targets::Targets;

/// Many servers close a connection that was idle for five seconds; a POST must not run into that.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);
/// Bytes of the response body that are kept; the rest is not read. Response headers are limited to the same size.
pub const MAX_LOGGED_BODY_LEN: usize = 16 * 1024;
/// How often a request is sent again within one attempt because the endpoint has not processed it.
const MAX_RESENDS: usize = 2;

type Client = legacy::Client<Connector, Full<Bytes>>;

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

    async fn post(&self, claimed: &Claimed, headers: HeaderMap) -> Outcome {
        let endpoint = &claimed.endpoint;
        if let Err(reason) = self.targets.check_literal(&endpoint.url) {
            return Fault::from(&reason).into();
        }
        let Ok(request) = request(claimed, headers) else { return Fault::Blocked.into() };
        let mut outcome = Outcome::default();
        let exchange = on_behalf_of(claimed.company, self.exchange(claimed, request, &mut outcome));
        match tokio::time::timeout(endpoint.timeout.duration(), exchange).await {
            Ok(None) => {}
            Ok(Some(fault)) => outcome.fault = Some(fault),
            Err(_) => outcome.fault = Some(if outcome.answer.is_some() { Fault::TooSlow } else { Fault::Timeout }),
        }
        outcome
    }

    /// Sends the request and stores the response in `outcome` as it arrives, so that a deadline keeps what has arrived by then. Returns
    /// what went wrong.
    async fn exchange(&self, claimed: &Claimed, request: Request<Full<Bytes>>, outcome: &mut Outcome) -> Option<Fault> {
        let response = match self.request(claimed, request).await {
            Ok(response) => response,
            Err(error) => {
                outcome.certificate_expires_at = end_of_expired(&error);
                return Some(Fault::from(&error));
            }
        };
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
    async fn request(&self, claimed: &Claimed, request: Request<Full<Bytes>>) -> Result<hyper::Response<Incoming>, legacy::Error> {
        let begun = Instant::now();
        let sent = self.send_until_processed(&request).await;
        match &sent {
            Err(error) if claimed.number == 1 && may_pass_soon(error) => {}
            _ => return sent,
        }
        let is_time_left = begun.elapsed() + second_tries::WAIT < claimed.endpoint.timeout.duration();
        let Some(_place) = self.second_tries.place(claimed.company).filter(|_| is_time_left) else { return sent };
        tokio::time::sleep(second_tries::WAIT).await;
        self.send_until_processed(&request).await
    }

    /// Sends the request, again on a connection of its own while the endpoint has certainly not processed it.
    async fn send_until_processed(&self, request: &Request<Full<Bytes>>) -> Result<hyper::Response<Incoming>, legacy::Error> {
        let mut sent = self.client.request(request.clone()).await;
        for _ in 0..MAX_RESENDS {
            if !sent.as_ref().is_err_and(is_unprocessed) {
                break;
            }
            sent = self.client_without_pool.request(request.clone()).await;
        }
        sent
    }
}

fn request(claimed: &Claimed, headers: HeaderMap) -> Result<Request<Full<Bytes>>, InvalidUri> {
    let mut request = Request::new(Full::new(claimed.body.clone()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = claimed.endpoint.url.uri()?;
    *request.headers_mut() = headers;
    request.headers_mut().entry(header::ACCEPT).or_insert(HeaderValue::from_static("*/*"));
    Ok(request)
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
