//! Sending: one signed POST to one endpoint, within one deadline.
//!
//! No transaction is open here. Whatever happens is an [`Outcome`]; sending itself cannot fail.

use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use chrono::{DateTime, Utc};
use reqwest::{Certificate, Client};

use crate::kernel::clock::Clock;
use crate::kernel::crypto::{ApplicationKey, CannotOpen};
use crate::kernel::ids::{CompanyId, DeliveryId, SubscriptionId};
use crate::kernel::telemetry::chain;
use crate::webhooks::Claimed;
use crate::webhooks::EndpointUrl;
use crate::webhooks::outcome::{Answer, Fault, Outcome};
use crate::webhooks::signature::SigningSecrets;
use crate::webhooks::subscription::SigningSecret;
use crate::webhooks::targets::Targets;

pub(super) const USER_AGENT: &str = concat!("Portico-Webhooks/", env!("CARGO_PKG_VERSION"));
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Many servers close a connection that was silent for five seconds; a POST must not meet that moment.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);
/// Bytes of an answer's body that are kept; the rest is not even read. Of its headers no more are kept either.
pub(super) const KEPT: usize = 16 * 1024;

/// Posts what was claimed.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    client: Client,
    targets: Targets,
    key: ApplicationKey,
    clock: Clock,
}

/// One POST that was made, and how it ended.
#[derive(Debug)]
pub struct Attempt {
    pub(super) delivery: DeliveryId,
    pub(super) company: CompanyId,
    pub(super) subscription: SubscriptionId,
    /// Where it went.
    pub(super) url: EndpointUrl,
    pub(super) number: i16,
    /// Attempts that failed before this one.
    pub(super) failures: i16,
    pub(super) started_at: DateTime<Utc>,
    pub(super) ended_at: DateTime<Utc>,
    pub(super) took: Duration,
    pub(super) request_headers: HeaderMap,
    pub(super) outcome: Outcome,
}

impl Sender {
    pub(super) fn new(targets: Targets, key: ApplicationKey, clock: Clock, roots: Vec<Certificate>) -> Result<Self, reqwest::Error> {
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
        Ok(Self { client, targets, key, clock })
    }

    /// Sends `claimed` and waits for the answer, at most as long as the subscription says.
    pub(super) async fn send(&self, claimed: Claimed) -> Attempt {
        let (started, started_at) = (Instant::now(), self.clock.now());
        let (request_headers, outcome) = match self.headers(&claimed, started_at) {
            Ok(headers) => {
                let outcome = self.post(&claimed, headers.clone()).await;
                (headers, outcome)
            }
            Err(error) => {
                tracing::error!(subscription = %claimed.subscription, error = chain(&error), "a delivery could not be signed");
                (HeaderMap::new(), Fault::Unsigned.into())
            }
        };
        Attempt {
            delivery: claimed.delivery,
            company: claimed.company,
            subscription: claimed.subscription,
            url: claimed.url,
            number: claimed.number,
            failures: claimed.failures,
            started_at,
            ended_at: self.clock.now(),
            took: started.elapsed(),
            request_headers,
            outcome,
        }
    }

    async fn post(&self, claimed: &Claimed, headers: HeaderMap) -> Outcome {
        if let Err(reason) = self.targets.check_literal(&claimed.url) {
            return Fault::from(&reason).into();
        }
        let request = self.client.post(claimed.url.url()).headers(headers).body(claimed.body.clone());
        let mut answer = None;
        let fault = match tokio::time::timeout(claimed.timeout.duration(), exchange(request, &mut answer)).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(Fault::from(&error)),
            Err(_) => Some(if answer.is_some() { Fault::TooSlow } else { Fault::Timeout }),
        };
        Outcome { answer, fault }
    }

    /// Everything the request says besides its body; decisions, section 7, Headers.
    fn headers(&self, claimed: &Claimed, at: DateTime<Utc>) -> Result<HeaderMap, CannotOpen> {
        let open = |sealed: &[u8]| SigningSecret::open(&self.key, claimed.subscription, sealed);
        let secrets = SigningSecrets {
            current: open(&claimed.sealed_secret)?,
            previous: claimed.sealed_previous_secret.as_deref().map(open).transpose()?,
        };
        let event = claimed.event.to_string();
        let ours = [
            (header::CONTENT_TYPE, "application/json".to_owned()),
            (header::USER_AGENT, USER_AGENT.to_owned()),
            (HeaderName::from_static("x-service-signature"), secrets.service_signature(claimed.signature_format, &claimed.body)),
            (HeaderName::from_static("x-service-event"), claimed.event_name.clone()),
            (HeaderName::from_static("x-service-delivery"), claimed.delivery.to_string()),
            (HeaderName::from_static("x-service-attempt"), claimed.number.to_string()),
            (HeaderName::from_static("webhook-timestamp"), at.timestamp().to_string()),
            (HeaderName::from_static("webhook-signature"), secrets.standard_signature(&event, at, &claimed.body)),
            (HeaderName::from_static("webhook-id"), event),
        ];
        let ours = ours.map(|(name, value)| (name, HeaderValue::try_from(value).expect("ids, names, numbers and digests are ASCII")));
        Ok(claimed.headers.iter().chain(ours).collect())
    }
}

/// Sends the request and puts into `answer` what arrives of the answer, so that a deadline leaves behind what there was by then.
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
