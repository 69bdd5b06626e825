//! What a token says, and whether it is about this moment, its provider and one of our apps: a pure function.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// How far a provider's clock and ours may lie apart.
const LEEWAY: TimeDelta = TimeDelta::seconds(60);
/// How old a token may be, whatever its own end: the shorter, the less a stolen one is worth.
const MAX_AGE: TimeDelta = TimeDelta::minutes(10);

/// When a token that is judged good at `now` is too old for certain: it was issued no later than the leeway allows.
pub(super) fn too_old_at(now: DateTime<Utc>) -> DateTime<Utc> {
    now + LEEWAY + MAX_AGE
}

/// What is wrong with a proof. For the log alone: a caller is not told which lock held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// No token, or one without the claims it needs.
    #[error("it is not an identity token")]
    Malformed,
    /// The key it names is not published by the provider.
    #[error("its key is unknown")]
    Key,
    /// Its algorithm is not the one its key is for.
    #[error("its algorithm is not its key's")]
    Algorithm,
    /// Its signature is not of its key.
    #[error("its signature is wrong")]
    Signature,
    /// It is of another issuer.
    #[error("its issuer is not the provider")]
    Issuer,
    /// It is for another app, or not for one of ours alone.
    #[error("its audience is not one of our apps")]
    Audience,
    /// It was issued to another app.
    #[error("the app it was issued to is not one of ours")]
    AuthorizedParty,
    /// It is past its end.
    #[error("it has expired")]
    Expired,
    /// It begins, or was issued, in the future.
    #[error("it is not valid yet")]
    NotYetValid,
    /// It was issued more than ten minutes ago.
    #[error("it is too old")]
    TooOld,
    /// It has signed somebody in before.
    #[error("it was used before")]
    Used,
    /// It was not issued for this nonce.
    #[error("its nonce is another one")]
    Nonce,
    /// It names nobody, or somebody else than the request does.
    #[error("it is about somebody else")]
    Subject,
    /// What proves it further is missing: an authorization code, an access token.
    #[error("a further proof is missing")]
    Incomplete,
    /// The provider was asked and does not stand by it.
    #[error("the provider does not confirm it")]
    NotConfirmed,
}

/// A provider's own name for a person: 1 to 255 visible ASCII characters, as OpenID Connect bounds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject(String);

impl Subject {
    pub(super) fn parse(text: &str) -> Result<Self, Flaw> {
        let is_subject = (1..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_subject { Ok(Self(text.to_owned())) } else { Err(Flaw::Subject) }
    }

    /// The name itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The claims of an identity token. Instants are seconds since 1970, which RFC 7519 lets be fractions.
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
    #[serde(default, deserialize_with = "is_true")]
    pub(super) email_verified: bool,
    pub(super) name: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

/// Some providers write `true` as text.
fn is_true<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Bool(value) => value,
        Value::String(text) => text == "true",
        _ => false,
    })
}

impl Claims {
    /// Refuses a token that is not of one of these issuers, for exactly one of these apps, and of this moment.
    pub(super) fn judge(&self, issuers: &[String], apps: &[String], now: DateTime<Utc>) -> Result<(), Flaw> {
        let is_ours = |app: &str| apps.iter().any(|ours| ours == app);
        if !issuers.contains(&self.iss) {
            return Err(Flaw::Issuer);
        }
        // A token that another app may use as well may have come from that app.
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

    /// The app the token is for, if it is for one alone.
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

#[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below the 2^53 that a float tells apart")]
fn seconds(at: DateTime<Utc>) -> f64 {
    at.timestamp() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The judgement over a good token, but for one claim (`null`: absent).
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
    fn an_address_is_vouched_for_only_in_plain_words() {
        for (value, is_verified) in [
            (json!(true), true),
            (json!("true"), true),
            (json!(false), false),
            (json!("false"), false),
            (json!(1), false),
            (json!("yes"), false),
        ] {
            let claims = json!({ "iss": "", "sub": "", "aud": "", "exp": 0, "iat": 0, "email_verified": value });
            assert_eq!(serde_json::from_value::<Claims>(claims).unwrap().email_verified, is_verified, "{value}");
        }
    }

    #[test]
    fn a_subject_is_visible_ascii() {
        assert!(Subject::parse("001999.0123abcd.0456").is_ok() && Subject::parse(&"1".repeat(255)).is_ok());
        for text in ["", " ", "1 2", "1\0", "größe", "1\n", &"1".repeat(256)] {
            assert_eq!(Subject::parse(text), Err(Flaw::Subject), "{text:?}");
        }
    }
}
