//! The sign-in audit: every attempt with its method, its origin and its outcome. It never contains a code, a token or a password.

mod device;
mod device_name;
mod figures;
mod queries;
mod refusals;

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use chrono::TimeDelta;

use crate::contact::Identity;
use crate::events::Origin;
use crate::kernel::client_address::ClientAddress;
use crate::kernel::request_id::RequestId;
use crate::providers::identity::Provider;
use crate::storefront::guessing::Client;
use crate::storefront::stores::Store;

pub use device_name::{DEVICE_NAME_MAX_LEN, DeviceName};
pub use figures::{count_hours, forget_hours, list_figures};
pub use queries::{LoggedSignIn, count_refusal, export_sign_ins, forget_leaver, forget_sign_ins, insert_refusal, list_sign_ins};
pub use refusals::Refusals;

pub const RETENTION: TimeDelta = TimeDelta::days(90);

/// Entries are counted for the figures when they are this old: by then every transaction that writes one has ended, and a text that no
/// provider takes has been given back.
pub const COUNTED_AFTER: TimeDelta = TimeDelta::minutes(5);

/// The method of a sign-in attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    Registration,
    Code,
    Password,
    PasswordReset,
    /// A code of the authenticator app, after a first factor.
    Totp,
    /// A recovery code in its place.
    RecoveryCode,
    Passkey,
    Provider(Provider),
}

impl Method {
    /// The words of the methods that no provider verifies.
    pub const WORDS: [&str; 7] = ["registration", "code", "password", "password_reset", "totp", "recovery_code", "passkey"];

    /// The word in the audit. No provider has one of the others' words.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Registration => "registration",
            Self::Code => "code",
            Self::Password => "password",
            Self::PasswordReset => "password_reset",
            Self::Totp => "totp",
            Self::RecoveryCode => "recovery_code",
            Self::Passkey => "passkey",
            Self::Provider(provider) => provider.as_str(),
        }
    }
}

/// Which request an attempt is, and who sent it.
#[derive(Clone, Debug)]
pub struct ClientInfo {
    pub request: RequestId,
    pub address: ClientAddress,
    pub user_agent: Option<String>,
    /// What the app calls the device.
    pub device_name: Option<DeviceName>,
}

impl ClientInfo {
    /// The device in a few words: the browser or app, the system, and the name that the app gives it. Versions change with every update and
    /// addresses with every network, so neither is part of it.
    pub fn device(&self) -> String {
        device::describe(self.user_agent.as_deref(), self.device_name.as_ref())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ClientInfo {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let request = RequestId::from_request_parts(parts, state).await?;
        let address = ClientAddress::from_request_parts(parts, state).await?;
        let user_agent = parts.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
        let user_agent = user_agent.map(|text| text.chars().take(255).collect());
        Ok(Self { request, address, user_agent, device_name: DeviceName::of_headers(&parts.headers) })
    }
}

impl ClientInfo {
    /// The client as guesses are counted by it.
    pub fn client(&self) -> Client {
        Client::new(self.address, self.user_agent.as_deref())
    }
}

#[derive(Debug)]
pub struct SignInAttempt<'a> {
    pub store: &'a Store,
    pub method: Method,
    /// The identity, if the input is a valid one. Invalid input is not recorded, because it may be a password in the wrong field.
    pub identity: Option<Identity>,
    pub client: ClientInfo,
}

impl<'a> SignInAttempt<'a> {
    pub fn new(store: &'a Store, method: Method, typed: Option<&str>, client: ClientInfo) -> Self {
        Self { store, method, identity: typed.and_then(|text| Identity::parse(text).ok()), client }
    }

    /// Where the events of the attempt come from.
    pub fn origin(&self) -> Origin {
        Origin { company: self.store.company_id, request: Some(self.client.request) }
    }
}
