//! The sign-in audit: every attempt with its method, its origin and its outcome. It never contains a code, a token or a password.

mod queries;

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use chrono::TimeDelta;
use futures::future::BoxFuture;

use crate::contact::Identity;
use crate::kernel::client_address::ClientAddress;
use crate::kernel::error_chain::chain;
use crate::kernel::problem::Problem;
use crate::providers::identity::Provider;
use crate::storefront::accounts::sign_in::SignedIn;
use crate::storefront::stores::Store;
use crate::storefront::{Storefront, passwords};

pub(super) use queries::{forget_leavers, forget_sign_ins};

/// The retention of an entry.
pub(super) const RETENTION: TimeDelta = TimeDelta::days(90);

/// The method of a sign-in attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Registration,
    Code,
    Password,
    PasswordReset,
    Provider(Provider),
}

impl Method {
    /// The word in the audit. No provider has one of the others' words.
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Registration => "registration",
            Self::Code => "code",
            Self::Password => "password",
            Self::PasswordReset => "password_reset",
            Self::Provider(provider) => provider.as_str(),
        }
    }
}

/// The origin of a request, as the audit records it.
#[derive(Clone, Debug)]
pub(super) struct ClientInfo {
    pub(super) address: ClientAddress,
    pub(super) user_agent: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for ClientInfo {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let address = ClientAddress::from_request_parts(parts, state).await?;
        let user_agent = parts.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
        Ok(Self { address, user_agent: user_agent.map(|text| text.chars().take(255).collect()) })
    }
}

/// An attempt to sign in.
#[derive(Debug)]
pub(super) struct SignInAttempt<'a> {
    pub(super) store: &'a Store,
    pub(super) method: Method,
    /// The identity, if the input is a valid one. Invalid input is not recorded, because it may be a password in the wrong field.
    pub(super) identity: Option<Identity>,
    pub(super) client: ClientInfo,
}

impl<'a> SignInAttempt<'a> {
    pub(super) fn new(store: &'a Store, method: Method, typed: Option<&str>, client: ClientInfo) -> Self {
        Self { store, method, identity: typed.and_then(|text| Identity::parse(text).ok()), client }
    }

    /// The bucket of the wrong passwords that are cleared when this attempt succeeds. A password reset clears it too, because a
    /// customer who forgot the password has usually tried wrong ones before.
    pub(super) fn forgives(&self) -> Option<String> {
        match self.method {
            Method::Password | Method::PasswordReset => {
                self.identity.as_ref().map(|identity| passwords::bucket(self.store.id, &identity.key()))
            }
            Method::Registration | Method::Code | Method::Provider(_) => None,
        }
    }
}

/// Runs a sign-in and records a refusal. A success is recorded together with its token ([`Storefront::sign_in`]).
///
/// The flow is boxed, so that the large state of its queries is not moved from future to future.
pub(super) async fn audited(
    storefront: &Storefront,
    attempt: &SignInAttempt<'_>,
    flow: BoxFuture<'_, Result<SignedIn, Problem>>,
) -> Result<SignedIn, Problem> {
    let result = flow.await;
    if let Err(problem) = &result {
        let now = storefront.clock.now();
        let written = async { queries::insert_refusal(&mut *storefront.pool.acquire().await?, attempt, problem.code(), now).await };
        if let Err(error) = written.await {
            // The failure to record a refusal does not change the response.
            tracing::error!(error = chain(&error), "a refused sign-in could not be recorded in the audit log");
        }
    }
    result
}
