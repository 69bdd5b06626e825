//! Provider B: an identity token, and the id of the app it was issued to.

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
use crate::providers::identity::{BadSettings, NoAnswer, Provider, VerifiedIdentity, VerifyError};

/// `[providers.idp_b]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdpBSettings {
    /// What this deployment calls it.
    pub name: RouteName,
    /// The values of `iss` that are its own.
    #[serde(deserialize_with = "settings::list")]
    pub issuers: Vec<String>,
    /// Our apps as it names them (`aud`, `azp`).
    #[serde(deserialize_with = "settings::list")]
    pub client_ids: Vec<String>,
    /// Where it publishes its keys.
    #[serde(deserialize_with = "settings::optional")]
    pub jwks_url: Option<Url>,
    /// How long its answers are waited for.
    #[serde(deserialize_with = "settings::time")]
    pub timeout: Duration,
}

/// What an app sends of a sign-in with provider B.
#[derive(Debug)]
pub struct IdpBProof<'a> {
    /// The identity token.
    pub token: &'a SecretString,
    /// The app.
    pub client_id: &'a str,
    /// What the app made the provider put into the token.
    pub nonce: Option<&'a str>,
}

/// Provider B.
#[derive(Clone, Debug)]
pub struct IdpB {
    tokens: IdentityTokens,
}

impl IdpB {
    pub(super) fn new(settings: &IdpBSettings, clock: &Clock, lifecycle: &Lifecycle) -> Result<Option<Self>, BadSettings> {
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

    /// How many of the keys that it publishes now can be used; it is asked.
    pub async fn count_keys(&self) -> Result<usize, NoAnswer> {
        self.tokens.count_keys().await
    }

    /// Whom the proof is about.
    pub async fn verify(&self, proof: IdpBProof<'_>) -> Result<VerifiedIdentity, VerifyError> {
        // The token is for one of our apps and, where it says so, was issued to one of them: the app's own id has to be one of the two.
        let claims = self.tokens.verify(proof.token).await?;
        if ![claims.audience(), claims.azp.as_deref()].contains(&Some(proof.client_id)) {
            return Err(Flaw::Audience.into());
        }
        // Unlike with provider A, the nonce stands in the token as the app gave it.
        if proof.nonce.is_some_and(|nonce| claims.nonce.as_deref() != Some(nonce)) {
            return Err(Flaw::Nonce.into());
        }
        Ok(self.tokens.identity(Provider::IdpB, proof.token, claims)?)
    }
}
