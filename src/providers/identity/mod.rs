//! Identity providers: who somebody is, on the word of a service they have an account with (decisions, section 6).
//!
//! A ([`IdpA`]) and B ([`IdpB`]) sign identity tokens. A token is believed when its signature is of a key the provider publishes
//! ([`jwks`]), made with the one algorithm that key is pinned to ([`keys`]), and its claims are about this moment, this provider and one
//! of our apps ([`claims`], a pure function). Nothing in a token's header chooses more than which of the published keys is tried. C
//! ([`IdpC`]) signs nothing: its access tokens are shown to the provider itself.
//!
//! Only [`VerifiedIdentity`] leaves this room. A provider that answers slowly, wrongly or not at all costs a caller the provider's
//! time-out and an answer of [`VerifyError::Unavailable`]; with keys in the cache, A and B go on without it.
//!
//! What is not guaranteed: an identity token is a bearer's. Whoever steals one before it is used has ten minutes to use it first, and leaves
//! out the nonce, which is compared only when it is sent. It is of no use alone where the provider is A and its codes are exchanged.

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
pub use settings::BadSettings;

/// Whose word it is. The same subject may be different people to different providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Provider A.
    IdpA,
    /// Provider B.
    IdpB,
    /// Provider C, asked about an access token.
    IdpC,
    /// Nobody: an id of provider C that was merely claimed. It is never taken for one that was proven, nor the other way round.
    ClaimedIdpC,
}

impl Provider {
    /// The name it is stored under.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::IdpA => "idp_a",
            Self::IdpB => "idp_b",
            Self::IdpC => "idp_c",
            Self::ClaimedIdpC => "claimed_idp_c",
        }
    }
}

/// Somebody a provider knows.
#[derive(Clone, Debug)]
pub struct VerifiedIdentity {
    /// Whose word it is.
    pub provider: Provider,
    /// The provider's own name for the person; it never changes.
    pub subject: Subject,
    /// The address the provider has for the person.
    pub email: Option<EmailAddress>,
    /// Whether the provider says that the address is the person's.
    pub email_is_vouched_for: bool,
    /// What the person is called.
    pub name: Option<String>,
    /// The identity token that says so; an access token, which may be shown many times, is none.
    pub token: Option<UsedToken>,
}

/// An identity token that is about to be used. It must not be a second time.
#[derive(Clone, Copy, Debug)]
pub struct UsedToken {
    /// SHA-256 of what the provider signed.
    pub digest: [u8; 32],
    /// From then on the token is too old by itself.
    pub expires_at: DateTime<Utc>,
}

impl VerifiedIdentity {
    /// The address, if the provider says that it is the person's.
    pub fn vouched_email(&self) -> Option<&EmailAddress> {
        self.email.as_ref().filter(|_| self.email_is_vouched_for)
    }
}

/// Why nobody was identified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The deployment does not offer this provider.
    #[error("the provider is not configured")]
    NotConfigured,
    /// The proof is missing, bad, or somebody else's.
    #[error("the proof is refused")]
    NotVerified(#[from] Flaw),
    /// The provider has to be asked and does not answer; the proof may be good.
    #[error("the provider does not answer")]
    Unavailable {
        /// Whole seconds after which asking again may help.
        seconds: u64,
    },
}

/// A provider under the name this deployment gives it.
#[derive(Clone, Debug)]
pub struct Named<P> {
    /// What it is called here.
    pub name: RouteName,
    provider: Option<P>,
}

impl<P> Named<P> {
    /// The provider, if this deployment offers it.
    pub fn offered(&self) -> Result<&P, VerifyError> {
        self.provider.as_ref().ok_or(VerifyError::NotConfigured)
    }
}

/// The three of them.
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
    /// The providers the settings describe; those without settings are not offered.
    pub fn new(settings: &Settings, clock: &Clock, lifecycle: &Lifecycle) -> Result<Self, BadSettings> {
        let Settings { idp_a, idp_b, idp_c, .. } = settings;
        settings::tell_apart([("idp-a", &idp_a.name), ("idp-b", &idp_b.name), ("idp-c", &idp_c.name)])?;
        Ok(Self {
            idp_a: Named { name: idp_a.name.clone(), provider: IdpA::new(idp_a, clock, lifecycle)? },
            idp_b: Named { name: idp_b.name.clone(), provider: IdpB::new(idp_b, clock, lifecycle)? },
            idp_c: Named { name: idp_c.name.clone(), provider: IdpC::new(idp_c, clock)? },
        })
    }
}
