//! The settings of the challenge. They are complete or there is none.

use std::str::FromStr;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use crate::kernel::settings;
use crate::providers::address::{NOT_SECURE, is_secure};

/// `[storefront.challenge]`
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Keys")]
pub struct Settings(pub(super) Option<Configured>);

/// A challenge that is asked for.
#[derive(Clone, Debug)]
pub(super) struct Configured {
    pub(super) kind: Kind,
    pub(super) verify_url: Url,
    pub(super) site_key: Option<String>,
    pub(super) secret: SecretString,
    /// The pages and apps whose tokens are taken. Empty: any.
    pub(super) hostnames: Vec<String>,
    pub(super) least_score: f64,
    pub(super) action: Option<String>,
    pub(super) timeout: Duration,
    pub(super) when_unavailable: WhenUnavailable,
}

/// What an app has to solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Cloudflare's.
    Turnstile,
    /// hCaptcha's.
    Hcaptcha,
    /// Google's, version 2 or 3.
    Recaptcha,
    /// The attestation of the app by its system, which a service of the operator judges.
    Attestation,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Turnstile, Self::Hcaptcha, Self::Recaptcha, Self::Attestation];

    /// The word in the settings and for apps.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Turnstile => "turnstile",
            Self::Hcaptcha => "hcaptcha",
            Self::Recaptcha => "recaptcha",
            Self::Attestation => "attestation",
        }
    }

    /// Where its provider verifies tokens.
    fn usual_url(self) -> Option<&'static str> {
        match self {
            Self::Turnstile => Some("https://challenges.cloudflare.com/turnstile/v0/siteverify"),
            Self::Hcaptcha => Some("https://api.hcaptcha.com/siteverify"),
            Self::Recaptcha => Some("https://www.google.com/recaptcha/api/siteverify"),
            Self::Attestation => None,
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        named.ok_or_else(|| format!("the kind of a challenge must be one of {}", Self::ALL.map(Self::as_str).join(", ")))
    }
}

/// What is done with a request whose token nobody can verify at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenUnavailable {
    /// It is treated as if nothing could be asked for: every limit holds.
    Allow,
    /// It is refused.
    Refuse,
}

/// The keys as they are written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    #[serde(deserialize_with = "settings::optional")]
    kind: Option<Kind>,
    #[serde(deserialize_with = "settings::optional")]
    verify_url: Option<Url>,
    #[serde(deserialize_with = "settings::optional")]
    site_key: Option<String>,
    secret: SecretString,
    #[serde(deserialize_with = "settings::list")]
    hostnames: Vec<String>,
    least_score: f64,
    #[serde(deserialize_with = "settings::optional")]
    action: Option<String>,
    #[serde(deserialize_with = "settings::time")]
    timeout: Duration,
    when_unavailable: WhenUnavailable,
}

impl TryFrom<Keys> for Settings {
    type Error = String;

    fn try_from(keys: Keys) -> Result<Self, String> {
        let Some(kind) = keys.kind else { return Ok(Self(None)) };
        let usual = || kind.usual_url().map(|url| url.parse().expect("the addresses of the providers are URLs"));
        let verify_url = keys.verify_url.or_else(usual).ok_or("storefront.challenge.verify_url is not set")?;
        if !is_secure(&verify_url) {
            return Err(format!("storefront.challenge.verify_url {NOT_SECURE}"));
        }
        if keys.secret.expose_secret().is_empty() {
            return Err("storefront.challenge.secret is not set".to_owned());
        }
        if keys.site_key.is_none() && kind != Kind::Attestation {
            return Err("storefront.challenge.site_key is not set".to_owned());
        }
        if !(0.0..=1.0).contains(&keys.least_score) {
            return Err("storefront.challenge.least_score must be from 0 to 1".to_owned());
        }
        let Keys { site_key, secret, hostnames, least_score, action, timeout, when_unavailable, .. } = keys;
        let hostnames = hostnames.iter().map(|name| name.to_ascii_lowercase()).collect();
        let configured = Configured { kind, verify_url, site_key, secret, hostnames, least_score, action, timeout, when_unavailable };
        Ok(Self(Some(configured)))
    }
}
