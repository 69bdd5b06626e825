//! The audit: who signed in how and from where, and what was refused. It never holds a code, a token or a password.

mod queries;

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use chrono::TimeDelta;
use futures::future::BoxFuture;

use crate::contact::Identity;
use crate::kernel::client_address::ClientAddress;
use crate::kernel::problem::Problem;
use crate::kernel::telemetry::chain;
use crate::storefront::sign_in::SignedIn;
use crate::storefront::stores::Store;
use crate::storefront::{Storefront, passwords};

pub(super) use queries::{forget_leavers, forget_sign_ins};

/// How long an entry is kept.
pub(super) const KEPT_FOR: TimeDelta = TimeDelta::days(90);

crate::words! {
    /// How somebody tried to sign in.
    pub(super) enum Method {
        Registration = "registration",
        Code = "code",
        Password = "password",
        PasswordReset = "password_reset",
        IdpA = "idp_a",
        IdpB = "idp_b",
        IdpC = "idp_c",
    }
}

/// Where a request came from, as far as the audit tells.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) address: ClientAddress,
    pub(super) user_agent: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for Origin {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let address = ClientAddress::from_request_parts(parts, state).await?;
        let user_agent = parts.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
        Ok(Self { address, user_agent: user_agent.map(|text| text.chars().take(255).collect()) })
    }
}

/// An attempt to sign in.
#[derive(Debug)]
pub(super) struct Attempt<'a> {
    pub(super) store: &'a Store,
    pub(super) method: Method,
    /// What was typed may be anything, even a password in the wrong field: only what is an identity is kept.
    pub(super) identity: Option<Identity>,
    pub(super) origin: Origin,
}

impl<'a> Attempt<'a> {
    pub(super) fn new(store: &'a Store, method: Method, typed: Option<&str>, origin: Origin) -> Self {
        Self { store, method, identity: typed.and_then(|text| Identity::parse(text).ok()), origin }
    }

    /// Where the wrong passwords were counted that are forgiven when this attempt succeeds: whoever forgot a password has mostly tried
    /// others first.
    pub(super) fn forgives(&self) -> Option<String> {
        match self.method {
            Method::Password | Method::PasswordReset => {
                self.identity.as_ref().map(|identity| passwords::bucket(self.store.id, &identity.key()))
            }
            Method::Registration | Method::Code | Method::IdpA | Method::IdpB | Method::IdpC => None,
        }
    }
}

/// Runs a sign-in and writes down if it was refused. One that succeeds was written down with its token ([`Storefront::sign_in`]).
///
/// The flow comes boxed: what its statements need would else be copied from future to future.
pub(super) async fn audited(
    storefront: &Storefront,
    attempt: &Attempt<'_>,
    flow: BoxFuture<'_, Result<SignedIn, Problem>>,
) -> Result<SignedIn, Problem> {
    let result = flow.await;
    if let Err(problem) = &result {
        let now = storefront.clock.now();
        let written = async { queries::insert_refusal(&mut *storefront.pool.acquire().await?, attempt, problem.code(), now).await };
        if let Err(error) = written.await {
            // Nobody is signed in: that stands.
            tracing::error!(error = chain(&error), "a refused sign-in is missing in the audit");
        }
    }
    result
}
