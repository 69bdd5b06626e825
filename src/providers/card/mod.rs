//! The card provider's API: forms go in, JSON comes out. Customers, ephemeral keys and setup intents are all we ask of it.
//!
//! One client serves every company; each call carries the secret key of the account it is for. Every call that makes something has an
//! idempotency key, so that repeating it, by us or by a parallel request, makes nothing twice.

mod answer;
mod api_version;
mod client;

use std::time::Duration;

use secrecy::SecretString;
use url::Url;

use crate::kernel::settings;
use crate::providers::RouteName;
use crate::providers::address::OVERHEARD;

pub use answer::{CardCustomerId, EphemeralKey, SetupIntent};
pub use api_version::{ApiVersion, NotAnApiVersion};
pub use client::Card;

/// `[providers.card]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// What apps call the provider: `<name>-ephemeral-key` works beside `card-ephemeral-key`.
    pub name: RouteName,
    /// Where the API is.
    pub base_url: Url,
    /// The version asked for, unless an app names its own for an ephemeral key.
    pub api_version: ApiVersion,
    /// How long one call may take.
    #[serde(deserialize_with = "settings::time")]
    pub timeout: Duration,
}

/// The settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadSettings {
    /// `providers.card.base_url`
    #[error("providers.card.base_url {OVERHEARD}")]
    BaseUrl,
    /// No HTTPS can be spoken here.
    #[error("no client for providers.card can be built")]
    Client(#[from] reqwest::Error),
}

/// Why a call came to nothing. What the provider says in words is never kept: it may name people.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    /// The provider does not know the customer: deleted there, or of another account.
    #[error("the card provider does not know the customer")]
    CustomerUnknown,
    /// The idempotency key was used before, for something else.
    #[error("the card provider knows the idempotency key from another request")]
    KeyReused,
    /// Anything else: unreachable, too slow, refused, out of order, not understood.
    #[error("the card provider did not do what it was asked: {0}")]
    Failed(String),
}

/// Somebody about to become a customer at the provider.
#[derive(Debug)]
pub struct NewCardCustomer<'a> {
    /// Our id, kept there for whoever looks them up.
    pub id: &'a str,
    /// Their name.
    pub name: &'a str,
    /// Where the provider may write to.
    pub email: Option<&'a str>,
    /// Where the provider may text to.
    pub phone: Option<&'a str>,
}

impl Card {
    /// Creates a customer.
    pub async fn create_customer(
        &self,
        secret_key: &SecretString,
        customer: &NewCardCustomer<'_>,
        idempotency_key: &str,
    ) -> Result<CardCustomerId, CardError> {
        let optional = [("email", customer.email), ("phone", customer.phone)];
        let mut form = vec![("name", customer.name), ("metadata[customer]", customer.id)];
        form.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value?))));
        let made: answer::Customer = self.post(secret_key, "/v1/customers", &form, None, idempotency_key).await?;
        Ok(made.id)
    }

    /// Creates a key with which an app reads and changes the cards of one customer for a short while.
    pub async fn create_ephemeral_key(
        &self,
        secret_key: &SecretString,
        customer: &CardCustomerId,
        version: Option<&ApiVersion>,
        idempotency_key: &str,
    ) -> Result<EphemeralKey, CardError> {
        let form = [("customer", customer.as_str())];
        self.post(secret_key, "/v1/ephemeral_keys", &form, version, idempotency_key).await
    }

    /// Creates the intent to save a card of one customer for later payments.
    pub async fn create_setup_intent(
        &self,
        secret_key: &SecretString,
        customer: &CardCustomerId,
        idempotency_key: &str,
    ) -> Result<SetupIntent, CardError> {
        let form = [("customer", customer.as_str()), ("payment_method_types[]", "card"), ("usage", "off_session")];
        self.post(secret_key, "/v1/setup_intents", &form, None, idempotency_key).await
    }
}
