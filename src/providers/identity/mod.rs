//! Identity providers: sign-in with an account at an external service (`docs/specification/decisions.md`, section 6).
//!
//! The providers of a list in the settings ([`Oidc`]) sign identity tokens. A token is accepted if its signature was made with a key that
//! the provider publishes (`oidc/jwks.rs`), with the one algorithm that the key is pinned to (`oidc/keys.rs`), and if its claims match the
//! current time, the provider and one of the configured apps (`oidc/claims.rs`, a pure function). The header of a token only selects
//! which of the published keys is used. The access tokens of provider C ([`IdpC`]) are verified with a request to the provider; it signs the
//! tokens of limited sign-ins alone.
//!
//! Guaranteed: the result of a verification is a [`VerifiedIdentity`] or an error. A request to a provider ends no later than the
//! provider's timeout. If the provider is slow, unreachable, out of order or sends an invalid response, the caller gets
//! [`VerifyError::Unavailable`], and [`VerifyError::CredentialsRefused`] if it does not accept the app: neither says anything about the proof. With
//! cached keys, identity tokens are verified without a request to the provider.
//!
//! Not guaranteed: an identity token is a bearer token. An attacker who steals one before it is used can use it first, until it is ten
//! minutes old, and can omit the nonce, which is compared only if the request contains one. A stolen token alone is useless if the
//! authorization codes of the provider are exchanged.

mod c;
mod flaw;
mod graph;
mod graph_error;
mod member;
mod oidc;
mod outgoing;
mod own;
mod provider;
mod settings;
mod subject;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use secrecy::SecretString;
use url::Url;

use crate::contact::EmailAddress;
use crate::kernel::clock::Clock;
use crate::kernel::lifecycle::Lifecycle;
use crate::providers::{RouteName, Settings};

use oidc::IdentityTokens;

pub use c::{IdpC, IdpCProof, IdpCSettings, Verification};
pub use flaw::Flaw;
pub use member::user_id_member;
pub use oidc::{CodeAttempt, CodeFlow, Field, Form, Listed, Oidc, OidcProof, OidcSettings};
pub use outgoing::NoAnswer;
pub use own::{OWN_TIMEOUT, OwnProvider, OwnSettings};
pub use provider::Provider;
pub use settings::SettingsError;
pub use subject::Subject;

/// The identity of a person at a provider.
#[derive(Clone, Debug)]
pub struct VerifiedIdentity {
    /// The provider that vouches for the identity.
    pub provider: Provider,
    /// The provider's id of the person. It never changes.
    pub subject: Subject,
    /// The email address that the provider has for the person.
    pub email: Option<EmailAddress>,
    /// Whether the provider vouches that the address belongs to the person.
    pub email_is_vouched_for: bool,
    /// The name of the person.
    pub name: Option<String>,
    /// The identity token, which may be used once. `None` for an access token, which may be used several times.
    pub token: Option<PresentedToken>,
    /// What gives the app access to the person's account at the provider, if the provider takes it back ([`Oidc::revoke`]).
    pub grant: Option<SecretString>,
}

/// An identity token that a client has presented. It may be used once.
#[derive(Clone, Copy, Debug)]
pub struct PresentedToken {
    /// SHA-256 of the signed part of the token.
    pub digest: [u8; 32],
    /// The instant from which the token is too old to be accepted.
    pub expires_at: DateTime<Utc>,
    /// SHA-256 of the authorization code that came with it, if codes are exchanged.
    pub code: Option<[u8; 32]>,
}

impl VerifiedIdentity {
    /// The address, if the provider vouches that it belongs to the person.
    pub fn vouched_email(&self) -> Option<&EmailAddress> {
        self.email.as_ref().filter(|_| self.email_is_vouched_for)
    }
}

/// The reason why an identity could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The deployment does not offer this provider.
    #[error("the provider is not configured")]
    NotConfigured,
    /// The proof is missing, invalid, or about another person.
    #[error("the proof is refused")]
    NotVerified(#[from] Flaw),
    /// The token is right, and the provider does not exchange the authorization code: it is wrong, or was exchanged before. The identity is
    /// verified only for a request that is known to be a repetition.
    #[error("the authorization code is refused")]
    CodeRefused(Box<VerifiedIdentity>),
    /// The provider does not respond, or says that it cannot. The proof may be valid.
    #[error("the provider is unavailable")]
    Unavailable {
        /// Seconds after which a retry may succeed.
        seconds: u64,
    },
    /// The provider does not accept the app's credentials. The proof may be valid.
    #[error("the provider refuses the credentials of the app")]
    CredentialsRefused {
        /// Seconds after which a retry may succeed, if somebody sets the right ones meanwhile.
        seconds: u64,
    },
}

