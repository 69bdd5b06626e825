//! The listed provider of a company: its own apps at a provider of the deployment, or a provider of its own.

use std::time::Duration;

use reqwest::Client;
use secrecy::SecretString;

use crate::kernel::clock::Clock;
use crate::kernel::lifecycle::Lifecycle;
use crate::providers::RouteName;
use crate::providers::identity::oidc::form::{Field, FurtherField, TokenField};
use crate::providers::identity::oidc::settings::email_verified;
use crate::providers::identity::oidc::{Form, Listed, Oidc, OidcSettings};
use crate::providers::identity::{OWN_TIMEOUT, OwnSettings, Provider, SettingsError};

/// What apps may send to a provider that the deployment does not list, besides the token and the nonce.
const FIELDS: [FurtherField; 2] = [FurtherField(Field::AuthorizationCode), FurtherField(Field::Name)];

impl Listed {
    /// The provider of a company in place of this one: apps send the same. If the company names no issuers, tokens are verified with the keys
    /// of this one.
    pub(in crate::providers::identity) fn of_company(
        &self,
        own: &OwnSettings,
        client: Client,
        clock: &Clock,
        lifecycle: &Lifecycle,
    ) -> Result<Self, SettingsError> {
        let mut settings = self.settings.clone();
        settings.take_over(own);
        let mut oidc = offered(&self.provider, &settings, client, clock, lifecycle)?;
        if let (false, Ok(listed)) = (own.has_issuer(), self.oidc.offered()) {
            oidc.tokens = oidc.tokens.with_keys_of(&listed.tokens);
        }
        Ok(Self::of(self.provider.clone(), settings, Some(oidc)))
    }

    /// A provider that the deployment does not list.
    pub(in crate::providers::identity) fn only_of_company(
        name: &RouteName,
        own: &OwnSettings,
        client: Client,
        clock: &Clock,
        lifecycle: &Lifecycle,
    ) -> Result<Self, SettingsError> {
        let (provider, mut settings) = (Provider::listed_as(name), OidcSettings::unlisted(name.clone(), OWN_TIMEOUT));
        settings.take_over(own);
        let oidc = offered(&provider, &settings, client, clock, lifecycle)?;
        Ok(Self::of(provider, settings, Some(oidc)))
    }
}

impl Form {
    /// What apps send to a provider that the deployment does not list.
    pub fn unlisted() -> Self {
        Self::new(&TokenField::default(), false, &FIELDS)
    }
}

/// A company's provider is offered, or its settings are wrong.
fn offered(
    provider: &Provider,
    settings: &OidcSettings,
    client: Client,
    clock: &Clock,
    lifecycle: &Lifecycle,
) -> Result<Oidc, SettingsError> {
    let offered = Oidc::new(provider, settings, client, clock, lifecycle)?;
    offered.ok_or_else(|| SettingsError::new("audiences", "is not set"))
}

impl OidcSettings {
    fn unlisted(name: RouteName, timeout: Duration) -> Self {
        Self {
            name,
            issuers: Vec::new(),
            audiences: None,
            client_ids: None,
            jwks_url: None,
            email_vouched_by: email_verified(),
            token_field: TokenField::default(),
            fields: FIELDS.to_vec(),
            client_id: None,
            client_secret: SecretString::default(),
            token_url: None,
            revoke_url: None,
            timeout,
        }
    }

    /// Replaces the apps, and what belongs to them. The secret of the deployment is never sent for the app of a company.
    fn take_over(&mut self, own: &OwnSettings) {
        match &mut self.client_ids {
            Some(apps) => *apps = own.audiences.clone(),
            None => self.audiences = Some(own.audiences.clone()),
        }
        // Grants go back where codes are exchanged.
        self.revoke_url = self.revoke_url.take().filter(|_| own.client_id.is_some() && own.token_url.is_none() && !own.has_issuer());
        let listed_token_url = self.token_url.take().filter(|_| own.client_id.is_some() && !own.has_issuer());
        self.token_url = own.token_url.clone().or(listed_token_url);
        self.client_id = own.client_id.clone();
        self.client_secret = own.client_secret.clone().unwrap_or_default();
        if own.has_issuer() {
            (self.issuers, self.jwks_url) = (own.issuers.clone(), own.jwks_url.clone());
        }
    }
}
