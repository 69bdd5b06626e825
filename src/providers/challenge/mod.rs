//! The service that tells people from programs. An app has a challenge solved, or its system attest it, and gets a token; the token is posted
//! to the service with our secret, and the service says whether it vouches for it. Turnstile, hCaptcha and reCAPTCHA take the same request
//! (`siteverify`: `secret`, `response`, `remoteip`) and give the same answer, and so does a service of the operator that judges attestations.
//!
//! A customer waits meanwhile. So nothing waits for longer than the time of the settings, only so many requests are under way at one time, and
//! a service that fails again and again is not asked for a while.

mod settings;
mod verdict;

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use ipnet::IpNet;
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;

use crate::kernel::client_address::ClientAddress;
use crate::kernel::rate_limit::ConcurrencyLimiter;
use crate::providers::sms::breaker::{self, Breaker};
use crate::providers::{body, outgoing};
use settings::Configured;

pub use settings::{Kind, Settings, WhenUnavailable};
pub use verdict::Flaw;

/// Tokens that are verified at one time, and those of one client network. Further ones are not verified.
const AT_ONCE: usize = 64;
const OF_NETWORK: usize = 8;
/// The maximum size of an answer, in bytes. Usual ones have a few hundred.
const ANSWER_LIMIT: usize = 16 * 1024;
const BREAKER: breaker::Settings =
    breaker::Settings { opens_after: NonZeroU32::new(5).expect("five is not zero"), cool_down: Duration::from_secs(30) };

/// Why nobody knows whether a token is good.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// It has failed again and again and is not asked for a while.
    #[error("the service has failed too often")]
    Skipped,
    /// Too many tokens are being verified.
    #[error("too many tokens are being verified")]
    Full,
    /// It did not answer in time.
    #[error("the service did not answer in time")]
    TooLate,
    /// It did not answer.
    #[error("the service did not answer")]
    NoAnswer(#[source] reqwest::Error),
    /// Its answer is none of `siteverify`.
    #[error("the answer with status {0} is not understood")]
    NotUnderstood(StatusCode),
    /// It does not take our secret, or is out of order.
    #[error("the service answered {0}")]
    OutOfOrder(&'static str),
}

/// Verifies tokens, if a challenge is configured. Clones share the connections and the breaker.
#[derive(Clone, Debug)]
pub struct ChallengeService(Option<Arc<Asked>>);

#[derive(Debug)]
struct Asked {
    configured: Configured,
    client: Client,
    places: ConcurrencyLimiter<IpNet>,
    breaker: Mutex<Breaker>,
}

impl ChallengeService {
    /// The service of the settings.
    pub fn new(Settings(configured): &Settings) -> Self {
        let asked = configured.clone().map(|configured| {
            let client = outgoing::client().timeout(configured.timeout).redirect(Policy::none());
            let client = client.build().expect("the system has root certificates");
            Arc::new(Asked {
                configured,
                client,
                places: ConcurrencyLimiter::new(OF_NETWORK, AT_ONCE),
                breaker: Mutex::new(Breaker::new(BREAKER)),
            })
        });
        Self(asked)
    }

    /// What an app has to solve, and the key by which it asks for it. `None` if nothing is configured.
    pub fn kind(&self) -> Option<(Kind, Option<&str>)> {
        self.0.as_ref().map(|asked| (asked.configured.kind, asked.configured.site_key.as_deref()))
    }

    /// What is done when a token cannot be verified.
    pub fn when_unavailable(&self) -> WhenUnavailable {
        self.0.as_ref().map_or(WhenUnavailable::Allow, |asked| asked.configured.when_unavailable)
    }

    /// Whether the service vouches for a token that a client with this address sent. It is a right one only once, as long as the service
    /// keeps to its documentation.
    pub async fn verify(&self, token: &SecretString, address: ClientAddress, now: DateTime<Utc>) -> Result<Result<(), Flaw>, VerifyError> {
        let asked = self.0.as_ref().ok_or(VerifyError::Skipped)?;
        let _place = asked.places.enter(address.network()).map_err(|_| VerifyError::Full)?;
        if !asked.breaker().admits(now) {
            return Err(VerifyError::Skipped);
        }
        let answered = timeout(asked.configured.timeout, asked.ask(token, address.ip())).await.unwrap_or(Err(VerifyError::TooLate));
        match &answered {
            Ok(_) => asked.breaker().note_health(),
            Err(_) if asked.breaker().note_failure(now) => {
                tracing::warn!("the service that verifies challenges has failed again and again; it is skipped for a while");
            }
            Err(_) => {}
        }
        answered
    }
}

impl Asked {
    async fn ask(&self, token: &SecretString, address: IpAddr) -> Result<Result<(), Flaw>, VerifyError> {
        let (secret, address) = (self.configured.secret.expose_secret(), address.to_string());
        let form = [("secret", secret), ("response", token.expose_secret()), ("remoteip", &address)];
        let request = self.client.post(self.configured.verify_url.clone()).form(&form);
        let answer = outgoing::send(request, "verify a challenge").await.map_err(|error| VerifyError::NoAnswer(error.without_url()))?;
        let status = answer.status();
        // Turnstile answers what it refuses with status 400.
        let is_document = status == StatusCode::OK || status == StatusCode::BAD_REQUEST;
        let read = if is_document { body::read_up_to(ANSWER_LIMIT, answer).await.ok() } else { None };
        let answer = read.and_then(|read| serde_json::from_slice(&read).ok()).ok_or(VerifyError::NotUnderstood(status))?;
        verdict::judge(&self.configured, answer)
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
