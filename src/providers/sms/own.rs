//! Providers of companies: an account at a service of the settings, a service that the company describes, or its send-message hook.
//!
//! A named service keeps the address and the timeout that the settings of the deployment have for it: a company has an account there, and
//! says nothing about where texts go. Addresses that a company names are asked through the client that the caller passes.

use std::iter::once;
use std::sync::Arc;

use reqwest::Client as HttpClient;
use secrecy::SecretString;

use crate::kernel::ids::MessageProviderId;
use crate::providers::hook::Hook;
use crate::providers::sms::failure::{ProviderAnswer, TextNotSent};
use crate::providers::sms::provider::Provider;
use crate::providers::sms::providers::Client;
use crate::providers::sms::{OwnHttpSettings, SettingsError, Sms, Text};

/// What a company says about its provider.
#[derive(Debug)]
pub enum OwnSettings {
    /// An account at Twilio.
    Twilio {
        /// The SID of the account.
        account_sid: String,
        /// Its token.
        auth_token: SecretString,
        /// The sender: a phone number, or the SID of a messaging service.
        from: String,
    },
    /// An account at Vonage.
    Vonage {
        /// The key of the account.
        api_key: String,
        /// Its secret.
        api_secret: SecretString,
        /// The sender: a phone number, or a name of up to eleven letters and digits.
        from: String,
    },
    /// Any service that takes a text in one request.
    Http {
        /// The request, and what the responses mean.
        settings: Box<OwnHttpSettings>,
        /// The value of `{secret}`.
        secret: Option<SecretString>,
        /// What it is asked through.
        client: HttpClient,
    },
    /// The company's own endpoint.
    Webhook(Hook),
}

/// The provider of a company, with a circuit breaker of its own. Clones share it.
#[derive(Clone, Debug)]
pub struct OwnSms(Arc<Provider>);

impl OwnSms {
    /// Hands over a text whatever the circuit breaker says, for a test.
    pub async fn try_out(&self, text: &Text<'_>) -> Result<(), TextNotSent> {
        let refused = |error| TextNotSent { answers: vec![ProviderAnswer::new(self.0.name(), error)] };
        self.0.send(text, None).await.map(drop).map_err(refused)
    }
}

impl Sms {
    /// Builds the provider of a company, with the id of its record. Nothing is requested.
    pub fn own(&self, id: MessageProviderId, settings: OwnSettings) -> Result<OwnSms, SettingsError> {
        let client = Client::own(settings, &self.settings)?;
        Ok(OwnSms(Arc::new(Provider::own(id, client, self.settings.breaker, self.metrics.clone()))))
    }

    /// The provider of a company and, if it falls back, those of the settings after it.
    pub fn with_own(&self, own: &OwnSms, falls_back: bool) -> Self {
        let further = if falls_back { &*self.providers } else { &[] };
        Self { providers: once(&own.0).chain(further).map(Arc::clone).collect(), ..self.clone() }
    }

    /// Sends nothing: the provider of the company cannot be used, and nobody takes its place.
    pub fn without_providers(&self) -> Self {
        Self { providers: Arc::new([]), mailbox: None, ..self.clone() }
    }
}