/// A provider, under the name of this deployment.
#[derive(Clone, Debug)]
pub struct Named<P> {
    /// The name of the provider in routes.
    pub name: RouteName,
    provider: Option<P>,
}

impl<P> Named<P> {
    /// Returns the provider if this deployment offers it.
    pub fn offered(&self) -> Result<&P, VerifyError> {
        self.provider.as_ref().ok_or(VerifyError::NotConfigured)
    }
}

/// All identity providers that the service knows, offered by this deployment or not.
#[derive(Clone, Debug)]
pub struct IdentityProviders {
    /// `[[providers.oidc]]`, in the order of their words.
    pub listed: Vec<Arc<Listed>>,
    /// Provider C, which verifies access tokens. Those of the list sign identity tokens.
    pub idp_c: Named<IdpC>,
    /// Where provider C is asked.
    graph_url: Option<Url>,
    /// What verifies identity tokens of provider C, whatever app they are for.
    tokens_of_c: Option<IdentityTokens>,
}

impl IdentityProviders {
    /// Creates the configured providers. A provider without settings is not offered.
    pub fn new(settings: &Settings, clock: &Clock, lifecycle: &Lifecycle) -> Result<Self, SettingsError> {
        let Settings { oidc, idp_c, .. } = settings;
        let named = oidc.iter().map(|(word, settings)| (Provider::of_settings(word), &settings.name));
        settings::tell_apart(&named.chain([(Provider::IDP_C, &idp_c.name)]).collect::<Vec<_>>())?;
        let listed = oidc.iter().map(|(word, settings)| Listed::new(Provider::of_settings(word), settings, clock, lifecycle).map(Arc::new));
        let tokens_of_c = idp_c.identity_tokens(clock, lifecycle)?;
        Ok(Self {
            listed: listed.collect::<Result<_, _>>()?,
            idp_c: Named { name: idp_c.name.clone(), provider: IdpC::new(idp_c, tokens_of_c.as_ref(), clock)? },
            graph_url: idp_c.graph_url.clone(),
            tokens_of_c,
        })
    }

    /// The word of the provider with this name in routes: its own in this deployment, or the neutral one. A name that is not known is taken
    /// for that of a provider that was listed once.
    pub fn word_of(&self, name: &str) -> String {
        let listed = self.listed.iter().find(|listed| listed.oidc.name.to_string() == name);
        match listed {
            Some(listed) => listed.provider.as_str().to_owned(),
            None if self.idp_c.name.to_string() == name => Provider::IDP_C.as_str().to_owned(),
            None => name.replace('-', "_"),
        }
    }

    /// The name of a provider for people: its own in this deployment.
    pub fn name_of(&self, provider: &Provider) -> String {
        let listed = self.listed.iter().find(|listed| listed.provider == *provider);
        match listed {
            Some(listed) => listed.oidc.name.to_string(),
            None if *provider == Provider::IDP_C => self.idp_c.name.to_string(),
            None => provider.neutral_name(),
        }
    }

    /// The words of all that [are known](Self::knows).
    pub fn words(&self) -> impl Iterator<Item = String> {
        let listed = self.listed.iter().map(|listed| listed.provider.to_string());
        listed.chain([Provider::IDP_C, Provider::CLAIMED_IDP_C].map(|provider| provider.to_string()))
    }

    /// Whether the provider is one of the deployment, offered or not.
    pub fn knows(&self, provider: &Provider) -> bool {
        [Provider::IDP_C, Provider::CLAIMED_IDP_C].contains(provider) || self.listed.iter().any(|listed| listed.provider == *provider)
    }

    /// Whether this deployment offers the provider with this word.
    pub fn offers(&self, word: &str) -> bool {
        let is_c = [Provider::IDP_C, Provider::CLAIMED_IDP_C].iter().any(|provider| provider.as_str() == word);
        let listed = self.listed.iter().any(|listed| listed.provider.as_str() == word && listed.oidc.offered().is_ok());
        listed || is_c && self.idp_c.offered().is_ok()
    }
}
