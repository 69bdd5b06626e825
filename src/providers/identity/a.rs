//! Provider A: an identity token, and an authorization code that is exchanged once.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use crate::kernel::clock::Clock;
use crate::kernel::crypto::sha256;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::settings;
use crate::providers::RouteName;
use crate::providers::identity::claims::{Claims, Flaw};
use crate::providers::identity::code_exchange::CodeExchange;
use crate::providers::identity::settings::{address, all_or_none, required};
use crate::providers::identity::tokens::IdentityTokens;
use crate::providers::identity::{NoAnswer, Provider, SettingsError, VerifiedIdentity, VerifyError};

/// `[providers.idp_a]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdpASettings {
    /// The name of the provider in this deployment.
    pub name: RouteName,
    /// The accepted values of `iss`.
    #[serde(deserialize_with = "settings::list")]
    pub issuers: Vec<String>,
    /// The ids of the apps at the provider (accepted values of `aud`).
    #[serde(deserialize_with = "settings::list")]
    pub audiences: Vec<String>,
    /// The URL of the provider's keys.
    #[serde(deserialize_with = "settings::optional")]
    pub jwks_url: Option<Url>,
    /// The client id for the exchange of authorization codes.
    #[serde(deserialize_with = "settings::optional")]
    pub client_id: Option<String>,
    /// The client secret for the exchange of authorization codes.
    pub client_secret: SecretString,
    /// The token endpoint, where authorization codes are exchanged.
    #[serde(deserialize_with = "settings::optional")]
    pub token_url: Option<Url>,
    /// The timeout of requests to the provider.
    #[serde(deserialize_with = "settings::time")]
    pub timeout: Duration,
}

/// The proof that an app sends to sign in with provider A.
#[derive(Debug)]
pub struct IdpAProof<'a> {
    /// The identity token.
    pub token: &'a SecretString,
    /// The authorization code. Required if codes are exchanged.
    pub code: Option<&'a SecretString>,
    /// The id of the person whom the app considers signed in.
    pub user_id: Option<&'a str>,
    /// The nonce that the app passed to the provider.
    pub nonce: Option<&'a str>,
}

/// Provider A.
#[derive(Clone, Debug)]
pub struct IdpA {
    tokens: IdentityTokens,
    exchange: Option<CodeExchange>,
}

impl IdpA {
    pub(super) fn new(settings: &IdpASettings, clock: &Clock, lifecycle: &Lifecycle) -> Result<Option<Self>, SettingsError> {
        let IdpASettings { issuers, audiences, jwks_url, client_id, client_secret, token_url, .. } = settings;
        let is_offered = all_or_none(&[
            ("providers.idp_a.issuers", !issuers.is_empty()),
            ("providers.idp_a.audiences", !audiences.is_empty()),
            ("providers.idp_a.jwks_url", jwks_url.is_some()),
        ])?;
        if !is_offered {
            return Ok(None);
        }
        let jwks_url = address("providers.idp_a.jwks_url", jwks_url.as_ref())?;
        let tokens = IdentityTokens::new((issuers, audiences, jwks_url), settings.timeout, clock, lifecycle)?;
        let exchanges = all_or_none(&[
            ("providers.idp_a.client_id", client_id.is_some()),
            ("providers.idp_a.client_secret", !client_secret.expose_secret().is_empty()),
            ("providers.idp_a.token_url", token_url.is_some()),
        ])?;
        let exchange = if exchanges {
            let token_url = address("providers.idp_a.token_url", token_url.as_ref())?;
            let client_id = required("providers.idp_a.client_id", client_id.clone())?;
            Some(CodeExchange::new(tokens.client().clone(), token_url, client_id, client_secret.clone()))
        } else {
            None
        };
        Ok(Some(Self { tokens, exchange }))
    }

    /// Fetches the provider's keys and returns how many of them can be used.
    pub async fn count_keys(&self) -> Result<usize, NoAnswer> {
        self.tokens.count_keys().await
    }

    /// Verifies the proof and returns the identity.
    pub async fn verify(&self, proof: IdpAProof<'_>) -> Result<VerifiedIdentity, VerifyError> {
        let claims = self.tokens.verify(proof.token).await?;
        if proof.user_id.is_some_and(|id| id != claims.sub) {
            return Err(Flaw::Subject.into());
        }
        if proof.nonce.is_some_and(|nonce| !has_nonce(&claims, nonce)) {
            return Err(Flaw::Nonce.into());
        }
        if let Some(exchange) = &self.exchange {
            // The code must not be optional: an attacker with a stolen token would omit it.
            let second = exchange.exchange(proof.code.ok_or(Flaw::Incomplete)?).await?;
            if self.tokens.verify(&second).await?.sub != claims.sub {
                return Err(Flaw::Subject.into());
            }
        }
        Ok(self.tokens.identity(Provider::IdpA, proof.token, claims)?)
    }
}

/// Apps pass the provider either the nonce itself or, like the provider's own samples, its SHA-256 in hex.
fn has_nonce(claims: &Claims, nonce: &str) -> bool {
    claims.nonce.as_deref().is_some_and(|claim| claim == nonce || claim == hex::encode(sha256(nonce)))
}
