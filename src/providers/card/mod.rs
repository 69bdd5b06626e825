//! The API of the card provider: form requests and JSON responses. The client creates customers, ephemeral keys and setup
//! intents, and lists events that were not delivered.
//!
//! One client serves all companies. Each call carries the secret key of the company's account. Every call that creates something
//! has an idempotency key, so that a retry, or a parallel request with the same key, creates nothing twice.

mod answer;
mod api_version;
mod client;
mod events;

use std::fmt;
use std::time::Duration;

use secrecy::SecretString;
use url::Url;

use crate::kernel::settings;
use crate::providers::RouteName;
use crate::providers::address::NOT_SECURE;

pub use answer::{CardCustomerId, EphemeralKey, SetupIntent};
pub use api_version::{ApiVersion, InvalidApiVersion};
pub use client::Card;
pub use events::UndeliveredEvents;

/// `[providers.card]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The provider's name in routes: `<name>-ephemeral-key` is available in addition to `card-ephemeral-key`.
    pub name: RouteName,
    /// The base URL of the API.
    pub base_url: Url,
    /// The API version of requests. An app can request another version for an ephemeral key.
    pub api_version: ApiVersion,
    /// The timeout of one call.
    #[serde(deserialize_with = "settings::time")]
    pub timeout: Duration,
}

/// The settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// `providers.card.base_url`
    #[error("providers.card.base_url {NOT_SECURE}")]
    BaseUrl,
    /// The HTTPS client cannot be built.
    #[error("the HTTP client for providers.card cannot be built")]
    Client(#[from] reqwest::Error),
}

/// The reason why a call failed. The provider's error message is never stored, because it may contain personal data.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    /// The provider does not know the customer. The customer was deleted there, or belongs to another account.
    #[error("the card provider does not know the customer")]
    CustomerUnknown,
    /// The provider no longer knows the event that a page is to begin behind.
    #[error("the card provider does not know where the list was interrupted")]
    PositionUnknown,
    /// The idempotency key was already used for a different request.
    #[error("the idempotency key was already used for another request to the card provider")]
    KeyReused,
    /// The provider does not take a contact of the customer, for example an address whose domain it does not know.
    #[error("the card provider does not take the customer's {0}")]
    ContactRefused(CardContact),
    /// Any other failure: unreachable, timed out, refused, server error, or an invalid response.
    #[error("the request to the card provider failed: {0}")]
    Failed(String),
}

/// A contact of a customer, by its name in the provider's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardContact {
    /// The email address.
    Email,
    /// The phone number.
    Phone,
}

impl CardContact {
    const ALL: [Self; 2] = [Self::Email, Self::Phone];

    fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Phone => "phone",
        }
    }
}

impl fmt::Display for CardContact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A customer to be created at the provider.
#[derive(Debug)]
pub struct NewCardCustomer<'a> {
    /// The customer's id in this service, stored at the provider so that operators can look it up.
    pub id: &'a str,
    /// The name of the customer, if it is known.
    pub name: Option<&'a str>,
    /// The email address. The provider may send mails to it.
    pub email: Option<&'a str>,
    /// The phone number. The provider may send texts to it.
    pub phone: Option<&'a str>,
}

impl NewCardCustomer<'_> {
    /// Leaves a contact out, and returns whether there was one.
    pub fn leave_out(&mut self, contact: CardContact) -> bool {
        match contact {
            CardContact::Email => self.email.take().is_some(),
            CardContact::Phone => self.phone.take().is_some(),
        }
    }
}

impl Card {
    /// Creates a customer. What is not known is not sent.
    pub async fn create_customer(
        &self,
        secret_key: &SecretString,
        customer: &NewCardCustomer<'_>,
        idempotency_key: &str,
    ) -> Result<CardCustomerId, CardError> {
        let optional =
            [("name", customer.name), (CardContact::Email.as_str(), customer.email), (CardContact::Phone.as_str(), customer.phone)];
        let mut form = vec![("metadata[customer]", customer.id)];
        form.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value?))));
        let made: answer::Customer = self.post(secret_key, "/v1/customers", &form, None, idempotency_key).await?;
        Ok(made.id)
    }

    /// Creates a short-lived key with which an app can read and change the cards of one customer.
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

    /// Creates an intent to save a card of one customer for later payments.
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
