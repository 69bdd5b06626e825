//! Exchange of an authorization code for a second identity token, directly from the provider. A code works once. The exchange
//! also gives a refresh token, the *grant* of access to the person's account at the provider. It is kept only if it can be revoked.

use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use crate::kernel::error_chain::chain;
use crate::providers::identity::oidc::settings::ExchangeSettings;
use crate::providers::identity::outgoing::{NoAnswer, RETRY_AFTER_MENDING, ask, read};
use crate::providers::identity::{Flaw, Provider, VerifyError};

/// Seconds after which a retry is recommended if the provider did not respond.
const RETRY_AFTER_SECONDS: u64 = 5;

/// The client of the token endpoint, with the app's credentials.
#[derive(Clone, Debug)]
pub(super) struct CodeExchange {
    provider: Provider,
    client: Client,
    settings: ExchangeSettings,
}

/// What a code is exchanged for.
#[derive(Deserialize)]
pub(super) struct Tokens {
    pub(super) id_token: SecretString,
    pub(super) refresh_token: Option<SecretString>,
}

#[derive(Deserialize)]
struct Refusal {
    error: OAuthError,
}

/// The error codes of RFC 6749, section 5.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OAuthError {
    InvalidGrant,
    InvalidClient,
    UnauthorizedClient,
    InvalidRequest,
    UnsupportedGrantType,
    InvalidScope,
    #[serde(other)]
    Other,
}

/// What proves to the provider that the code is used by whoever asked for it.
pub(super) struct Confirmation<'a> {
    /// The address that the code was sent to.
    pub(super) back: &'a str,
    /// The secret whose digest the request for the code had (PKCE).
    pub(super) verifier: &'a str,
}

impl CodeExchange {
    pub(super) fn new(provider: Provider, client: Client, settings: ExchangeSettings) -> Self {
        Self { provider, client, settings }
    }

    /// Exchanges the code. One that an app has brought needs no confirmation.
    pub(super) async fn exchange(&self, code: &SecretString, confirmed: Option<Confirmation<'_>>) -> Result<Tokens, VerifyError> {
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code.expose_secret()),
            ("client_id", &self.settings.client_id),
            ("client_secret", self.settings.client_secret.expose_secret()),
        ];
        form.extend(confirmed.iter().flat_map(|sent| [("redirect_uri", sent.back), ("code_verifier", sent.verifier)]));
        match self.post(&form).await {
            Ok(Ok(tokens)) => Ok(tokens),
            Ok(Err(OAuthError::InvalidGrant)) => Err(Flaw::NotConfirmed.into()),
            Ok(Err(error @ (OAuthError::InvalidClient | OAuthError::UnauthorizedClient))) => {
                let provider = self.provider.as_str();
                tracing::error!(?error, provider, "an identity provider refuses the client: client_id or client_secret is wrong");
                Err(VerifyError::CredentialsRefused { seconds: RETRY_AFTER_MENDING })
            }
            Ok(Err(error)) => {
                let provider = self.provider.as_str();
                tracing::error!(?error, provider, "an identity provider refused to exchange an authorization code");
                Err(VerifyError::Unavailable { seconds: RETRY_AFTER_SECONDS })
            }
            Err(error) => {
                tracing::warn!(error = chain(&error), "an authorization code could not be exchanged");
                Err(VerifyError::Unavailable { seconds: RETRY_AFTER_SECONDS })
            }
        }
    }

    /// The revocation endpoint, if the settings name one.
    pub(super) fn revokes_at(&self) -> Option<&Url> {
        self.settings.revoke_url.as_ref()
    }

    /// Revokes a grant (RFC 7009). A grant that the provider does not know any more is a success as well.
    pub(super) async fn revoke(&self, address: &Url, grant: &SecretString) -> Result<(), NoAnswer> {
        let form = [
            ("token", grant.expose_secret()),
            ("token_type_hint", "refresh_token"),
            ("client_id", &self.settings.client_id),
            ("client_secret", self.settings.client_secret.expose_secret()),
        ];
        ask(self.client.post(address.clone()).form(&form)).await?.success().map(drop)
    }

    async fn post(&self, form: &[(&str, &str)]) -> Result<Result<Tokens, OAuthError>, NoAnswer> {
        let answer = ask(self.client.post(self.settings.token_url.clone()).form(form)).await?;
        match answer.status.as_u16() {
            400 | 401 => Ok(Err(read::<Refusal>(&answer.body)?.error)),
            _ => Ok(Ok(read(&answer.success()?)?)),
        }
    }
}
