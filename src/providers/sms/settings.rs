//! `[sms]`: the providers and their order.

use url::Url;

use crate::kernel::settings;
use crate::providers::address::{NOT_SECURE, is_secure};
use crate::providers::sms::{breaker, http, twilio, vonage};

/// `[sms]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The providers, in the order in which they are tried.
    #[serde(deserialize_with = "settings::list")]
    pub providers: Vec<ProviderName>,
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

impl std::str::FromStr for ProviderName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = [Self::Twilio, Self::Vonage, Self::Http, Self::Log];
        let named = known.into_iter().find(|name| name.as_str() == text);
        named.ok_or("a provider must be \"twilio\", \"vonage\", \"http\" or \"log\"")
    }
}

/// The settings of a configured provider are missing or invalid.
#[derive(Debug, thiserror::Error)]
#[error("{setting} {reason}")]
pub struct SettingsError {
    /// The key of the setting.
    pub setting: &'static str,
    /// The fault.
    pub reason: String,
}

/// Checks the URL of a provider. Credentials, numbers and codes are sent there, so it must be encrypted.
pub(super) fn address(url: &Url, setting: &'static str) -> Result<Url, SettingsError> {
    if is_secure(url) { Ok(url.clone()) } else { Err(SettingsError { setting, reason: NOT_SECURE.to_owned() }) }
}

/// The URL of `path` at a provider, whose base URL is checked.
pub(super) fn address_of(path: &str, base_url: &Url, setting: &'static str) -> Result<Url, SettingsError> {
    address(base_url, setting)?.join(path).map_err(|error| SettingsError { setting, reason: error.to_string() })
}

/// Returns the value of a setting that a configured provider requires.
pub(super) fn required<T: Clone>(value: Option<&T>, setting: &'static str) -> Result<T, SettingsError> {
    value.cloned().ok_or_else(|| SettingsError { setting, reason: "is not set".to_owned() })
}
