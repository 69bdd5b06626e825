//! Sign-in of a browser: the authorization code flow with PKCE (OpenID Connect Core, section 3.1; RFC 7636).
//!
//! Where the provider's pages are is read from its discovery document, once an hour. The token comes from the provider itself and not
//! through the browser; it is verified like any other, and must have the nonce of the attempt.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use reqwest::Client;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::kernel::clock::Clock;
use crate::kernel::crypto::{SecretDigest, random_base62, sha256};
use crate::kernel::error_chain::chain;
use crate::kernel::lifecycle::Lifecycle;
use crate::providers::RouteName;
use crate::providers::address::is_secure;
use crate::providers::identity::oidc::code_exchange::{CodeExchange, Confirmation};
use crate::providers::identity::oidc::settings::{ExchangeSettings, OidcSettings};
use crate::providers::identity::oidc::tokens::IdentityTokens;
use crate::providers::identity::outgoing::{NoAnswer, ask, client, read};
use crate::providers::identity::{Flaw, Provider, SettingsError, VerifiedIdentity, VerifyError};

/// How long the discovery document is kept.
const MAX_AGE: TimeDelta = TimeDelta::hours(1);
/// Seconds after which a retry is recommended if the provider did not respond.
const RETRY_AFTER_SECONDS: u64 = 5;

/// A provider that browsers sign in with.
#[derive(Clone, Debug)]
pub struct CodeFlow {
    name: RouteName,
    provider: Provider,
    tokens: IdentityTokens,
    issuer: String,
    client_id: String,
    client_secret: SecretString,
    clock: Clock,
    discovered: Arc<Mutex<Discovered>>,
}

/// The discovery document, and when it was read.
type Discovered = Option<(DateTime<Utc>, Endpoints)>;

/// What the discovery document says.
#[derive(Clone, Debug, Deserialize)]
struct Endpoints {
    issuer: String,
    authorization_endpoint: Url,
    token_endpoint: Url,
}

/// What is remembered of a sign-in while the browser is at the provider. Whoever reads it could finish the sign-in in its place.
#[derive(Clone, Deserialize, Serialize)]
pub struct CodeAttempt {
    state: String,
    nonce: String,
    verifier: String,
}

impl CodeAttempt {
    fn new() -> Self {
        Self { state: random_base62(43), nonce: random_base62(43), verifier: random_base62(64) }
    }

    /// Whether the provider's response belongs to this attempt.
    pub fn has_state(&self, state: &str) -> bool {
        SecretDigest::from(self.state.clone().into_bytes()).is(state)
    }
}

impl CodeFlow {
    /// Builds the flow of an entry of `[[providers.oidc]]`. The entry needs issuers, the client id among its apps, and its secret.
    pub fn new(word: &str, settings: &OidcSettings, clock: &Clock, lifecycle: &Lifecycle) -> Result<Self, SettingsError> {
        let provider = Provider::of_settings(word);
        let rules = settings.flow_rules(&provider)?;
        let tokens = IdentityTokens::new(&rules.tokens, client(settings.timeout)?, clock, lifecycle);
        Ok(Self {
            name: settings.name.clone(),
            provider,
            tokens,
            issuer: rules.issuer,
            client_id: rules.client_id,
            client_secret: settings.client_secret.clone(),
            clock: clock.clone(),
            discovered: Arc::default(),
        })
    }

    /// The name of the entry.
    pub fn name(&self) -> &RouteName {
        &self.name
    }

    /// The issuer, whose subjects are the people that sign in.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Reads the discovery document and the provider's keys, and returns how many of them can be used.
    pub async fn count_keys(&self) -> Result<usize, NoAnswer> {
        self.discover(self.tokens.client()).await?;
        self.tokens.count_keys().await
    }

