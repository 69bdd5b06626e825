//! The claims of a token, and the check against the current time, the provider and the configured apps: a pure function.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::providers::identity::Flaw;
use crate::providers::identity::oidc::nonce;

/// The tolerated difference between the clocks of a provider and of this service.
const LEEWAY: TimeDelta = TimeDelta::seconds(60);
/// The maximum age of a token, regardless of its `exp`. A short age limits the use of a stolen token.
const MAX_AGE: TimeDelta = TimeDelta::minutes(10);

/// The latest instant at which a token that is valid at `now` can still be valid: it was issued at most [`LEEWAY`] after `now`.
pub(super) fn latest_expiry(now: DateTime<Utc>) -> DateTime<Utc> {
    now + LEEWAY + MAX_AGE
}

/// The claims of an identity token. Instants are seconds since 1970, which may be fractional (RFC 7519).
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Claims {
    iss: String,
    pub(super) sub: String,
    aud: Audience,
    pub(super) azp: Option<String>,
    exp: f64,
    iat: f64,
    nbf: Option<f64>,
    pub(super) nonce: Option<String>,
    pub(super) email: Option<String>,
    pub(super) name: Option<String>,
    /// All other claims. Which of them vouch for the address is a setting of the provider.
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Claims {
    /// Refuses a token that is not from one of these issuers, not for exactly one of these apps, or not valid now.
    pub(super) fn judge(&self, issuers: &[String], apps: &[String], now: DateTime<Utc>) -> Result<(), Flaw> {
        let is_ours = |app: &str| apps.iter().any(|ours| ours == app);
        if !issuers.contains(&self.iss) {
            return Err(Flaw::Issuer);
        }
        // A token for several apps may have been sent by another one of them.
        if !self.audience().is_some_and(is_ours) {
            return Err(Flaw::Audience);
        }
        if self.azp.as_deref().is_some_and(|app| !is_ours(app)) {
            return Err(Flaw::AuthorizedParty);
        }
        if self.exp <= seconds(now - LEEWAY) {
            return Err(Flaw::Expired);
        }
        if self.iat.max(self.nbf.unwrap_or(self.iat)) > seconds(now + LEEWAY) {
            return Err(Flaw::NotYetValid);
        }
        if self.iat < seconds(now - MAX_AGE) {
            return Err(Flaw::TooOld);
        }
        Ok(())
    }

    /// Refuses a token that is about somebody else than the app says, or that was asked for with another nonce. A token may have a nonce that the
    /// app does not know.
    pub(super) fn compare(&self, user_id: Option<&str>, nonce: Option<&str>) -> Result<(), Flaw> {
        if user_id.is_some_and(|id| id != self.sub) {
            return Err(Flaw::Subject);
        }
        let is_right = |sent: &str| self.nonce.as_deref().is_some_and(|claim| nonce::is_of(claim, sent));
        if nonce.is_none_or(is_right) { Ok(()) } else { Err(Flaw::Nonce) }
    }

    /// Whether one of these claims is true. Some providers send `true` as a string.
    pub(super) fn vouch(&self, claims: &[String]) -> bool {
        claims.iter().filter_map(|claim| self.others.get(claim)).any(|value| *value == Value::Bool(true) || *value == "true")
    }

    /// Returns the app that the token is for, if it is for one app only.
    pub(super) fn audience(&self) -> Option<&str> {
        match &self.aud {
            Audience::One(app) => Some(app),
            Audience::Several(apps) => match apps.as_slice() {
                [app] => Some(app),
                _ => None,
            },
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^53, the limit of exact integers in a float")]
fn seconds(at: DateTime<Utc>) -> f64 {
    at.timestamp() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Judges a valid token with one claim replaced (`null`: removed).
    fn judged(claim: &str, value: Value) -> Result<(), Flaw> {
        let now = DateTime::from_timestamp(1_000_000, 0).unwrap();
        let mut claims = json!({ "iss": "https://idp", "sub": "1", "aud": "app", "exp": 1_000_600, "iat": 1_000_000 });
        claims[claim] = value;
        claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        let claims: Claims = serde_json::from_value(claims).map_err(|_| Flaw::Malformed)?;
        claims.judge(&["https://idp".to_owned(), "idp".to_owned()], &["app".to_owned(), "web".to_owned()], now)
    }

    #[test]
    fn a_token_is_about_this_moment_its_provider_and_one_of_our_apps() {
        for (claim, value, judgement) in [
            ("iss", json!("https://idp"), Ok(())),
            ("iss", json!("idp"), Ok(())),
            ("iss", json!("https://idp/"), Err(Flaw::Issuer)),
            ("iss", json!("https://other"), Err(Flaw::Issuer)),
            ("iss", json!(null), Err(Flaw::Malformed)),
            ("aud", json!("web"), Ok(())),
            ("aud", json!(["app"]), Ok(())),
            ("aud", json!("other"), Err(Flaw::Audience)),
            ("aud", json!("APP"), Err(Flaw::Audience)),
            ("aud", json!(["app", "other"]), Err(Flaw::Audience)),
            ("aud", json!(["app", "web"]), Err(Flaw::Audience)),
            ("aud", json!([]), Err(Flaw::Audience)),
            ("aud", json!(null), Err(Flaw::Malformed)),
            ("azp", json!("web"), Ok(())),
            ("azp", json!("other"), Err(Flaw::AuthorizedParty)),
            ("exp", json!(1_000_000), Ok(())),
            ("exp", json!(999_941), Ok(())),
            ("exp", json!(999_940.5), Ok(())),
            ("exp", json!(999_940), Err(Flaw::Expired)),
            ("exp", json!(-1), Err(Flaw::Expired)),
            ("exp", json!(null), Err(Flaw::Malformed)),
            ("exp", json!("1000600"), Err(Flaw::Malformed)),
            ("nbf", json!(1_000_060), Ok(())),
            ("nbf", json!(1_000_061), Err(Flaw::NotYetValid)),
            ("iat", json!(1_000_060), Ok(())),
            ("iat", json!(1_000_061), Err(Flaw::NotYetValid)),
            ("iat", json!(999_400), Ok(())),
            ("iat", json!(999_399), Err(Flaw::TooOld)),
            ("iat", json!(null), Err(Flaw::Malformed)),
            ("sub", json!(null), Err(Flaw::Malformed)),
            ("sub", json!(1), Err(Flaw::Malformed)),
        ] {
            assert_eq!(judged(claim, value.clone()), judgement, "{claim} {value}");
        }
    }

    #[test]
    fn an_address_is_vouched_for_only_by_an_explicit_claim() {
        for (value, is_verified) in [
            (json!(true), true),
            (json!("true"), true),
            (json!(false), false),
            (json!("false"), false),
            (json!(1), false),
            (json!("yes"), false),
        ] {
            let claims = json!({ "iss": "", "sub": "", "aud": "", "exp": 0, "iat": 0, "email_verified": value });
            let claims: Claims = serde_json::from_value(claims).unwrap();
            let vouch = |names: &[&str]| claims.vouch(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
            assert_eq!(vouch(&["email_verified"]), is_verified, "{value}");
            assert_eq!(vouch(&["domain_verified", "email_verified"]), is_verified, "{value}");
            assert!(!vouch(&["domain_verified"]) && !vouch(&[]), "{value}");
        }
    }
}
