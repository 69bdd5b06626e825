//! The settings of a listed provider.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer};
use url::Url;

use crate::kernel::settings;
use crate::providers::RouteName;
use crate::providers::address::{NOT_SECURE, is_secure};
use crate::providers::identity::oidc::form::{Field, Form, FurtherField, TokenField};
use crate::providers::identity::settings::{address, all_or_none, required, without_empty_items};
use crate::providers::identity::{Provider, SettingsError};

/// An entry of `[[providers.oidc]]`: `docs/identity-providers.md`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OidcSettings {
    /// The name of the provider in this deployment.
    pub name: RouteName,
    /// The accepted values of `iss`.
    #[serde(default, deserialize_with = "settings::list")]
    pub issuers: Vec<String>,
    /// The ids of the apps at the provider (accepted values of `aud` and `azp`).
    #[serde(default, deserialize_with = "given_list")]
    pub audiences: Option<Vec<String>>,
    /// The same, for apps that send their own id.
    #[serde(default, deserialize_with = "given_list")]
    pub client_ids: Option<Vec<String>>,
    /// The URL of the provider's keys.
    #[serde(default, deserialize_with = "settings::optional")]
    pub jwks_url: Option<Url>,
    /// The claims that vouch for the address: one of them must be true.
    #[serde(default = "email_verified", deserialize_with = "settings::list")]
    pub email_vouched_by: Vec<String>,
    /// The name of the field with the identity token.
    #[serde(default)]
    pub token_field: TokenField,
    /// The fields that a request may have besides the token and the nonce.
    #[serde(default, deserialize_with = "settings::list")]
    pub fields: Vec<FurtherField>,
    /// The client id for the exchange of authorization codes.
    #[serde(default, deserialize_with = "settings::optional")]
    pub client_id: Option<String>,
    /// The client secret for the exchange of authorization codes.
    #[serde(default)]
    pub client_secret: SecretString,
    /// The token endpoint, where authorization codes are exchanged.
    #[serde(default, deserialize_with = "settings::optional")]
    pub token_url: Option<Url>,
    /// The revocation endpoint (RFC 7009), where grants are revoked when an account is closed.
    #[serde(default, deserialize_with = "settings::optional")]
    pub revoke_url: Option<Url>,
    /// The timeout of requests to the provider.
    #[serde(default = "five_seconds", deserialize_with = "settings::time")]
    pub timeout: Duration,
}

fn given_list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    settings::list(deserializer).map(Some)
}

pub(super) fn email_verified() -> Vec<String> {
    vec!["email_verified".to_owned()]
}

fn five_seconds() -> Duration {
    Duration::from_secs(5)
}

/// What the settings of a provider that is offered say about its tokens.
pub(in crate::providers::identity) struct TokenRules {
    pub(super) issuers: Vec<String>,
    pub(super) apps: Vec<String>,
    pub(super) jwks_url: Url,
    /// The claims that vouch for the address.
    pub(super) vouching: Vec<String>,
    pub(super) exchange: Option<ExchangeSettings>,
}

impl TokenRules {
    /// Rules for a provider that vouches for no address and exchanges no codes. Its apps are named later.
    pub(in crate::providers::identity) fn of_issuers(issuers: Vec<String>, jwks_url: Url) -> Self {
        Self { issuers, apps: Vec::new(), jwks_url, vouching: Vec::new(), exchange: None }
    }
}

/// What the settings of a provider that browsers sign in with say.
pub(super) struct FlowRules {
    pub(super) tokens: TokenRules,
    pub(super) issuer: String,
    pub(super) client_id: String,
}

/// Where and as whom authorization codes are exchanged.
#[derive(Clone, Debug)]
pub(super) struct ExchangeSettings {
    pub(super) token_url: Url,
    pub(super) client_id: String,
    pub(super) client_secret: SecretString,
    /// The revocation endpoint.
    pub(super) revoke_url: Option<Url>,
}

impl OidcSettings {
    /// What apps send.
    pub(super) fn form(&self) -> Form {
        Form::new(&self.token_field, self.client_ids.is_some(), &self.fields)
    }

