//! The validation that the settings of the providers share: all keys of a provider are set or none, URLs use `https`, and names are
//! distinct.

use url::Url;

use crate::providers::RouteName;
use crate::providers::address::{NOT_SECURE, is_secure};
use crate::providers::identity::Provider;

/// The settings of a provider are invalid.
#[derive(Debug, thiserror::Error)]
#[error("{setting} {reason}")]
pub struct SettingsError {
    /// The full key of the setting, such as `providers.idp_a.name`.
    pub setting: String,
    /// What follows the setting in the message: `is not set`.
    pub reason: String,
}

impl SettingsError {
    pub(in crate::providers) fn new(setting: &str, reason: impl Into<String>) -> Self {
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

pub(super) fn without_empty_items(setting: &str, list: &[String]) -> Result<(), SettingsError> {
    let has_one = list.iter().any(|item| item.trim().is_empty());
    if has_one { Err(SettingsError::new(setting, "has an empty item")) } else { Ok(()) }
}

pub(super) fn required<T>(setting: &str, value: Option<T>) -> Result<T, SettingsError> {
    value.ok_or_else(|| SettingsError::new(setting, "is not set"))
}

/// Checks the URL of a provider. It must use `https`, because keys and secrets are sent there. `http` is allowed for loopback
/// addresses.
pub(super) fn address(setting: &str, url: Option<&Url>) -> Result<Url, SettingsError> {
    let url = required(setting, url)?;
    if is_secure(url) { Ok(url.clone()) } else { Err(SettingsError::new(setting, NOT_SECURE)) }
}

/// The words of the audit for other ways to sign in, and of links that no provider vouches for. They name no provider.
pub(super) const OTHER_WAYS: [&str; 8] =
    ["registration", "code", "password", "password-reset", "totp", "recovery-code", "passkey", "claimed-idp-c"];

/// Checks that the names of the providers are distinct, because they are part of the routes `login-with-<name>`.
pub(super) fn tell_apart(providers: &[(Provider, &RouteName)]) -> Result<(), SettingsError> {
    let refused = |provider: &Provider, name: &str| {
        SettingsError::new(&provider.setting("name"), format!("cannot be \"{name}\", which is the name of another sign-in method"))
    };
    let mut taken = vec!["sms".to_owned()];
    for (provider, _) in providers {
        let neutral = provider.neutral_name();
        if OTHER_WAYS.contains(&neutral.as_str()) || taken.contains(&neutral) {
            return Err(refused(provider, &neutral));
        }
        taken.push(neutral);
    }
    for (provider, name) in providers {
        let name = name.to_string();
        if name != provider.neutral_name() && taken.contains(&name) {
            return Err(refused(provider, &name));
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
            let (idp_a, idp_b) = (Provider::of_settings("idp_a"), Provider::of_settings("idp_b"));
            tell_apart(&[(idp_a, &a), (idp_b, &b), (Provider::IDP_C, &c)])
        };
        assert!(check("idp-a", "idp-b", "idp-c").is_ok());
        assert!(check("acme", "beta-id", "idp-c").is_ok());
        assert_eq!(check("acme", "acme", "idp-c").unwrap_err().setting, "providers.idp_b.name");
        assert_eq!(check("idp-a", "idp-a", "idp-c").unwrap_err().setting, "providers.idp_b.name");
        assert_eq!(check("idp-a", "sms", "idp-c").unwrap_err().setting, "providers.idp_b.name");
        assert_eq!(check("idp-b", "idp-a", "idp-c").unwrap_err().setting, "providers.idp_a.name");
    }
    #[test]
    fn a_provider_is_not_called_like_another_way_to_sign_in() {
        for other in ["sms", "code", "password", "password-reset", "passkey", "registration", "totp", "claimed-idp-c", "idp-c"] {
            let name = RouteName::try_from(other.to_owned()).unwrap();
            let (listed, idp_c) = (Provider::listed_as(&name), RouteName::try_from("idp-c".to_owned()).unwrap());
            let refused = tell_apart(&[(listed, &name), (Provider::IDP_C, &idp_c)]).unwrap_err();
            assert_eq!(refused.reason, format!("cannot be \"{other}\", which is the name of another sign-in method"));
        }
    }
}
