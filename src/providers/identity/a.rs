//! Provider A: an identity token, and an authorization code that its servers exchange once.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use crate::kernel::clock::Clock;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::secrets::sha256;
use crate::kernel::settings;
use crate::providers::RouteName;
use crate::providers::identity::claims::{Claims, Flaw};
use crate::providers::identity::code_exchange::CodeExchange;
use crate::providers::identity::settings::{address, all_or_none, required};
use crate::providers::identity::tokens::IdentityTokens;
use crate::providers::identity::{BadSettings, NoAnswer, Provider, VerifiedIdentity, VerifyError};

/// `[providers.idp_a]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdpASettings {
    /// What this deployment calls it.
    pub name: RouteName,
    /// The values of `iss` that are its own.
    #[serde(deserialize_with = "settings::list")]
    pub issuers: Vec<String>,
    /// Our apps as it names them (`aud`).
    #[serde(deserialize_with = "settings::list")]
    pub audiences: Vec<String>,
    /// Where it publishes its keys.
    #[serde(deserialize_with = "settings::optional")]
    pub jwks_url: Option<Url>,
    /// The app in whose name codes are exchanged.
    #[serde(deserialize_with = "settings::optional")]
    pub client_id: Option<String>,
    /// The secret of that app.
    pub client_secret: SecretString,
    /// Where codes are exchanged.
    #[serde(deserialize_with = "settings::optional")]
    pub token_url: Option<Url>,
    /// How long its answers are waited for.
    #[serde(deserialize_with = "settings::time")]
    pub timeout: Duration,
}

/// What an app sends of a sign-in with provider A.
#[derive(Debug)]
pub struct IdpAProof<'a> {
    /// The identity token.
    pub token: &'a SecretString,
    /// The code; needed where codes are exchanged.
    pub code: Option<&'a SecretString>,
    /// Whom the app believes to be signed in.
    pub user_id: Option<&'a str>,
    /// What the app made the provider put into the token.
    pub nonce: Option<&'a str>,
}

/// Provider A.
#[derive(Clone, Debug)]
pub struct IdpA {
    tokens: IdentityTokens,
    exchange: Option<CodeExchange>,
}

impl IdpA {
    pub(super) fn new(settings: &IdpASettings, clock: &Clock, lifecycle: &Lifecycle) -> Result<Option<Self>, BadSettings> {
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

    /// How many of the keys that it publishes now can be used; it is asked.
    pub async fn count_keys(&self) -> Result<usize, NoAnswer> {
        self.tokens.count_keys().await
    }

    /// Whom the proof is about.
    pub async fn verify(&self, proof: IdpAProof<'_>) -> Result<VerifiedIdentity, VerifyError> {
        let claims = self.tokens.verify(proof.token).await?;
        if proof.user_id.is_some_and(|id| id != claims.sub) {
            return Err(Flaw::Subject.into());
        }
        if proof.nonce.is_some_and(|nonce| !has_nonce(&claims, nonce)) {
            return Err(Flaw::Nonce.into());
        }
        if let Some(exchange) = &self.exchange {
            // With a code that may be left out, whoever steals a token would leave it out.
            let second = exchange.exchange(proof.code.ok_or(Flaw::Incomplete)?).await?;
            if self.tokens.verify(&second).await?.sub != claims.sub {
                return Err(Flaw::Subject.into());
            }
        }
        Ok(self.tokens.identity(Provider::IdpA, proof.token, claims)?)
    }
}

/// Apps give this provider either the nonce itself or, as its own samples do, the SHA-256 of it in hex.
fn has_nonce(claims: &Claims, nonce: &str) -> bool {
    claims.nonce.as_deref().is_some_and(|claim| claim == nonce || claim == hex::encode(sha256(nonce)))
}
