//! What the answer to a token means: a pure function.

use serde::Deserialize;

use crate::providers::challenge::VerifyError;
use crate::providers::challenge::settings::Configured;

/// The service cannot say anything about this token.
pub(super) const INTERNAL_ERROR: &str = "internal-error";
/// Errors that do not say whether the token is good: the secret is wrong, or the service could not find out.
const NOT_ABOUT_THE_TOKEN: [&str; 3] = ["missing-input-secret", "invalid-input-secret", INTERNAL_ERROR];

/// Why a token does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// The service does not vouch for it: it is made up, too old or was used before.
    #[error("the service does not vouch for the token")]
    NotVouchedFor,
    /// It was solved on another page, or in another app.
    #[error("the token is for another host")]
    OtherHost,
    /// It was solved for something else.
    #[error("the token is for another action")]
    OtherAction,
    /// It was probably a program that solved it.
    #[error("the score of the token is too low")]
    LowScore,
}

/// The answer of `siteverify`, as Turnstile, hCaptcha and reCAPTCHA document it.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Answer {
    success: bool,
    #[serde(default, rename = "error-codes")]
    error_codes: Vec<String>,
    hostname: Option<String>,
    /// From 0 to 1, of reCAPTCHA's version 3 and of some plans of the others.
    score: Option<f64>,
    action: Option<String>,
}

/// Judges an answer.
pub(super) fn judge(configured: &Configured, answer: Answer) -> Result<Result<(), Flaw>, VerifyError> {
    if let Some(code) = answer.error_codes.iter().find_map(|code| NOT_ABOUT_THE_TOKEN.into_iter().find(|known| known == code)) {
        return Err(VerifyError::OutOfOrder(code));
    }
    let Configured { hostnames, least_score, action, .. } = configured;
    let is_host = answer.hostname.as_ref().is_some_and(|host| hostnames.contains(&host.to_ascii_lowercase()));
    let flaw = if !answer.success {
        Some(Flaw::NotVouchedFor)
    } else if !hostnames.is_empty() && !is_host {
        Some(Flaw::OtherHost)
    } else if action.is_some() && answer.action != *action {
        Some(Flaw::OtherAction)
    } else if answer.score.is_some_and(|score| score < *least_score) {
        Some(Flaw::LowScore)
    } else {
        None
    };
    Ok(flaw.map_or(Ok(()), Err))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::providers::challenge::Settings;

    /// The settings with some keys changed.
    fn settings(changes: Value) -> Result<Settings, String> {
        let mut keys = json!({
            "kind": "recaptcha", "verify_url": "", "site_key": "key", "secret": "secret", "hostnames": [], "least_score": 0.5, "action": "",
            "timeout": "2s", "when_unavailable": "allow",
        });
        keys.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        serde_json::from_value(keys).map_err(|error| error.to_string())
    }

    fn judged(changes: Value, answer: Value) -> Result<Result<(), Flaw>, VerifyError> {
        judge(&settings(changes).unwrap().0.unwrap(), serde_json::from_value(answer).unwrap())
    }

    #[test]
    fn only_what_the_service_vouches_for_counts() {
        assert_eq!(judged(json!({}), json!({ "success": true })).unwrap(), Ok(()));
        for code in ["invalid-input-response", "timeout-or-duplicate", "already-seen-response", "bad-request"] {
            let refused = judged(json!({}), json!({ "success": false, "error-codes": [code] }));
            assert_eq!(refused.unwrap(), Err(Flaw::NotVouchedFor), "{code}");
        }
        for code in NOT_ABOUT_THE_TOKEN {
            assert!(judged(json!({}), json!({ "success": false, "error-codes": [code] })).is_err(), "{code}");
        }
    }

    #[test]
    fn host_action_and_score_are_those_of_the_settings() {
        let of_hosts = |answer| judged(json!({ "hostnames": ["Shop.example", "app.example"] }), answer).unwrap();
        assert_eq!(of_hosts(json!({ "success": true, "hostname": "SHOP.example" })), Ok(()));
        assert_eq!(of_hosts(json!({ "success": true, "hostname": "evil.example" })), Err(Flaw::OtherHost));
        assert_eq!(of_hosts(json!({ "success": true })), Err(Flaw::OtherHost));
        let of_action = |answer| judged(json!({ "action": "sign-in" }), answer).unwrap();
        assert_eq!(of_action(json!({ "success": true, "action": "sign-in" })), Ok(()));
        assert_eq!(of_action(json!({ "success": true })), Err(Flaw::OtherAction));
        assert_eq!(judged(json!({}), json!({ "success": true, "score": 0.4 })).unwrap(), Err(Flaw::LowScore));
        assert_eq!(judged(json!({ "least_score": 0.3 }), json!({ "success": true, "score": 0.4 })).unwrap(), Ok(()));
    }

    #[test]
    fn a_challenge_is_complete_or_there_is_none() {
        let refused = |changes: Value| settings(changes).unwrap_err();
        assert!(settings(json!({ "kind": "", "secret": "" })).unwrap().0.is_none());
        assert!(refused(json!({ "secret": "" })).contains("secret is not set"));
        assert!(refused(json!({ "site_key": "" })).contains("site_key is not set"));
        assert!(refused(json!({ "verify_url": "http://verify.example" })).contains("https://"));
        assert!(refused(json!({ "least_score": 2 })).contains("from 0 to 1"));
        assert!(refused(json!({ "kind": "attestation", "site_key": "" })).contains("verify_url is not set"));
        assert!(refused(json!({ "kind": "riddle" })).contains("one of turnstile, hcaptcha"));
    }
}
