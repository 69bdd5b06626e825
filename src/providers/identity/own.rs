//! Providers of companies. The stores of a company offer its own providers in place of those of the deployment: the same provider with the
//! company's own apps, or another one. So a token that was issued to the app of one company does not open the store of another.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::kernel::clock::Clock;
use crate::kernel::lifecycle::Lifecycle;
use crate::providers::RouteName;
use crate::providers::identity::outgoing::client;
use crate::providers::identity::settings::{OTHER_WAYS, required};
use crate::providers::identity::{IdentityProviders, IdpC, Listed, Provider, SettingsError};

/// The timeout of requests to a provider of a company.
pub const OWN_TIMEOUT: Duration = Duration::from_secs(5);

/// What a company says about one of its providers. The keys have the names of those of `[[providers.oidc]]` and `[providers.idp_c]`.
#[derive(Clone, Debug)]
pub struct OwnSettings {
    /// The accepted values of `iss`. Empty: those of the deployment, with its keys.
    pub issuers: Vec<String>,
    /// The ids of the company's apps at the provider.
    pub audiences: Vec<String>,
    /// The URL of the provider's keys.
    pub jwks_url: Option<Url>,
    /// The client that exchanges authorization codes. Of provider C, the app.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<SecretString>,
    /// Where authorization codes are exchanged.
    pub token_url: Option<Url>,
    /// The API of provider C.
    pub graph_url: Option<Url>,
}

/// A provider of a company.
#[derive(Clone, Debug)]
pub enum OwnProvider {
    /// It signs identity tokens.
    Listed(Arc<Listed>),
    /// Provider C.
    IdpC(Box<IdpC>),
}

impl OwnSettings {
    /// Whether the company says where the tokens come from.
    pub(super) fn has_issuer(&self) -> bool {
        !self.issuers.is_empty() || self.jwks_url.is_some()
    }

    /// Whether a secret is sent to an address that the company names, or keys are fetched from there.
    fn names_addresses(&self) -> bool {
        self.has_issuer() || self.token_url.is_some() || self.graph_url.is_some()
    }
}

impl IdentityProviders {
    /// Checks the name of a provider of a company. One that the deployment lists is called by its neutral name, so that a provider has one
    /// name in every company.
    pub fn check_own_name(&self, name: &RouteName) -> Result<(), SettingsError> {
        let text = name.to_string();
        let known = self.listed.iter().map(|listed| (listed.provider.neutral_name(), &listed.oidc.name));
        let mut known = known.chain([(Provider::IDP_C.neutral_name(), &self.idp_c.name)]);
        if let Some((neutral, _)) = known.find(|(neutral, own)| *own == name && *neutral != text) {
            return Err(SettingsError::new("name", format!("is another name of \"{neutral}\", which it has to be called")));
        }
        if text == "sms" || OTHER_WAYS.contains(&text.as_str()) {
            return Err(SettingsError::new("name", "is the name of another sign-in method"));
        }
        Ok(())
    }

    /// The provider of a company under this name. Requests to addresses that the company names go through `safe`.
    pub fn of_company(
        &self,
        name: &RouteName,
        own: &OwnSettings,
        safe: Client,
        clock: &Clock,
        lifecycle: &Lifecycle,
    ) -> Result<OwnProvider, SettingsError> {
        let client = if own.names_addresses() { safe } else { client(OWN_TIMEOUT)? };
        let provider = Provider::listed_as(name);
        if provider == Provider::IDP_C {
            return self.own_c(own, client, clock).map(|idp_c| OwnProvider::IdpC(Box::new(idp_c)));
        }
        if own.graph_url.is_some() {
            return Err(SettingsError::new("graph_url", "is for idp-c alone"));
        }
        let place = self.listed.iter().find(|listed| listed.provider == provider);
        let listed = match place {
            Some(listed) => listed.of_company(own, client, clock, lifecycle)?,
            None => Listed::only_of_company(name, own, client, clock, lifecycle)?,
        };
        Ok(OwnProvider::Listed(Arc::new(listed)))
    }

    fn own_c(&self, own: &OwnSettings, client: Client, clock: &Clock) -> Result<IdpC, SettingsError> {
        let of_tokens = [
            ("issuers", !own.issuers.is_empty()),
            ("audiences", !own.audiences.is_empty()),
            ("jwks_url", own.jwks_url.is_some()),
            ("token_url", own.token_url.is_some()),
        ];
        if let Some((setting, _)) = of_tokens.into_iter().find(|(_, is_set)| *is_set) {
            return Err(SettingsError::new(setting, "is for providers that sign identity tokens"));
        }
        let graph_url = required("graph_url", own.graph_url.as_ref().or(self.graph_url.as_ref()))?;
        let app_id = required("client_id", own.client_id.clone())?;
        let app_secret = own.client_secret.clone().filter(|secret| !secret.expose_secret().is_empty());
        let app = (app_id, required("client_secret", app_secret)?);
        Ok(IdpC::of_app(graph_url, app, self.tokens_of_c.as_ref(), client, clock))
    }
}
