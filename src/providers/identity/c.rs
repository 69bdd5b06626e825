//! Provider C: an id that proves nothing by itself, and an access token that the provider verifies.

use std::time::Duration;

use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use crate::kernel::clock::Clock;
use crate::kernel::settings;
use crate::providers::RouteName;
use crate::providers::identity::graph::Graph;
use crate::providers::identity::outgoing::client;
use crate::providers::identity::settings::{address, required};
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
    /// The id of the person whom the app considers signed in.
    pub user_id: &'a str,
    /// The access token. Required unless ids are accepted unverified.
    pub access_token: Option<&'a SecretString>,
}

/// Provider C.
#[derive(Clone, Debug)]
pub struct IdpC {
    graph: Option<Graph>,
}

impl IdpC {
    pub(super) fn new(settings: &IdpCSettings, clock: &Clock) -> Result<Option<Self>, SettingsError> {
        let IdpCSettings { graph_url, app_id, app_secret, .. } = settings;
        match settings.verification {
            None => Ok(None),
            Some(Verification::None) => {
                tracing::warn!("providers.idp_c.verification is \"none\": anyone who knows a person's id can sign in as that person");
                Ok(Some(Self { graph: None }))
            }
            Some(Verification::Graph) => {
                let graph_url = address("providers.idp_c.graph_url", graph_url.as_ref())?;
                let app_id = required("providers.idp_c.app_id", app_id.clone())?;
                let is_set = |secret: &SecretString| !secret.expose_secret().is_empty();
                let app_secret = required("providers.idp_c.app_secret", Some(app_secret.clone()).filter(is_set))?;
                let graph = Graph::new(&graph_url, app_id, app_secret, client(settings.timeout)?, clock.clone());
                Ok(Some(Self { graph: Some(graph) }))
            }
        }
    }

    /// The provider as a company uses it, with an app of its own. Ids are always verified.
    pub(super) fn of_company(graph_url: &Url, app_id: String, app_secret: SecretString, client: Client, clock: &Clock) -> Self {
        Self { graph: Some(Graph::new(graph_url, app_id, app_secret, client, clock.clone())) }
    }

    /// Returns how ids are verified. If the provider verifies them, checks that it accepts the app's credentials.
    pub async fn introduce(&self) -> Result<Verification, NoAnswer> {
        match &self.graph {
            Some(graph) => graph.introduce().await.map(|()| Verification::Graph),
            None => Ok(Verification::None),
        }
    }

    /// Verifies the proof and returns the identity. The provider does not vouch for addresses, so the identity has none.
    pub async fn verify(&self, proof: IdpCProof<'_>) -> Result<VerifiedIdentity, VerifyError> {
        let subject = Subject::parse(proof.user_id)?;
        let provider = match &self.graph {
            Some(graph) => {
                graph.confirm(proof.access_token.ok_or(Flaw::Incomplete)?, &subject).await?;
                Provider::IDP_C
            }
            None => Provider::CLAIMED_IDP_C,
        };
        Ok(VerifiedIdentity { provider, subject, email: None, email_is_vouched_for: false, name: None, token: None })
    }
}
