//! The validation that the settings of the providers share: all keys of a provider are set or none, and URLs use `https`.

use url::Url;

use crate::providers::RouteName;
use crate::providers::address::{NOT_SECURE, is_secure};

/// The settings of a provider are invalid.
#[derive(Debug, thiserror::Error)]
#[error("{setting} {reason}")]
pub struct SettingsError {
    /// The key of the setting.
    pub setting: String,
    /// The fault.
    pub reason: String,
}

impl SettingsError {
    pub(super) fn new(setting: &str, reason: impl Into<String>) -> Self {
        Self { setting: setting.to_owned(), reason: reason.into() }
    }
}

/// Returns whether all of the keys are set. Fails if only some of them are.
pub(super) fn all_or_none(keys: &[(&str, bool)]) -> Result<bool, SettingsError> {
    if keys.iter().all(|(_, is_set)| !is_set) {
        return Ok(false);
    }
    match keys.iter().find(|(_, is_set)| !is_set) {
        Some((missing, _)) => Err(SettingsError::new(missing, "is not set, but other settings of the provider are")),
        None => Ok(true),
    }
}

/// Returns the value of a required key.
pub(super) fn required<T>(setting: &str, value: Option<T>) -> Result<T, SettingsError> {
    value.ok_or_else(|| SettingsError::new(setting, "is not set"))
}

/// Checks the URL of a provider. It must use `https`, because keys and secrets are sent there. `http` is allowed for loopback
/// addresses.
pub(super) fn address(setting: &str, url: Option<&Url>) -> Result<Url, SettingsError> {
    let url = required(setting, url)?;
    if is_secure(url) { Ok(url.clone()) } else { Err(SettingsError::new(setting, NOT_SECURE)) }
}

/// Checks that the names of the providers are distinct, because they are part of the routes `login-with-<name>`.
pub(super) fn tell_apart(providers: [(&str, &RouteName); 3]) -> Result<(), SettingsError> {
    let mut taken = vec!["sms".to_owned()];
    taken.extend(providers.map(|(neutral, _)| neutral.to_owned()));
    for (neutral, name) in providers {
        let name = name.to_string();
        if name != neutral && taken.contains(&name) {
            let setting = format!("providers.{}.name", neutral.replace('-', "_"));
            return Err(SettingsError { setting, reason: format!("cannot be \"{name}\", which is the name of another sign-in method") });
        }
        taken.push(name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_has_all_its_keys_or_none() {
        assert!(!all_or_none(&[("a", false), ("b", false)]).unwrap());
        assert!(all_or_none(&[("a", true), ("b", true)]).unwrap());
        assert_eq!(all_or_none(&[("a", true), ("b", false)]).unwrap_err().setting, "b");
    }

    #[test]
    fn two_sign_ins_never_share_a_route() {
        let check = |a: &str, b: &str, c: &str| {
            let [a, b, c] = [a, b, c].map(|name| RouteName::try_from(name.to_owned()).unwrap());
            tell_apart([("idp-a", &a), ("idp-b", &b), ("idp-c", &c)])
        };
        assert!(check("idp-a", "idp-b", "idp-c").is_ok());
        assert!(check("acme", "beta-id", "idp-c").is_ok());
        assert_eq!(check("acme", "acme", "idp-c").unwrap_err().setting, "providers.idp_b.name");
        assert_eq!(check("idp-a", "idp-a", "idp-c").unwrap_err().setting, "providers.idp_b.name");
        assert_eq!(check("idp-a", "sms", "idp-c").unwrap_err().setting, "providers.idp_b.name");
        assert_eq!(check("idp-b", "idp-a", "idp-c").unwrap_err().setting, "providers.idp_a.name");
    }
}
