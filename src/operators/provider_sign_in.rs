//! How an operator signs in with the company's identity provider: the authorization code flow of OpenID Connect.
//!
//! The provider says who somebody is, by an address that it vouches for; an operator with this address must exist. What the flow must
//! remember until the provider sends the browser back is sealed into a cookie, so only this browser can finish what it began. No second
//! factor is asked for: how many factors it takes is the provider's decision.
//!
//! Somebody who works for no company yet chooses an invitation before it is accepted, even if it is the only one: it may come from another
//! company than they believe. Beside a company that they work for, an invitation counts for nothing until they open the link in its mail.

use chrono::{DateTime, TimeDelta, Utc};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::operators::guesses::Browser;
use crate::operators::queries;
use crate::operators::session::Method;
use crate::operators::sign_in::{Progress, SignInRefusal};
use crate::operators::state::Operators;
use crate::providers::identity::{CodeAttempt, VerifyError};

/// Where the provider sends the browser back to.
pub const RETURN_PAGE: &str = "/console/sign-in/provider/return";

/// How long somebody may take at the provider.
const LIFETIME: TimeDelta = TimeDelta::minutes(10);
const CONTEXT: &str = "sign-ins of operators with a provider";

/// The reason why a sign-in with the provider did not work.
#[derive(Debug, thiserror::Error)]
pub enum ProviderRefusal {
    /// The deployment has no provider for operators.
    #[error("no provider is configured for operators")]
    NotConfigured,
    /// This browser has begun no sign-in, or too long ago, or another one.
    #[error("the browser has begun no such sign-in")]
    NotBegun,
    /// The provider vouches for no address, or no operator has it.
    #[error("the provider knows no operator")]
    NoOperator,
    /// The provider does not vouch for who this is, or does not answer.
    #[error("the provider was asked in vain")]
    Provider(#[from] VerifyError),
    /// The sign-in itself.
    #[error(transparent)]
    SignIn(#[from] SignInRefusal),
}

impl From<sqlx::Error> for ProviderRefusal {
    fn from(error: sqlx::Error) -> Self {
        Self::SignIn(error.into())
    }
}

/// What the browser keeps while it is at the provider.
#[derive(Deserialize, Serialize)]
struct Begun {
    attempt: CodeAttempt,
    /// The page to show afterwards.
    then: String,
    expires_at: DateTime<Utc>,
}

/// What the provider sends the browser back with.
#[derive(Debug, Deserialize)]
pub struct Returned {
    /// The state of the attempt.
    pub state: Option<String>,
    /// The authorization code.
    pub code: Option<SecretString>,
    /// Who sends it (RFC 9207).
    pub iss: Option<String>,
}

impl Operators {
    /// The name of the provider that operators can sign in with.
    pub fn provider_name(&self) -> Option<String> {
        self.oidc.as_ref().zip(self.address_of(RETURN_PAGE)).map(|(flow, _)| flow.name().to_string())
    }

    /// Begins a sign-in. Returns the address of the provider's page, and what the browser keeps meanwhile.
    pub async fn begin_with_provider(&self, then: &str) -> Result<(String, SecretString), ProviderRefusal> {
        let (flow, back) = self.oidc.as_ref().zip(self.address_of(RETURN_PAGE)).ok_or(ProviderRefusal::NotConfigured)?;
        let (page, attempt) = flow.begin(&back).await?;
        let begun = Begun { attempt, then: then.to_owned(), expires_at: self.clock.now() + LIFETIME };
        let begun = serde_json::to_vec(&begun).expect("texts and instants can always be written");
        Ok((page.to_string(), hex::encode(self.key.seal(CONTEXT, &begun)).into()))
    }

    /// Finishes the sign-in that this browser has begun. Returns the page to show as well.
    pub async fn finish_with_provider(
        &self,
        kept: &SecretString,
        returned: Returned,
        browser: &Browser,
    ) -> Result<(Progress, String), ProviderRefusal> {
        let (flow, back) = self.oidc.as_ref().zip(self.address_of(RETURN_PAGE)).ok_or(ProviderRefusal::NotConfigured)?;
        let begun = self.opened(kept).ok_or(ProviderRefusal::NotBegun)?;
        let Returned { state: Some(state), code: Some(code), iss } = returned else { return Err(ProviderRefusal::NotBegun) };
        if !begun.attempt.has_state(&state) {
            return Err(ProviderRefusal::NotBegun);
        }
        let identity = flow.finish(&begun.attempt, &back, &code, iss.as_deref()).await?;
        let email = identity.vouched_email().ok_or(ProviderRefusal::NoOperator)?;
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        let found = queries::list_candidates(&mut conn, &email.key()).await?;
        let (accepted, invited): (Vec<_>, Vec<_>) = found.into_iter().partition(|candidate| candidate.has_accepted);
        let [accepted, invited] =
            [accepted, invited].map(|found| found.into_iter().map(|candidate| candidate.operator).collect::<Vec<_>>());
        let progress = match (&accepted[..], &invited[..]) {
            ([], []) => return Err(ProviderRefusal::NoOperator),
            ([], invited) => self.offer(&mut conn, invited, Method::Oidc, now).await?,
            (accepted, _) => self.go_on(&mut conn, accepted, Method::Oidc, browser, now).await?,
        };
        Ok((progress, begun.then))
    }

    fn opened(&self, kept: &SecretString) -> Option<Begun> {
        let opened = self.key.open(CONTEXT, &hex::decode(kept.expose_secret()).ok()?).ok()?;
        let begun: Begun = serde_json::from_slice(opened.expose_secret()).ok()?;
        (begun.expires_at > self.clock.now()).then_some(begun)
    }
}
