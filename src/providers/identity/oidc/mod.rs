//! The providers of `[[providers.oidc]]`, which sign identity tokens (OpenID Connect).
//!
//! An entry of the list is all that the program knows of a provider: what its tokens must say ([`OidcSettings`]) and what apps send
//! ([`Form`]). `docs/identity-providers.md` adds one.

mod claims;
mod code_exchange;
mod code_flow;
mod form;
mod jwks;
mod keys;
mod nonce;
mod own;
mod settings;
mod tokens;

use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};

use crate::kernel::clock::Clock;
use crate::kernel::crypto::sha256;
use crate::kernel::lifecycle::Lifecycle;
use crate::providers::identity::oidc::claims::Claims;
use crate::providers::identity::oidc::code_exchange::CodeExchange;
use crate::providers::identity::outgoing::{RETRY_AFTER_MENDING, client};
use crate::providers::identity::{Flaw, Named, NoAnswer, PresentedToken, Provider, SettingsError, VerifiedIdentity, VerifyError};

pub use code_flow::{CodeAttempt, CodeFlow};
pub use form::{Field, Form};
pub use settings::OidcSettings;
pub(super) use settings::TokenRules;
pub(super) use tokens::IdentityTokens;

/// An entry of `[[providers.oidc]]`, offered by this deployment or not.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The word for the provider.
    pub provider: Provider,
    /// What apps send.
    pub form: Form,
    /// The provider, if this deployment offers it.
    pub oidc: Named<Oidc>,
    settings: OidcSettings,
}

impl Listed {
    pub(super) fn new(provider: Provider, settings: &OidcSettings, clock: &Clock, lifecycle: &Lifecycle) -> Result<Self, SettingsError> {
        let oidc = Oidc::new(&provider, settings, client(settings.timeout)?, clock, lifecycle)?;
        Ok(Self::of(provider, settings.clone(), oidc))
    }

    fn of(provider: Provider, settings: OidcSettings, oidc: Option<Oidc>) -> Self {
        Self { provider, form: settings.form(), oidc: Named { name: settings.name.clone(), provider: oidc }, settings }
    }
}

/// The proof that an app sends to sign in.
#[derive(Debug)]
pub struct OidcProof<'a> {
    /// The identity token.
    pub token: &'a SecretString,
    /// The id of the app at the provider. Required if the settings list `client_ids`.
    pub client_id: Option<&'a str>,
    /// The authorization code. Required if codes are exchanged.
    pub code: Option<&'a SecretString>,
    /// The id of the person whom the app considers signed in.
    pub user_id: Option<&'a str>,
    /// The nonce that the app passed to the provider.
    pub nonce: Option<&'a str>,
}

/// A provider that signs identity tokens.
#[derive(Clone, Debug)]
pub struct Oidc {
    provider: Provider,
    tokens: IdentityTokens,
    /// Whether the app sends its own id.
    asks_for_app: bool,
    exchange: Option<CodeExchange>,
}

impl Oidc {
    fn new(
        provider: &Provider,
        settings: &OidcSettings,
        client: Client,
        clock: &Clock,
        lifecycle: &Lifecycle,
    ) -> Result<Option<Self>, SettingsError> {
        let Some(rules) = settings.rules(provider)? else { return Ok(None) };
        let tokens = IdentityTokens::new(&rules, client, clock, lifecycle);
        let exchange = rules.exchange.map(|exchange| CodeExchange::new(provider.clone(), tokens.client().clone(), exchange));
        Ok(Some(Self { provider: provider.clone(), tokens, asks_for_app: settings.client_ids.is_some(), exchange }))
    }

    /// Fetches the provider's keys and returns how many of them can be used.
    pub async fn count_keys(&self) -> Result<usize, NoAnswer> {
        self.tokens.count_keys().await
    }

    /// Verifies the proof and returns the identity. If codes are exchanged, a proof without a code is refused.
    pub async fn verify(&self, proof: OidcProof<'_>) -> Result<VerifiedIdentity, VerifyError> {
        let claims = self.tokens.verify(proof.token).await?;
        if self.asks_for_app {
            // `aud` is one configured app, and so is `azp` if it is present. The app's own id must be one of the two.
            let app = proof.client_id.ok_or(Flaw::Incomplete)?;
            if ![claims.audience(), claims.azp.as_deref()].contains(&Some(app)) {
                return Err(Flaw::Audience.into());
            }
        }
        claims.compare(proof.user_id, proof.nonce)?;
        let identity = self.tokens.identity(self.provider.clone(), proof.token, claims)?;
        match &self.exchange {
            // The code must not be optional: an attacker with a stolen token would omit it.
            Some(exchange) => self.exchange(exchange, proof.code.ok_or(Flaw::Incomplete)?, identity).await,
            None => Ok(identity),
        }
    }

    /// Exchanges the code that came with the token of this identity. It has to be about the same person.
    async fn exchange(
        &self,
        exchange: &CodeExchange,
        code: &SecretString,
        identity: VerifiedIdentity,
    ) -> Result<VerifiedIdentity, VerifyError> {
        let token = identity.token.map(|token| PresentedToken { code: Some(sha256(code.expose_secret())), ..token });
        let identity = VerifiedIdentity { token, ..identity };
        let second = match exchange.exchange(code, None).await {
            Err(VerifyError::NotVerified(Flaw::NotConfirmed)) => return Err(VerifyError::CodeRefused(Box::new(identity))),
            exchanged => exchanged?,
        };
        if self.verify_answer(&second.id_token).await?.sub != identity.subject.as_str() {
            return Err(Flaw::Subject.into());
        }
        let grant = second.refresh_token.filter(|_| exchange.revokes_at().is_some());
        Ok(VerifiedIdentity { grant, ..identity })
    }

    /// Verifies the token that a code was exchanged for. It comes from the provider itself, so one that is not accepted is no wrong proof: the
    /// provider or its settings are wrong.
    async fn verify_answer(&self, token: &SecretString) -> Result<Claims, VerifyError> {
        self.tokens.verify(token).await.map_err(|error| match error {
            VerifyError::NotVerified(flaw) => {
                let provider = self.provider.as_str();
                tracing::error!(%flaw, provider, "an identity provider has exchanged an authorization code for a token that is not accepted");
                VerifyError::Unavailable { seconds: RETRY_AFTER_MENDING }
            }
            error => error,
        })
    }

    /// Revokes a grant, so that the app has no access to the person's account at the provider any more. Returns `false` if the settings name no
    /// revocation endpoint.
    pub async fn revoke(&self, grant: &SecretString) -> Result<bool, NoAnswer> {
        let Some((exchange, address)) = self.exchange.as_ref().and_then(|exchange| Some((exchange, exchange.revokes_at()?))) else {
            return Ok(false);
        };
        exchange.revoke(address, grant).await.map(|()| true)
    }
}
