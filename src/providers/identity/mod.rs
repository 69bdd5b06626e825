//! Identity providers: sign-in with an account at an external service (`docs/specification/decisions.md`, section 6).
//!
//! Providers A ([`IdpA`]) and B ([`IdpB`]) sign identity tokens. A token is accepted if its signature was made with a key that
//! the provider publishes ([`jwks`]), with the one algorithm that the key is pinned to ([`keys`]), and if its claims match the
//! current time, the provider and one of the configured apps ([`claims`], a pure function). The header of a token only selects
//! which of the published keys is used. Provider C ([`IdpC`]) signs nothing: its access tokens are verified with a request to the
//! provider.
//!
//! Guaranteed: the result of a verification is a [`VerifiedIdentity`] or an error. A request to a provider ends no later than the
//! provider's timeout. If the provider is slow, unreachable or sends an invalid response, the caller gets
//! [`VerifyError::Unavailable`]. With cached keys, identity tokens of A and B are verified without a request to the provider.
//!
//! Not guaranteed: an identity token is a bearer token. An attacker who steals one before it is used can use it first, until it is ten
//! minutes old, and can omit the nonce, which is compared only if the request contains one. A stolen token alone is useless if the
//! provider is A and its authorization codes are exchanged.

mod a;
mod b;
mod c;
mod claims;
mod code_exchange;
mod graph;
mod jwks;
mod keys;
mod member;
mod outgoing;
mod settings;
mod tokens;

use chrono::{DateTime, Utc};

use crate::contact::EmailAddress;
use crate::kernel::clock::Clock;
use crate::kernel::lifecycle::Lifecycle;
use crate::providers::{RouteName, Settings};

pub use a::{IdpA, IdpAProof, IdpASettings};
pub use b::{IdpB, IdpBProof, IdpBSettings};
pub use c::{IdpC, IdpCProof, IdpCSettings, Verification};
pub use claims::{Flaw, Subject};
pub use member::user_id_member;
pub use outgoing::NoAnswer;
pub use settings::SettingsError;

/// The provider that vouches for an identity. The same subject may stand for different people at different providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Provider A.
    IdpA,
    /// Provider B.
    IdpB,
    /// Provider C, which verified an access token.
    IdpC,
    /// No provider: the id of provider C was not verified. Such an identity is never treated as a verified one of provider C, and
    /// vice versa.
    ClaimedIdpC,
}

impl Provider {
    /// The name in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::IdpA => "idp_a",
            Self::IdpB => "idp_b",
            Self::IdpC => "idp_c",
            Self::ClaimedIdpC => "claimed_idp_c",
        }
    }
}

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
}

/// An identity token that a client has presented. It may be used once.
#[derive(Clone, Copy, Debug)]
pub struct PresentedToken {
    /// SHA-256 of the signed part of the token.
    pub digest: [u8; 32],
    /// The instant from which the token is too old to be accepted.
    pub expires_at: DateTime<Utc>,
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
    /// The provider does not respond. The proof may be valid.
    #[error("the provider is unavailable")]
    Unavailable {
        /// Seconds after which a retry may succeed.
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

/// The three identity providers.
#[derive(Clone, Debug)]
pub struct IdentityProviders {
    /// Provider A.
    pub idp_a: Named<IdpA>,
    /// Provider B.
    pub idp_b: Named<IdpB>,
    /// Provider C.
    pub idp_c: Named<IdpC>,
}

impl IdentityProviders {
    /// Creates the configured providers. A provider without settings is not offered.
    pub fn new(settings: &Settings, clock: &Clock, lifecycle: &Lifecycle) -> Result<Self, SettingsError> {
        let Settings { idp_a, idp_b, idp_c, .. } = settings;
        settings::tell_apart([("idp-a", &idp_a.name), ("idp-b", &idp_b.name), ("idp-c", &idp_c.name)])?;
        Ok(Self {
            idp_a: Named { name: idp_a.name.clone(), provider: IdpA::new(idp_a, clock, lifecycle)? },
            idp_b: Named { name: idp_b.name.clone(), provider: IdpB::new(idp_b, clock, lifecycle)? },
            idp_c: Named { name: idp_c.name.clone(), provider: IdpC::new(idp_c, clock)? },
        })
    }
}
