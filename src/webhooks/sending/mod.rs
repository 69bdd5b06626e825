//! Sending: one signed POST to one endpoint, within one deadline.
//!
//! No transaction is open here. Every failure is an [`Outcome`]; sending itself cannot fail. The body is the event's own bytes,
//! shared by all its deliveries. The response body is read as a stream, without decompression, and no further than it is kept.

mod certificates;
pub mod outcome;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::HeaderMap;
use chrono::{DateTime, Utc};
use reqwest::{Certificate, Client};

use crate::kernel::clock::Clock;
use crate::kernel::crypto::CannotOpen;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{CompanyId, DeliveryId, EventId, SubscriptionId};
use crate::webhooks::endpoint::{AttemptHeaders, Endpoint, Headers};
use crate::webhooks::sending::certificates::{Certificates, end_of_expired};
use crate::webhooks::sending::outcome::{Answer, Fault, Outcome};
use crate::webhooks::targets::Targets;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Many servers close a connection that was idle for five seconds; a POST must not run into that.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);
/// Bytes of the response body that are kept; the rest is not read. Response headers are limited to the same size.
pub const MAX_LOGGED_BODY_LEN: usize = 16 * 1024;

/// Posts claimed deliveries.
#[derive(Clone, Debug)]
pub struct Sender {
    client: Client,
    targets: Targets,
    certificates: Certificates,
    clock: Clock,
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
    pub fn new(targets: Targets, clock: Clock, roots: Vec<Certificate>) -> Result<Self, reqwest::Error> {
        let client = Client::builder()
            .https_only(true)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .tls_certs_merge(roots)
            .tls_info(true)
            .dns_resolver(targets.clone())
            .build()?;
        Ok(Self { client, targets, certificates: Certificates::new(), clock })
    }

    /// Sends a claimed delivery and waits for the response, at most as long as the timeout of the subscription.
    pub async fn send(&self, claimed: Claimed) -> Attempt {
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
        let mut outcome = Outcome::default();
        match tokio::time::timeout(endpoint.timeout.duration(), self.exchange(request, &mut outcome)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                outcome.fault = Some(Fault::from(&error));
                outcome.certificate_expires_at = outcome.certificate_expires_at.or_else(|| end_of_expired(&error));
            }
            Err(_) => outcome.fault = Some(if outcome.answer.is_some() { Fault::TooSlow } else { Fault::Timeout }),
        }
        outcome
    }

    /// Sends the request and stores the response in `outcome` as it arrives, so that a deadline keeps what has arrived by then.
    async fn exchange(&self, request: reqwest::RequestBuilder, outcome: &mut Outcome) -> Result<(), reqwest::Error> {
        let mut response = request.send().await?;
        outcome.certificate_expires_at = self.certificates.end_of(&response);
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        let answer = outcome.answer.insert(Answer { status, headers, body: Vec::new() });
        while answer.body.len() < MAX_LOGGED_BODY_LEN
            && let Some(chunk) = response.chunk().await?
        {
            let limit = MAX_LOGGED_BODY_LEN - answer.body.len();
            answer.body.extend_from_slice(&chunk[..chunk.len().min(limit)]);
        }
        Ok(())
    }
}

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
