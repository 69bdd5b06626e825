//! The service that tells people from programs. An app has a challenge solved, or its system attest it, and gets a token; the token is posted
//! to the service with our secret, and the service says whether it vouches for it. Turnstile, hCaptcha and reCAPTCHA take the same request
//! (`siteverify`: `secret`, `response`, `remoteip`) and give the same answer, and so does a service of the operator that judges attestations.
//!
//! A customer waits meanwhile. So nothing waits for longer than the time of the settings, only so many requests are under way at one time, and
//! a service that fails again and again is not asked for a while. All companies share the service. So no store and no network takes all places, and
//! what the service answers to an odd token is no failure of it ([`VerifyError::is_a_failure`]): nobody may have it skipped for the others.

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
use crate::kernel::ids::StoreId;
use crate::kernel::rate_limit::ConcurrencyLimiter;
use crate::kernel::tally::Tally;
use crate::providers::sms::breaker::{self, Breaker};
use crate::providers::{body, outgoing};
use settings::Configured;

pub use settings::{Kind, Settings, WhenUnavailable};
pub use verdict::Flaw;

/// Tokens that are verified at one time, those of one store and those of one client network. Further ones are not verified.
const AT_ONCE: usize = 64;
const OF_STORE: usize = 16;
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

impl VerifyError {
    /// Whether the service has failed, whatever the token is: it does not answer in time, it says that it is out of order, or it does not take our
    /// secret. Any other answer may be to the token.
    fn is_a_failure(&self) -> bool {
        match self {
            Self::TooLate | Self::NoAnswer(_) => true,
            Self::NotUnderstood(status) => status.is_server_error(),
            Self::OutOfOrder(code) => *code != verdict::INTERNAL_ERROR,
            Self::Skipped | Self::Full => false,
        }
    }
}

/// Verifies tokens, if a challenge is configured. Clones share the connections and the breaker.
#[derive(Clone, Debug)]
pub struct ChallengeService(Option<Arc<Asked>>);

#[derive(Debug)]
struct Asked {
    configured: Configured,
    client: Client,
    places: ConcurrencyLimiter<IpNet>,
    of_stores: Tally<StoreId>,
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
                of_stores: Tally::default(),
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

    /// Whether the service vouches for a token that a client with this address sent to a store. It is a right one only once, as long as the
    /// service keeps to its documentation.
    pub async fn verify(
        &self,
        token: &SecretString,
        (store, address): (StoreId, ClientAddress),
        now: DateTime<Utc>,
    ) -> Result<Result<(), Flaw>, VerifyError> {
        let asked = self.0.as_ref().ok_or(VerifyError::Skipped)?;
        let _of_store = asked.of_stores.take(store, OF_STORE, AT_ONCE).ok_or(VerifyError::Full)?;
        let _place = asked.places.enter(address.network()).map_err(|_| VerifyError::Full)?;
        if !asked.breaker().admits(now) {
            return Err(VerifyError::Skipped);
        }
        let answered = timeout(asked.configured.timeout, asked.ask(token, address.ip())).await.unwrap_or(Err(VerifyError::TooLate));
        match &answered {
            Err(error) if error.is_a_failure() => {
                if asked.breaker().note_failure(now) {
                    tracing::warn!("the service that verifies challenges has failed again and again; it is skipped for a while");
                }
            }
            // It has answered in time, whatever it says of the token.
            Ok(_) | Err(_) => asked.breaker().note_health(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_no_token_can_cause_is_a_failure_of_the_service() {
        for failure in [
            VerifyError::TooLate,
            VerifyError::NotUnderstood(StatusCode::SERVICE_UNAVAILABLE),
            VerifyError::NotUnderstood(StatusCode::INTERNAL_SERVER_ERROR),
            VerifyError::OutOfOrder("invalid-input-secret"),
            VerifyError::OutOfOrder("missing-input-secret"),
        ] {
            assert!(failure.is_a_failure(), "{failure}");
        }
        for other in [
            VerifyError::NotUnderstood(StatusCode::FORBIDDEN),
            VerifyError::NotUnderstood(StatusCode::BAD_REQUEST),
            VerifyError::NotUnderstood(StatusCode::OK),
            VerifyError::OutOfOrder(verdict::INTERNAL_ERROR),
            VerifyError::Full,
            VerifyError::Skipped,
        ] {
            assert!(!other.is_a_failure(), "{other}");
        }
    }
}
