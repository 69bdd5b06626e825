//! Sending: one signed POST to one endpoint, within one deadline.
//!
//! No transaction is open here. Every failure is an [`Outcome`]; sending itself cannot fail. The body is the event's own bytes,
//! shared by all its deliveries. The response body is read as a stream, without decompression, and no further than it is kept.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use chrono::{DateTime, Utc};
use reqwest::{Certificate, Client};

use crate::kernel::clock::Clock;
use crate::kernel::crypto::CannotOpen;
use crate::kernel::ids::{CompanyId, DeliveryId, SubscriptionId};
use crate::kernel::telemetry::chain;
use crate::webhooks::Claimed;
use crate::webhooks::endpoint::Endpoint;
use crate::webhooks::headers::{Headers, Telling};
use crate::webhooks::outcome::{Answer, Fault, Outcome};
use crate::webhooks::targets::Targets;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Many servers close a connection that was idle for five seconds; a POST must not run into that.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);
/// Bytes of the response body that are kept; the rest is not read. Response headers are limited to the same size.
pub(super) const KEPT: usize = 16 * 1024;

/// Posts claimed deliveries.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    client: Client,
    targets: Targets,
    clock: Clock,
}

/// One POST that was made, and its outcome.
#[derive(Debug)]
pub struct Attempt {
    pub(super) delivery: DeliveryId,
    pub(super) company: CompanyId,
    pub(super) subscription: SubscriptionId,
    /// The endpoint that it was sent to.
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) number: i16,
    /// Number of failed attempts before this one.
    pub(super) failures: i16,
    /// Whether other deliveries wait for this one to end.
    pub(super) in_order: bool,
    pub(super) is_replay: bool,
    pub(super) started_at: DateTime<Utc>,
    pub(super) ended_at: DateTime<Utc>,
    pub(super) took: Duration,
    /// The request headers as the log keeps them, in JSON.
    pub(super) request_headers: String,
    pub(super) outcome: Outcome,
}

impl Sender {
    pub(super) fn new(targets: Targets, clock: Clock, roots: Vec<Certificate>) -> Result<Self, reqwest::Error> {
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
    pub(super) async fn send(&self, claimed: Claimed) -> Attempt {
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
    let told = Telling {
        delivery: claimed.delivery,
        attempt: claimed.number,
        event: claimed.event,
        event_name: &claimed.event_name,
        sequence: claimed.sequence,
        body: &claimed.body,
        at,
    };
    Ok(endpoint.headers.clone().telling(&told, endpoint.secrets(at)?, endpoint.signature_format))
}

/// Sends the request and stores the response in `answer` as it arrives, so that a deadline keeps what has arrived by then.
async fn exchange(request: reqwest::RequestBuilder, answer: &mut Option<Answer>) -> Result<(), reqwest::Error> {
    let mut response = request.send().await?;
    let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
    let answer = answer.insert(Answer { status, headers, body: Vec::new() });
    while answer.body.len() < KEPT
        && let Some(chunk) = response.chunk().await?
    {
        let room = KEPT - answer.body.len();
        answer.body.extend_from_slice(&chunk[..chunk.len().min(room)]);
    }
    Ok(())
}
