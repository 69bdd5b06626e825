//! Provider C: an id that proves nothing, and an access token that the provider is asked about.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use crate::kernel::clock::Clock;
use crate::kernel::settings;
use crate::providers::RouteName;
use crate::providers::identity::claims::{Flaw, Subject};
use crate::providers::identity::graph::Graph;
use crate::providers::identity::settings::{address, required};
use crate::providers::identity::{BadSettings, NoAnswer, Provider, VerifiedIdentity, VerifyError};

/// `[providers.idp_c]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdpCSettings {
    /// What this deployment calls it.
    pub name: RouteName,
    /// How an id is verified; empty: the provider is not offered.
    #[serde(deserialize_with = "settings::optional")]
    pub verification: Option<Verification>,
    /// Where its API is, its version included.
    #[serde(deserialize_with = "settings::optional")]
    pub graph_url: Option<Url>,
    /// Our app as it names it.
    #[serde(deserialize_with = "settings::optional")]
    pub app_id: Option<String>,
    /// The secret of that app.
    pub app_secret: SecretString,
    /// How long its answers are waited for.
    #[serde(deserialize_with = "settings::time")]
    pub timeout: Duration,
}

/// How an id of provider C is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verification {
    /// The provider is asked about the access token.
    Graph,
    /// Not at all: whoever knows an id signs in as its owner. For shops that must serve apps which send no access token.
    None,
}

impl std::str::FromStr for Verification {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "graph" => Ok(Self::Graph),
            "none" => Ok(Self::None),
            _ => Err("verification is \"graph\" or \"none\""),
        }
    }
}

/// What an app sends of a sign-in with provider C.
#[derive(Debug)]
pub struct IdpCProof<'a> {
    /// Whom the app believes to be signed in.
    pub user_id: &'a str,
    /// The access token; needed unless ids are taken as they come.
    pub access_token: Option<&'a SecretString>,
}

/// Provider C.
#[derive(Clone, Debug)]
pub struct IdpC {
    graph: Option<Graph>,
}

impl IdpC {
    pub(super) fn new(settings: &IdpCSettings, clock: &Clock) -> Result<Option<Self>, BadSettings> {
        let IdpCSettings { graph_url, app_id, app_secret, .. } = settings;
        match settings.verification {
            None => Ok(None),
            Some(Verification::None) => {
                tracing::warn!("providers.idp_c.verification is \"none\": whoever knows somebody's id signs in as them");
                Ok(Some(Self { graph: None }))
            }
            Some(Verification::Graph) => {
                let graph_url = address("providers.idp_c.graph_url", graph_url.as_ref())?;
                let app_id = required("providers.idp_c.app_id", app_id.clone())?;
                let is_set = |secret: &SecretString| !secret.expose_secret().is_empty();
                let app_secret = required("providers.idp_c.app_secret", Some(app_secret.clone()).filter(is_set))?;
                let graph = Graph::new(&graph_url, app_id, app_secret, settings.timeout, clock.clone())?;
                Ok(Some(Self { graph: Some(graph) }))
            }
        }
    }

    /// How ids are verified. Where the provider is asked about them, it is asked whether it knows our app.
    pub async fn introduce(&self) -> Result<Verification, NoAnswer> {
        match &self.graph {
            Some(graph) => graph.introduce().await.map(|()| Verification::Graph),
            None => Ok(Verification::None),
        }
    }

    /// Whom the proof is about. The provider does not say whose an address is, so it vouches for none.
    pub async fn verify(&self, proof: IdpCProof<'_>) -> Result<VerifiedIdentity, VerifyError> {
        let subject = Subject::parse(proof.user_id)?;
        let provider = match &self.graph {
            Some(graph) => {
                graph.confirm(proof.access_token.ok_or(Flaw::Incomplete)?, &subject).await?;
                Provider::IdpC
            }
            None => Provider::ClaimedIdpC,
        };
        Ok(VerifiedIdentity { provider, subject, email: None, email_is_vouched_for: false, name: None, token: None })
    }
}
