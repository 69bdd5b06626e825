//! Checks of the settings of providers.

use url::Url;

use crate::providers::address::{NOT_SECURE, below, is_secure};

/// The settings of a configured provider are missing or invalid.
#[derive(Debug, thiserror::Error)]
#[error("{setting} {reason}")]
pub struct SettingsError {
    /// The full key of the setting, such as `sms.twilio.from`.
    pub setting: &'static str,
    /// What follows the setting in the message, as its predicate: `is not set`. A company reads it after `This`.
    pub reason: String,
}

/// Checks the URL of a provider. Credentials, numbers and codes are sent there, so it must be encrypted.
pub(super) fn address(url: &Url, setting: &'static str) -> Result<Url, SettingsError> {
    if is_secure(url) { Ok(url.clone()) } else { Err(SettingsError { setting, reason: NOT_SECURE.to_owned() }) }
}

/// The URL of `path` at a provider, whose base URL is checked.
pub(super) fn address_of(path: &str, base_url: &Url, setting: &'static str) -> Result<Url, SettingsError> {
    Ok(below(&address(base_url, setting)?, path))
}

/// Returns the value of a setting that a configured provider requires.
pub(super) fn required<T: Clone>(value: Option<&T>, setting: &'static str) -> Result<T, SettingsError> {
    value.cloned().ok_or_else(|| SettingsError { setting, reason: "is not set".to_owned() })
}
