//! Exchange of an authorization code for a second identity token, directly from the provider. A code works once.

use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use crate::kernel::error_chain::chain;
use crate::providers::identity::oidc::settings::ExchangeSettings;
use crate::providers::identity::outgoing::{NoAnswer, ask, read};
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

#[derive(Deserialize)]
struct Tokens {
    id_token: SecretString,
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

    /// Exchanges the code for an identity token. A code that an app has brought needs no confirmation.
    pub(super) async fn exchange(&self, code: &SecretString, confirmed: Option<Confirmation<'_>>) -> Result<SecretString, VerifyError> {
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code.expose_secret()),
            ("client_id", &self.settings.client_id),
            ("client_secret", self.settings.client_secret.expose_secret()),
        ];
        form.extend(confirmed.iter().flat_map(|sent| [("redirect_uri", sent.back), ("code_verifier", sent.verifier)]));
        match self.post(&form).await {
            Ok(Ok(tokens)) => Ok(tokens.id_token),
            Ok(Err(OAuthError::InvalidGrant)) => Err(Flaw::NotConfirmed.into()),
            Ok(Err(error)) => {
                let provider = self.provider.as_str();
                tracing::error!(?error, provider, "an identity provider refused the client: client_id or client_secret is wrong");
                Err(VerifyError::Unavailable { seconds: RETRY_AFTER_SECONDS })
            }
            Err(error) => {
                tracing::warn!(error = chain(&error), "an authorization code could not be exchanged");
                Err(VerifyError::Unavailable { seconds: RETRY_AFTER_SECONDS })
            }
        }
    }

    async fn post(&self, form: &[(&str, &str)]) -> Result<Result<Tokens, OAuthError>, NoAnswer> {
        let answer = ask(self.client.post(self.settings.token_url.clone()).form(form)).await?;
        match answer.status.as_u16() {
            400 | 401 => Ok(Err(read::<Refusal>(&answer.body)?.error)),
            _ => Ok(Ok(read(&answer.success()?)?)),
        }
    }
}