    /// Begins a sign-in that ends at the address `back`. Returns the address of the provider's page.
    pub async fn begin(&self, back: &str) -> Result<(Url, CodeAttempt), VerifyError> {
        let (mut page, attempt) = (self.endpoints().await?.authorization_endpoint, CodeAttempt::new());
        page.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", &self.client_id),
            ("redirect_uri", back),
            ("scope", "openid email profile"),
            ("state", &attempt.state),
            ("nonce", &attempt.nonce),
            ("code_challenge", &URL_SAFE_NO_PAD.encode(sha256(&attempt.verifier))),
            ("code_challenge_method", "S256"),
        ]);
        Ok((page, attempt))
    }

    /// Exchanges the code that the browser has brought back, and verifies the token. `issuer` is the one that the response names, if
    /// it names one (RFC 9207).
    pub async fn finish(
        &self,
        attempt: &CodeAttempt,
        back: &str,
        code: &SecretString,
        issuer: Option<&str>,
    ) -> Result<VerifiedIdentity, VerifyError> {
        if issuer.is_some_and(|issuer| issuer != self.issuer) {
            return Err(Flaw::Issuer.into());
        }
        let token_url = self.endpoints().await?.token_endpoint;
        let (client_id, client_secret) = (self.client_id.clone(), self.client_secret.clone());
        let exchange = ExchangeSettings { token_url, client_id, client_secret, revoke_url: None };
        let exchange = CodeExchange::new(self.provider.clone(), self.tokens.client().clone(), exchange);
        let token = exchange.exchange(code, Some(Confirmation { back, verifier: &attempt.verifier })).await?.id_token;
        let claims = self.tokens.verify(&token).await?;
        if claims.audience() != Some(self.client_id.as_str()) {
            return Err(Flaw::Audience.into());
        }
        let nonce = SecretDigest::from(attempt.nonce.clone().into_bytes());
        if !claims.nonce.as_ref().is_some_and(|claim| nonce.is(claim)) {
            return Err(Flaw::Nonce.into());
        }
        Ok(self.tokens.identity(self.provider.clone(), &token, claims)?)
    }

    async fn endpoints(&self) -> Result<Endpoints, VerifyError> {
        let now = self.clock.now();
        let kept = self.discovered.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((at, endpoints)) = &kept
            && *at + MAX_AGE > now
        {
            return Ok(endpoints.clone());
        }
        match self.discover(self.tokens.client()).await {
            Ok(endpoints) => {
                *self.discovered.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, endpoints.clone()));
                Ok(endpoints)
            }
            Err(error) => {
                tracing::warn!(
                    error = chain(&error),
                    issuer = self.issuer,
                    "the discovery document of an identity provider could not be read"
                );
                // Pages seldom move: what was true an hour ago is better than nothing.
                kept.map(|(_, endpoints)| endpoints).ok_or(VerifyError::Unavailable { seconds: RETRY_AFTER_SECONDS })
            }
        }
    }

    async fn discover(&self, client: &Client) -> Result<Endpoints, NoAnswer> {
        let address = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let endpoints: Endpoints = read(&ask(client.get(address)).await?.success()?)?;
        // The document must be about this issuer, and codes and secrets go over TLS alone.
        let is_good =
            endpoints.issuer == self.issuer && [&endpoints.authorization_endpoint, &endpoints.token_endpoint].map(is_secure) == [true; 2];
        if is_good { Ok(endpoints) } else { Err(NoAnswer::NotUnderstood) }
    }
}

/// Neither the secret of the client nor anything of an attempt.
impl std::fmt::Debug for CodeAttempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CodeAttempt(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_knows_its_state_and_shows_nothing() {
        let (attempt, other) = (CodeAttempt::new(), CodeAttempt::new());
        assert!(attempt.has_state(&attempt.state) && !attempt.has_state(&other.state) && !attempt.has_state(""));
        assert_eq!(format!("{attempt:?}"), "CodeAttempt(…)");
        // RFC 7636: 43 to 128 characters.
        assert!((43..=128).contains(&attempt.verifier.len()));
    }
}
