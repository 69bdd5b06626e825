//! How an operator signs in with the company's identity provider: the authorization code flow of OpenID Connect.
//!
//! The first time, the provider says who somebody is by an address that it vouches for; an operator with this address must exist. From then on the
//! operator is bound to the issuer and the subject, whatever address the provider has for them: an address that is given to somebody else gives them
//! nothing. A deployment that goes to another provider binds its operators anew.
//!
//! What the flow must remember until the provider sends the browser back is sealed into a cookie, so only this browser can finish what it began. No
//! second factor is asked for: how many factors it takes is the provider's decision.
//!
//! Somebody who works for several companies is bound in all of them by their first sign-in, so that no company is left in which the next holder of the
//! address is let in. Somebody who works for no company yet chooses an invitation before it is accepted and bound, even if it is the only one: it may
//! come from another company than they believe. Beside a company that they work for, an invitation counts for nothing until they open the link in its
//! mail.

use chrono::{DateTime, TimeDelta, Utc};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::contact::EmailAddress;
use crate::kernel::database::Connection;
use crate::operators::binding;
use crate::operators::guesses::Browser;
use crate::operators::operator::Operator;
use crate::operators::queries::{self, Holder, OfPerson};
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
    /// The operator with the address signs in as another person at the provider.
    #[error("the operator is bound to another person at the provider")]
    AnotherPerson,
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
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        let person = (flow.issuer(), identity.subject.as_str());
        let email = identity.vouched_email().map(EmailAddress::key);
        let mut transaction = conn.begin().await?;
        let (accepted, invited) = operators_of(&mut transaction, person, email.as_deref(), browser, now).await?;
        let progress = if accepted.is_empty() {
            self.offer(&mut transaction, &invited, Method::Oidc, Some(person), now).await?
        } else {
            self.go_on(&mut transaction, &accepted, Method::Oidc, browser, now).await?
        };
        transaction.commit().await?;
        Ok((progress, begun.then))
    }

    fn opened(&self, kept: &SecretString) -> Option<Begun> {
        let opened = self.key.open(CONTEXT, &hex::decode(kept.expose_secret()).ok()?).ok()?;
        let begun: Begun = serde_json::from_slice(opened.expose_secret()).ok()?;
        (begun.expires_at > self.clock.now()).then_some(begun)
    }
}

/// The operators who this person at the provider is in their companies, and those of invitations to the address that it vouches for; not both are
/// empty. The former are bound to the person from now on.
async fn operators_of(
    conn: &mut Connection,
    person: (&str, &str),
    email: Option<&str>,
    browser: &Browser,
    now: DateTime<Utc>,
) -> Result<(Vec<Operator>, Vec<Operator>), ProviderRefusal> {
    let (mut accepted, mut invited, mut refusal) = (Vec::new(), Vec::new(), ProviderRefusal::NoOperator);
    for OfPerson { operator, has_accepted, holder } in queries::list_of_person(conn, person, email).await? {
        let is_theirs = match holder {
            Holder::ThisPerson => true,
            Holder::AnotherPerson => false,
            Holder::Nobody => !has_accepted || binding::bind(conn, &operator, person, browser, now).await?,
        };
        match (is_theirs, has_accepted) {
            (true, true) => accepted.push(operator),
            (true, false) => invited.push(operator),
            (false, _) => {
                tracing::warn!(operator = %operator.id, "the provider vouches for an operator's address, and it is another person");
                refusal = ProviderRefusal::AnotherPerson;
            }
        }
    }
    if accepted.is_empty() && invited.is_empty() { Err(refusal) } else { Ok((accepted, invited)) }
}
