//! Texts: the configured SMS providers, tried in order.
//!
//! A provider that is unavailable, over its rate limit or refuses the credentials *did not take* a text: the next one is tried.
//! If a provider knows that the number receives no texts, no other provider is tried, because no other could know better. A
//! provider that does not respond in time may have taken the text, which therefore counts as sent.
//!
//! Each provider has a circuit breaker ([`breaker`]): after several consecutive failures it is skipped for a while.
//!
//! Guaranteed: a breaker only decides which provider is tried first. If all breakers are open, the provider with the earliest
//! trial is tried nevertheless: an attempt serves a customer who waits for a code better than a certain refusal.
//!
//! Not guaranteed: breakers are in memory, per instance. Every instance detects a failing provider by itself, at the cost of a
//! few texts, which needs no coordination.

mod breaker;
mod exchange;
mod http;
mod provider;
pub mod segment;
mod settings;
mod twilio;
mod vonage;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::contact::PhoneNumber;
use crate::providers::mailbox::{Channel, Kept, Mailbox};
use provider::Provider;

pub use breaker::Settings as BreakerSettings;
pub use http::{Format as HttpFormat, Method as HttpMethod, Settings as HttpSettings, Sign as HttpSign};
pub use settings::{BadSettings, ProviderName, Settings};
pub use twilio::Settings as TwilioSettings;
pub use vonage::Settings as VonageSettings;

/// A text to one number.
pub struct Text<'a> {
    /// The number of the recipient.
    pub to: &'a PhoneNumber,
    /// The body of the text.
    pub body: &'a str,
    /// The verification code in the body. Only the mailbox uses it.
    pub code: Option<&'a SecretString>,
    /// When the text is sent.
    pub at: DateTime<Utc>,
}

/// The reason why a text was not sent.
#[derive(Debug, thiserror::Error)]
pub enum SendTextError {
    /// The provider knows that the number receives no texts: a fixed line, a blocked or unknown number.
    #[error("the number cannot receive texts")]
    Unreachable,
    /// The provider did not take the text now: unavailable, over its rate limit, or invalid credentials.
    #[error("the provider did not accept the text: {0}")]
    NotTaken(String),
}

impl SendTextError {
    fn not_taken(reason: impl Into<String>) -> Self {
        Self::NotTaken(reason.into())
    }
}

/// Sends texts, if a provider or the mailbox is configured ([`Sms::is_available`]). Clones share the breakers.
#[derive(Clone, Debug)]
pub struct Sms {
    providers: Arc<[Provider]>,
    mailbox: Option<Mailbox>,
}

impl Sms {
    /// Creates the clients from the settings. With a mailbox, every text is also stored there, and no provider is required.
    pub fn new(settings: &Settings, mailbox: Option<Mailbox>) -> Result<Self, BadSettings> {
        let providers = settings.providers.iter().map(|name| Provider::new(*name, settings)).collect::<Result<_, _>>()?;
        Ok(Self { providers, mailbox })
    }

    /// Whether a provider or the mailbox is configured.
    pub fn is_available(&self) -> bool {
        !self.providers.is_empty() || self.mailbox.is_some()
    }

    /// The providers in their order, each with its URL. The `log` provider has none.
    pub fn addresses(&self) -> impl Iterator<Item = (ProviderName, Option<Url>)> {
        self.providers.iter().map(|provider| (provider.name(), provider.address()))
    }

    /// Sends the text to the first provider that takes it.
    pub async fn send(&self, text: Text<'_>) -> Result<(), SendTextError> {
        if !self.providers.is_empty() {
            self.hand_over(&text).await?;
        } else if self.mailbox.is_none() {
            return Err(SendTextError::not_taken("no provider is configured"));
        }
        self.keep(&text);
        Ok(())
    }

    async fn hand_over(&self, text: &Text<'_>) -> Result<(), SendTextError> {
        let mut refusal = None;
        // The filter runs lazily, right before each attempt: an open breaker may admit this text as its trial.
        for provider in self.providers.iter().filter(|provider| provider.admits(text.at)) {
            match provider.send(text).await {
                Err(SendTextError::NotTaken(reason)) => refusal = Some(SendTextError::NotTaken(reason)),
                final_word => return final_word,
            }
        }
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        let first = self.providers.iter().min_by_key(|provider| provider.next_trial());
        first.expect("there is at least one provider").send(text).await
    }

    fn keep(&self, text: &Text<'_>) {
        if let Some(mailbox) = &self.mailbox {
            mailbox.keep(Kept {
                channel: Channel::Sms,
                to: text.to.to_string(),
                subject: None,
                text: text.body.to_owned(),
                html: None,
                code: text.code.map(|code| code.expose_secret().to_owned()),
                sent_at: text.at,
            });
        }
    }
}
