//! Provider B: an identity token, and the id of the app that it was issued to.

use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use crate::kernel::clock::Clock;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::settings;
use crate::providers::RouteName;
use crate::providers::identity::claims::Flaw;
use crate::providers::identity::settings::{address, all_or_none};
use crate::providers::identity::tokens::IdentityTokens;
use crate::providers::identity::{NoAnswer, Provider, SettingsError, VerifiedIdentity, VerifyError};

/// `[providers.idp_b]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdpBSettings {
    /// The name of the provider in this deployment.
    pub name: RouteName,
    /// The accepted values of `iss`.
    #[serde(deserialize_with = "settings::list")]
    pub issuers: Vec<String>,
    /// The ids of the apps at the provider (accepted values of `aud` and `azp`).
    #[serde(deserialize_with = "settings::list")]
    pub client_ids: Vec<String>,
    /// The URL of the provider's keys.
    #[serde(deserialize_with = "settings::optional")]
    pub jwks_url: Option<Url>,
    /// The timeout of requests to the provider.
    #[serde(deserialize_with = "settings::time")]
    pub timeout: Duration,
}

/// The proof that an app sends to sign in with provider B.
#[derive(Debug)]
pub struct IdpBProof<'a> {
    /// The identity token.
    pub token: &'a SecretString,
    /// The id of the app at the provider.
    pub client_id: &'a str,
    /// The nonce that the app passed to the provider.
    pub nonce: Option<&'a str>,
}

/// Provider B.
#[derive(Clone, Debug)]
pub struct IdpB {
    tokens: IdentityTokens,
}

impl IdpB {
    pub(super) fn new(settings: &IdpBSettings, clock: &Clock, lifecycle: &Lifecycle) -> Result<Option<Self>, SettingsError> {
        let IdpBSettings { issuers, client_ids, jwks_url, timeout, .. } = settings;
        let is_offered = all_or_none(&[
            ("providers.idp_b.issuers", !issuers.is_empty()),
            ("providers.idp_b.client_ids", !client_ids.is_empty()),
            ("providers.idp_b.jwks_url", jwks_url.is_some()),
        ])?;
        if !is_offered {
            return Ok(None);
        }
        let jwks_url = address("providers.idp_b.jwks_url", jwks_url.as_ref())?;
        let tokens = IdentityTokens::new((issuers, client_ids, jwks_url), *timeout, clock, lifecycle)?;
        Ok(Some(Self { tokens }))
    }

    /// Fetches the provider's keys and returns how many of them can be used.
    pub async fn count_keys(&self) -> Result<usize, NoAnswer> {
        self.tokens.count_keys().await
    }

    /// Verifies the proof and returns the identity.
    pub async fn verify(&self, proof: IdpBProof<'_>) -> Result<VerifiedIdentity, VerifyError> {
        // `aud` is one configured app, and so is `azp` if it is present. The app's own id must be one of the two.
        let claims = self.tokens.verify(proof.token).await?;
        if ![claims.audience(), claims.azp.as_deref()].contains(&Some(proof.client_id)) {
            return Err(Flaw::Audience.into());
        }
        // Unlike with provider A, the token contains the nonce unchanged.
        if proof.nonce.is_some_and(|nonce| claims.nonce.as_deref() != Some(nonce)) {
            return Err(Flaw::Nonce.into());
        }
        Ok(self.tokens.identity(Provider::IdpB, proof.token, claims)?)
    }
}