    /// Checks the settings. Returns `None` if the provider is not offered: nothing says where its tokens come from.
    pub(super) fn rules(&self, provider: &Provider) -> Result<Option<TokenRules>, SettingsError> {
        match self.token_rules(provider)? {
            Some(rules) => Ok(Some(TokenRules { exchange: self.exchange(provider)?, ..rules })),
            None => Ok(None),
        }
    }

    /// Checks the settings of a provider that browsers sign in with. The token endpoint is discovered.
    pub(super) fn flow_rules(&self, provider: &Provider) -> Result<FlowRules, SettingsError> {
        let setting = |key: &str| provider.setting(key);
        let Some(tokens) = self.token_rules(provider)? else { return Err(SettingsError::new(&setting("issuers"), "is not set")) };
        let client_id = required(&setting("client_id"), self.client_id.clone())?;
        if !tokens.apps.contains(&client_id) {
            return Err(SettingsError::new(&setting("client_id"), "is not among the apps of the provider"));
        }
        if self.client_secret.expose_secret().is_empty() {
            return Err(SettingsError::new(&setting("client_secret"), "is not set"));
        }
        let [issuer] = tokens.issuers.as_slice() else {
            return Err(SettingsError::new(&setting("issuers"), "must be one, whose discovery document says where its pages are"));
        };
        match issuer.parse().ok().filter(is_secure) {
            Some(_) => Ok(FlowRules { issuer: issuer.clone(), client_id, tokens }),
            None => Err(SettingsError::new(&setting("issuers"), NOT_SECURE)),
        }
    }

    fn token_rules(&self, provider: &Provider) -> Result<Option<TokenRules>, SettingsError> {
        let setting = |key: &str| provider.setting(key);
        let (apps_key, apps) = match (&self.audiences, &self.client_ids) {
            (Some(apps), None) => (setting("audiences"), apps),
            (None, Some(apps)) => (setting("client_ids"), apps),
            (Some(_), Some(_)) => return Err(SettingsError::new(&setting("client_ids"), "cannot stand beside audiences: choose one")),
            (None, None) => return Err(SettingsError::new(&setting("audiences"), "is not set, and neither is client_ids: choose one")),
        };
        for (key, list) in
            [(setting("issuers"), &self.issuers), (apps_key.clone(), apps), (setting("email_vouched_by"), &self.email_vouched_by)]
        {
            without_empty_items(&key, list)?;
        }
        let is_offered = all_or_none(&[
            (&setting("issuers"), !self.issuers.is_empty()),
            (&apps_key, !apps.is_empty()),
            (&setting("jwks_url"), self.jwks_url.is_some()),
        ])?;
        if !is_offered {
            return Ok(None);
        }
        let jwks_url = address(&setting("jwks_url"), self.jwks_url.as_ref())?;
        let (issuers, apps, vouching) = (self.issuers.clone(), apps.clone(), self.email_vouched_by.clone());
        Ok(Some(TokenRules { issuers, apps, jwks_url, vouching, exchange: None }))
    }

    fn exchange(&self, provider: &Provider) -> Result<Option<ExchangeSettings>, SettingsError> {
        let setting = |key: &str| provider.setting(key);
        let exchanges = all_or_none(&[
            (&setting("client_id"), self.client_id.is_some()),
            (&setting("client_secret"), !self.client_secret.expose_secret().is_empty()),
            (&setting("token_url"), self.token_url.is_some()),
        ])?;
        if !exchanges {
            return match self.revoke_url {
                Some(_) => Err(SettingsError::new(&setting("revoke_url"), "is set, but no codes are exchanged")),
                None => Ok(None),
            };
        }
        if !self.fields.contains(&FurtherField(Field::AuthorizationCode)) {
            return Err(SettingsError::new(&setting("fields"), "must have \"authorization_code\", because codes are exchanged"));
        }
        let token_url = address(&setting("token_url"), self.token_url.as_ref())?;
        let client_id = required(&setting("client_id"), self.client_id.clone())?;
        let revoke_url = self.revoke_url.as_ref().map(|url| address(&setting("revoke_url"), Some(url))).transpose()?;
        Ok(Some(ExchangeSettings { token_url, client_id, client_secret: self.client_secret.clone(), revoke_url }))
    }
}
