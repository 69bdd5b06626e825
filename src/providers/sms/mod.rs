//! Texts: the configured providers, tried in order.

mod twilio;

use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret, SecretString};

use crate::contact::PhoneNumber;
use crate::kernel::settings;
use crate::providers::mailbox::{Channel, Kept, Mailbox};

pub use twilio::Settings as TwilioSettings;

/// `[sms]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Providers in the order they are tried.
    #[serde(deserialize_with = "settings::list")]
    pub providers: Vec<ProviderName>,
    /// `[sms.twilio]`
    pub twilio: TwilioSettings,
}

/// The providers this version speaks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderName {
    /// Twilio, or a service that speaks its API.
    Twilio,
    /// No service: the log says that a text would have been sent, without its content.
    Log,
}

impl std::str::FromStr for ProviderName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "twilio" => Ok(Self::Twilio),
            "log" => Ok(Self::Log),
            _ => Err("providers are \"twilio\" and \"log\""),
        }
    }
}

/// A provider is listed whose settings are missing or wrong.
#[derive(Debug, thiserror::Error)]
#[error("{setting} {reason}")]
pub struct BadSettings {
    /// The key.
    pub setting: &'static str,
    /// What is wrong with it.
    pub reason: String,
}

/// One text to one number.
#[derive(Debug)]
pub struct Text<'a> {
    /// Where it goes.
    pub to: &'a PhoneNumber,
    /// What it says.
    pub body: &'a str,
    /// The code in it, for the mailbox alone.
    pub code: Option<&'a SecretString>,
    /// When it is sent.
    pub at: DateTime<Utc>,
}

/// Why a text was not sent.
#[derive(Debug, thiserror::Error)]
pub enum SendTextError {
    /// The provider knows that no text arrives at this number: a fixed line, a blocked or unknown number.
    #[error("no text arrives at this number")]
    Unreachable,
    /// The provider did not take it now: out of service, over its rate, bad credentials.
    #[error("the provider did not take the text: {0}")]
    NotTaken(String),
}

/// Sends texts. Without any provider and mailbox it cannot: ask [`Sms::is_available`].
#[derive(Clone, Debug)]
pub struct Sms {
    providers: Vec<Provider>,
    mailbox: Option<Mailbox>,
}

#[derive(Clone, Debug)]
enum Provider {
    Twilio(twilio::Twilio),
    Log,
}

impl Sms {
    /// The providers of the settings; with a mailbox every text lands there too, and no provider is needed.
    pub fn new(settings: &Settings, mailbox: Option<Mailbox>) -> Result<Self, BadSettings> {
        let provider = |name: &ProviderName| match name {
            ProviderName::Twilio => twilio::Twilio::new(&settings.twilio).map(Provider::Twilio),
            ProviderName::Log => Ok(Provider::Log),
        };
        Ok(Self { providers: settings.providers.iter().map(provider).collect::<Result<_, _>>()?, mailbox })
    }

    /// Whether there is anything to send with.
    pub fn is_available(&self) -> bool {
        !self.providers.is_empty() || self.mailbox.is_some()
    }

    /// Hands the text to the first provider that takes it. A number that one provider cannot reach is not tried at the next.
    pub async fn send(&self, text: Text<'_>) -> Result<(), SendTextError> {
        let mut refusal = None;
        for provider in &self.providers {
            match provider.send(&text).await {
                Ok(()) => {
                    self.keep(&text);
                    return Ok(());
                }
                Err(SendTextError::Unreachable) => return Err(SendTextError::Unreachable),
                Err(SendTextError::NotTaken(reason)) => {
                    tracing::warn!(reason, "a provider did not take a text");
                    refusal = Some(SendTextError::NotTaken(reason));
                }
            }
        }
        match refusal {
            Some(refusal) => Err(refusal),
            None if self.mailbox.is_none() => Err(SendTextError::NotTaken("no provider is configured".to_owned())),
            None => {
                self.keep(&text);
                Ok(())
            }
        }
    }

    fn keep(&self, text: &Text<'_>) {
        if let Some(mailbox) = &self.mailbox {
            mailbox.keep(Kept {
                channel: Channel::Sms,
                to: text.to.to_string(),
                subject: None,
                text: text.body.to_owned(),
                code: text.code.map(|code| code.expose_secret().to_owned()),
                sent_at: text.at,
            });
        }
    }
}

impl Provider {
    async fn send(&self, text: &Text<'_>) -> Result<(), SendTextError> {
        match self {
            Self::Twilio(twilio) => twilio.send(text).await,
            Self::Log => {
                tracing::info!("a text would have been sent");
                Ok(())
            }
        }
    }
}
