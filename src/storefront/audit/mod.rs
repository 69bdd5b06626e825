//! The audit: who signed in how and from where, and what was refused. It never holds a code, a token or a password.

mod queries;

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use chrono::TimeDelta;

use crate::kernel::client_address::ClientAddress;
use crate::kernel::ids::SignInId;
use crate::kernel::problem::Problem;
use crate::kernel::telemetry::chain;
use crate::storefront::Storefront;
use crate::storefront::sign_in::SignedIn;
use crate::storefront::stores::Store;

pub(super) use queries::{forget_leavers, forget_sign_ins};

/// How long an entry is kept.
pub(super) const KEPT_FOR: TimeDelta = TimeDelta::days(90);

/// How somebody tried to sign in.
#[derive(Clone, Debug)]
pub(super) enum Method {
    Registration,
    Code,
    Password,
    PasswordReset,
    IdpA,
    IdpB,
    IdpC,
}

impl Method {
    fn as_str(&self) -> &'static str {
        match self {
            Self::Registration => "registration",
            Self::Code => "code",
            Self::Password => "password",
            Self::PasswordReset => "password_reset",
            Self::IdpA => "idp_a",
            Self::IdpB => "idp_b",
            Self::IdpC => "idp_c",
        }
    }
}

/// Where a request came from, as far as the audit tells.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    address: ClientAddress,
    user_agent: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for Origin {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let address = ClientAddress::from_request_parts(parts, state).await?;
        let user_agent = parts.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
        Ok(Self { address, user_agent: user_agent.map(|text| text.chars().take(255).collect()) })
    }
}

/// Runs a sign-in and writes down what came of it.
pub(super) async fn audited(
    storefront: &Storefront,
    store: &Store,
    (method, identity, origin): (Method, Option<&str>, Origin),
    flow: impl Future<Output = Result<SignedIn, Problem>>,
) -> Result<SignedIn, Problem> {
    let result = flow.await;
    let now = storefront.clock.now();
    let entry = queries::Entry {
        id: SignInId::new(now),
        store: store.id,
        customer: result.as_ref().ok().map(|signed_in| signed_in.customer.id),
        method: method.as_str(),
        // What was typed may be anything, even a password in the wrong field: only what is an identity is kept.
        identity: identity.and_then(|text| crate::contact::Identity::parse(text).ok()).map(|identity| identity.key()),
        outcome: result.as_ref().map_or_else(|problem| problem.code().as_str(), |_| "signed_in"),
        address: origin.address.ip().to_string(),
        user_agent: origin.user_agent,
    };
    let written = async { queries::insert_sign_in(&mut *storefront.pool.acquire().await?, &entry, now).await };
    if let Err(error) = written.await {
        // The customer is signed in, or was refused: that stands.
        tracing::error!(error = chain(&error), "a sign-in is missing in the audit");
    }
    result
}
