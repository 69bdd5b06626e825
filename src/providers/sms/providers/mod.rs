//! The SMS providers. `docs/sms-providers.md` adds one step by step.
//!
//! This file is the only list of them: their settings, their names and their clients.

mod hook;
mod http;
mod twilio;
mod vonage;

use std::str::FromStr;

use url::Url;

use crate::kernel::settings;
use crate::providers::hook::Hook;
use crate::providers::sms::exchange::Receipt;
use crate::providers::sms::failure::SendTextError;
use crate::providers::sms::{DeliveryReceipt, NotGenuine, OwnSettings, ReceivedReceipt, SettingsError, Text, breaker};

pub use http::OwnSettings as OwnHttpSettings;

/// `[sms]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The providers, in the order in which they are tried.
    #[serde(deserialize_with = "settings::list")]
    pub providers: Vec<ProviderName>,
    /// Where providers reach this service from outside. Unset: they are not told to report.
    #[serde(deserialize_with = "settings::optional")]
    pub receipts_url: Option<Url>,
    /// `[sms.breaker]`
    pub breaker: breaker::Settings,
    /// `[sms.twilio]`
    pub twilio: twilio::Settings,
    /// `[sms.vonage]`
    pub vonage: vonage::Settings,
    /// `[sms.http]`
    pub http: http::Settings,
}

/// The supported providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderName {
    /// Twilio, or a service with a compatible API.
    Twilio,
    /// Vonage, or a service with a compatible SMS API.
    Vonage,
    /// Any service that takes a text in one HTTP request.
    Http,
    /// No service. The log records that a text would have been sent, without its content.
    Log,
}

impl ProviderName {
    const ALL: [Self; 4] = [Self::Twilio, Self::Vonage, Self::Http, Self::Log];

    /// The name in the settings and in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Twilio => "twilio",
            Self::Vonage => "vonage",
            Self::Http => "http",
            Self::Log => "log",
        }
    }
}

impl FromStr for ProviderName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|name| name.as_str() == text);
        named.ok_or_else(|| format!("a provider must be one of {}", Self::ALL.map(Self::as_str).join(", ")))
    }
}

#[derive(Debug)]
pub(super) enum Client {
    Twilio(twilio::Twilio),
    Vonage(vonage::Vonage),
    Http(Box<http::Http>),
    /// The endpoint of a company, which no setting names.
    Hook(Hook),
    Log,
}

impl Client {
    pub(super) fn new(name: ProviderName, settings: &Settings) -> Result<Self, SettingsError> {
        Ok(match name {
            ProviderName::Twilio => Self::Twilio(twilio::Twilio::new(&settings.twilio)?),
            ProviderName::Vonage => Self::Vonage(vonage::Vonage::new(&settings.vonage)?),
            ProviderName::Http => Self::Http(Box::new(http::Http::new(&settings.http)?)),
            ProviderName::Log => Self::Log,
        })
    }

    /// That of a company. What it does not say itself is as the settings of the deployment say of the service.
    pub(super) fn own(own: OwnSettings, settings: &Settings) -> Result<Self, SettingsError> {
        Ok(match own {
            OwnSettings::Twilio { account_sid, auth_token, from } => {
                let account = twilio::Settings { account_sid: Some(account_sid), auth_token, from: Some(from), ..settings.twilio.clone() };
                Self::Twilio(twilio::Twilio::new(&account)?)
            }
            OwnSettings::Vonage { api_key, api_secret, from } => {
                let account = vonage::Settings { api_key: Some(api_key), api_secret, from: Some(from), ..settings.vonage.clone() };
                Self::Vonage(vonage::Vonage::new(&account)?)
            }
            OwnSettings::Http { settings, secret, client } => Self::Http(Box::new(http::Http::own(*settings, secret, client)?)),
            OwnSettings::Webhook(endpoint) => Self::Hook(endpoint),
        })
    }

    pub(super) fn address(&self) -> Option<Url> {
        match self {
            Self::Twilio(twilio) => Some(twilio.address()),
            Self::Vonage(vonage) => Some(vonage.address()),
            Self::Http(http) => http.address(),
            Self::Hook(_) | Self::Log => None,
        }
    }

    /// Reads a receipt that was sent to this URL. Only providers that take the URL with a text send any.
    pub(super) fn read_receipt(&self, url: &str, received: &ReceivedReceipt<'_>) -> Result<Option<DeliveryReceipt>, NotGenuine> {
        match self {
            Self::Twilio(twilio) => twilio.read_receipt(url, received),
            Self::Vonage(_) => Ok(vonage::read_receipt(received)),
            Self::Http(_) | Self::Hook(_) | Self::Log => Ok(None),
        }
    }

    pub(super) async fn send(&self, text: &Text<'_>, callback: Option<&str>) -> Result<Receipt, SendTextError> {
        match self {
            Self::Twilio(twilio) => twilio.send(text, callback).await,
            Self::Vonage(vonage) => vonage.send(text, callback).await,
            Self::Http(http) => http.send(text).await,
            Self::Hook(endpoint) => hook::send(endpoint, text).await,
            Self::Log => {
                tracing::info!("a text would have been sent");
                Ok(Receipt::Taken(None))
            }
        }
    }
}
