//! Provider C: an id that proves nothing by itself, and an access token that the provider verifies; or, of a limited sign-in on iPhones, an
//! identity token in its place. Both are about the same person: the subject is the provider's id of the person for the app.

use std::time::Duration;

use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use crate::kernel::clock::Clock;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::settings;
use crate::providers::RouteName;
use crate::providers::identity::graph::Graph;
use crate::providers::identity::oidc::{IdentityTokens, TokenRules};
use crate::providers::identity::outgoing::client;
use crate::providers::identity::settings::{address, all_or_none, required, without_empty_items};
use crate::providers::identity::{Flaw, NoAnswer, Provider, SettingsError, Subject, VerifiedIdentity, VerifyError};

/// `[providers.idp_c]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdpCSettings {
    /// The name of the provider in this deployment.
    pub name: RouteName,
    /// How ids are verified. Empty: the provider is not offered.
    #[serde(deserialize_with = "settings::optional")]
    pub verification: Option<Verification>,
    /// The base URL of the provider's API, with its version.
    #[serde(deserialize_with = "settings::optional")]
    pub graph_url: Option<Url>,
    /// The id of the app at the provider.
    #[serde(deserialize_with = "settings::optional")]
    pub app_id: Option<String>,
    /// The secret of the app.
    pub app_secret: SecretString,
    /// The accepted values of `iss` in identity tokens. Empty: only access tokens are accepted.
    #[serde(deserialize_with = "settings::list")]
    pub issuers: Vec<String>,
    /// The URL of the keys that sign identity tokens.
    #[serde(deserialize_with = "settings::optional")]
    pub jwks_url: Option<Url>,
    /// The timeout of requests to the provider.
    #[serde(deserialize_with = "settings::time")]
    pub timeout: Duration,
}

/// How ids of provider C are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verification {
    /// The provider verifies the access token.
    Graph,
    /// Ids are not verified: a caller who knows an id can sign in as its owner. For shops with apps that send no access token.
    None,
}

impl IdpCSettings {
    /// What verifies the identity tokens of any app, if the settings say where these come from.
    pub(super) fn identity_tokens(&self, clock: &Clock, lifecycle: &Lifecycle) -> Result<Option<IdentityTokens>, SettingsError> {
        let (issuers, jwks_url) = ("providers.idp_c.issuers", "providers.idp_c.jwks_url");
        if !all_or_none(&[(issuers, !self.issuers.is_empty()), (jwks_url, self.jwks_url.is_some())])? {
            return Ok(None);
        }
        without_empty_items(issuers, &self.issuers)?;
        if self.verification == Some(Verification::None) {
            return Err(SettingsError::new(issuers, "cannot be set where ids are not verified: one person would have two accounts"));
        }
        let rules = TokenRules::of_issuers(self.issuers.clone(), address(jwks_url, self.jwks_url.as_ref())?);
        Ok(Some(IdentityTokens::new(&rules, client(self.timeout)?, clock, lifecycle)))
    }
}

impl std::str::FromStr for Verification {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "graph" => Ok(Self::Graph),
            "none" => Ok(Self::None),
            _ => Err("verification must be \"graph\" or \"none\""),
        }
    }
}

/// The proof that an app sends to sign in with provider C.
#[derive(Debug)]
pub struct IdpCProof<'a> {
    /// The id of the person whom the app considers signed in. An identity token says it itself.
    pub user_id: Option<&'a str>,
    /// The access token. Required unless there is an identity token or ids are accepted unverified.
    pub access_token: Option<&'a SecretString>,
    /// The identity token of a limited sign-in.
    pub identity_token: Option<&'a SecretString>,
    /// The nonce that the app passed to the provider for the identity token.
    pub nonce: Option<&'a str>,
}

/// Provider C.
#[derive(Clone, Debug)]
pub struct IdpC {
    graph: Option<Graph>,
    /// Verifies identity tokens, if they are accepted.
    tokens: Option<IdentityTokens>,
}

impl IdpC {
    /// Builds the provider, with what verifies its identity tokens. Without `verification` it is not offered.
    pub(super) fn new(settings: &IdpCSettings, tokens: Option<&IdentityTokens>, clock: &Clock) -> Result<Option<Self>, SettingsError> {
        let IdpCSettings { graph_url, app_id, app_secret, .. } = settings;
        match settings.verification {
            None => Ok(None),
            Some(Verification::None) => {
                tracing::warn!("providers.idp_c.verification is \"none\": anyone who knows a person's id can sign in as that person");
                Ok(Some(Self { graph: None, tokens: None }))
            }
            Some(Verification::Graph) => {
                let graph_url = address("providers.idp_c.graph_url", graph_url.as_ref())?;
                let app_id = required("providers.idp_c.app_id", app_id.clone())?;
                let is_set = |secret: &SecretString| !secret.expose_secret().is_empty();
                let app_secret = required("providers.idp_c.app_secret", Some(app_secret.clone()).filter(is_set))?;
                Ok(Some(Self::of_app(&graph_url, (app_id, app_secret), tokens, client(settings.timeout)?, clock)))
            }
        }
    }

    /// The provider as a company uses it, with an app of its own, or the deployment. Ids are always verified.
    pub(super) fn of_app(
        graph_url: &Url,
        (app_id, app_secret): (String, SecretString),
        tokens: Option<&IdentityTokens>,
        client: Client,
        clock: &Clock,
    ) -> Self {
        let tokens = tokens.map(|tokens| tokens.for_app(&app_id));
        Self { graph: Some(Graph::new(graph_url, app_id, app_secret, client, clock.clone())), tokens }
    }

    /// Returns how ids are verified. If the provider verifies them, checks that it accepts the app's credentials.
    pub async fn introduce(&self) -> Result<Verification, NoAnswer> {
        match &self.graph {
            Some(graph) => graph.introduce().await.map(|()| Verification::Graph),
            None => Ok(Verification::None),
        }
    }

    /// Fetches the keys that sign identity tokens and returns how many of them can be used; `None` if identity tokens are not accepted.
    pub async fn count_keys(&self) -> Result<Option<usize>, NoAnswer> {
        match &self.tokens {
            Some(tokens) => tokens.count_keys().await.map(Some),
            None => Ok(None),
        }
    }

    /// Verifies the proof and returns the identity. The provider does not vouch for addresses.
    pub async fn verify(&self, proof: IdpCProof<'_>) -> Result<VerifiedIdentity, VerifyError> {
        if let (Some(tokens), Some(token)) = (&self.tokens, proof.identity_token) {
            return tokens.identify(Provider::IDP_C, token, (proof.user_id, proof.nonce)).await;
        }
        // Nothing here can judge an identity token, so it is no wrong proof.
        let missing = || if proof.identity_token.is_some() { VerifyError::NotConfigured } else { Flaw::Incomplete.into() };
        let subject = Subject::parse(proof.user_id.ok_or_else(missing)?)?;
        let provider = match &self.graph {
            Some(graph) => {
                graph.confirm(proof.access_token.ok_or_else(missing)?, &subject).await?;
                Provider::IDP_C
            }
            None => Provider::CLAIMED_IDP_C,
        };
        Ok(VerifiedIdentity { provider, subject, email: None, email_is_vouched_for: false, name: None, token: None, grant: None })
    }
}
