//! Sending: one signed POST to one endpoint, within one deadline.
//!
//! No transaction is open here. Every failure is an [`Outcome`]; sending itself cannot fail. The body is the event's own bytes,
//! shared by all its deliveries. The response body is read as a stream, without decompression, and no further than it is kept.

pub(super) mod endpoint;
pub(super) mod endpoint_cache;
pub(super) mod headers;
pub(super) mod outcome;
mod queries;
pub(super) mod signature;
pub(super) mod targets;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use chrono::{DateTime, Utc};
use reqwest::{Certificate, Client};

use crate::kernel::clock::Clock;
use crate::kernel::crypto::CannotOpen;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{CompanyId, DeliveryId, SubscriptionId};
use crate::webhooks::Claimed;
use crate::webhooks::sending::endpoint::Endpoint;
use crate::webhooks::sending::headers::{AttemptHeaders, Headers};
use crate::webhooks::sending::outcome::{Answer, Fault, Outcome};
use crate::webhooks::sending::targets::Targets;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Many servers close a connection that was idle for five seconds; a POST must not run into that.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);
/// Bytes of the response body that are kept; the rest is not read. Response headers are limited to the same size.
pub(in crate::webhooks) const MAX_LOGGED_BODY_LEN: usize = 16 * 1024;

/// Posts claimed deliveries.
#[derive(Clone, Debug)]
pub(in crate::webhooks) struct Sender {
    client: Client,
    targets: Targets,
    clock: Clock,
}

/// One POST that was made, and its outcome.
#[derive(Debug)]
pub struct Attempt {
    pub(in crate::webhooks) delivery: DeliveryId,
    pub(in crate::webhooks) company: CompanyId,
    pub(in crate::webhooks) subscription: SubscriptionId,
    /// The endpoint that it was sent to.
    pub(in crate::webhooks) endpoint: Arc<Endpoint>,
    pub(in crate::webhooks) number: i16,
    /// Number of failed attempts before this one.
    pub(in crate::webhooks) failures: i16,
    /// Whether other deliveries wait for this one to end.
    pub(in crate::webhooks) in_order: bool,
    pub(in crate::webhooks) is_replay: bool,
    pub(in crate::webhooks) started_at: DateTime<Utc>,
    pub(in crate::webhooks) ended_at: DateTime<Utc>,
    pub(in crate::webhooks) took: Duration,
    /// The request headers as the log keeps them, in JSON.
    pub(in crate::webhooks) request_headers: String,
    pub(in crate::webhooks) outcome: Outcome,
}

impl Sender {
    pub(in crate::webhooks) fn new(targets: Targets, clock: Clock, roots: Vec<Certificate>) -> Result<Self, reqwest::Error> {
        let client = Client::builder()
            .https_only(true)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .tls_certs_merge(roots)
            .dns_resolver(targets.clone())
            .build()?;
        Ok(Self { client, targets, clock })
    }

    /// Sends a claimed delivery and waits for the response, at most as long as the timeout of the subscription.
    pub(in crate::webhooks) async fn send(&self, claimed: Claimed) -> Attempt {
        let (started, started_at) = (Instant::now(), self.clock.now());
        let (request_headers, outcome) = match headers(&claimed, started_at) {
            Ok(headers) => (headers.logged, self.post(&claimed, headers.map).await),
            Err(error) => {
                tracing::error!(subscription = %claimed.subscription, error = chain(&error), "a delivery could not be signed");
                ("{}".to_owned(), Fault::Unsigned.into())
            }
        };
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
        let request = self.client.post(endpoint.url.url()).headers(headers).body(claimed.body.clone());
        let mut answer = None;
        let fault = match tokio::time::timeout(endpoint.timeout.duration(), exchange(request, &mut answer)).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(Fault::from(&error)),
            Err(_) => Some(if answer.is_some() { Fault::TooSlow } else { Fault::Timeout }),
        };
        Outcome { answer, fault }
    }
}

/// Builds the request headers.
fn headers(claimed: &Claimed, at: DateTime<Utc>) -> Result<Headers, CannotOpen> {
    let endpoint = &claimed.endpoint;
    let attempt = AttemptHeaders {
        delivery: claimed.delivery,
        number: claimed.number,
        event: claimed.event,
        event_name: &claimed.event_name,
        sequence: claimed.sequence,
        body: &claimed.body,
        at,
    };
    Ok(endpoint.headers.clone().with_attempt(&attempt, endpoint.secrets(at)?, endpoint.signature_format))
}

/// Sends the request and stores the response in `answer` as it arrives, so that a deadline keeps what has arrived by then.
async fn exchange(request: reqwest::RequestBuilder, answer: &mut Option<Answer>) -> Result<(), reqwest::Error> {
    let mut response = request.send().await?;
    let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
    let answer = answer.insert(Answer { status, headers, body: Vec::new() });
    while answer.body.len() < MAX_LOGGED_BODY_LEN
        && let Some(chunk) = response.chunk().await?
    {
        let limit = MAX_LOGGED_BODY_LEN - answer.body.len();
        answer.body.extend_from_slice(&chunk[..chunk.len().min(limit)]);
    }
    Ok(())
}
