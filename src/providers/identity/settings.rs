//! What the settings of the three providers have in common: all of a provider's keys or none, addresses that cannot be listened to.

use url::Url;

use crate::providers::RouteName;
use crate::providers::address::{OVERHEARD, is_out_of_hearing};

/// A provider's settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{setting} {reason}")]
pub struct BadSettings {
    /// The key.
    pub setting: String,
    /// What is wrong with it.
    pub reason: String,
}

impl BadSettings {
    pub(super) fn new(setting: &str, reason: impl Into<String>) -> Self {
        Self { setting: setting.to_owned(), reason: reason.into() }
    }
}

/// Whether these keys are set, all of them; some without the others are a mistake.
pub(super) fn all_or_none(keys: &[(&str, bool)]) -> Result<bool, BadSettings> {
    if keys.iter().all(|(_, is_set)| !is_set) {
        return Ok(false);
    }
    match keys.iter().find(|(_, is_set)| !is_set) {
        Some((missing, _)) => Err(BadSettings::new(missing, "is not set, but others beside it are")),
        None => Ok(true),
    }
}

/// The value of a key that has to be set.
pub(super) fn required<T>(setting: &str, value: Option<T>) -> Result<T, BadSettings> {
    value.ok_or_else(|| BadSettings::new(setting, "is not set"))
}

/// The address of a provider. Keys and secrets travel there: nobody on the way may read or change them.
pub(super) fn address(setting: &str, url: Option<&Url>) -> Result<Url, BadSettings> {
    let url = required(setting, url)?;
    if is_out_of_hearing(url) { Ok(url.clone()) } else { Err(BadSettings::new(setting, OVERHEARD)) }
}

/// Names are parts of routes: `login-with-<name>` may stand for one thing only.
pub(super) fn tell_apart(providers: [(&str, &RouteName); 3]) -> Result<(), BadSettings> {
    let mut taken = vec!["sms".to_owned()];
    taken.extend(providers.map(|(neutral, _)| neutral.to_owned()));
    for (neutral, name) in providers {
        let name = name.to_string();
        if name != neutral && taken.contains(&name) {
            let setting = format!("providers.{}.name", neutral.replace('-', "_"));
            return Err(BadSettings { setting, reason: format!("cannot be \"{name}\", which names another sign-in") });
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
