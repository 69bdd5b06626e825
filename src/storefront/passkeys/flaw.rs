//! Why an answer of an authenticator is refused.

use crate::kernel::problem::{Problem, ProblemCode};

/// What is wrong with an answer. Clients are not told which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    #[error("the client data is not what a browser makes")]
    ClientData,
    #[error("it answers something else than was asked")]
    Ceremony,
    #[error("the challenge is not one of this store for this purpose")]
    Challenge,
    #[error("the challenge has expired")]
    ChallengeExpired,
    #[error("the challenge has been answered before")]
    ChallengeAnswered,
    #[error("the origin is not one of the store's")]
    Origin,
    #[error("it was made inside a page of another origin")]
    CrossOrigin,
    #[error("the authenticator data has another form")]
    AuthenticatorData,
    #[error("the authenticator made it for another domain")]
    Domain,
    #[error("nobody was present")]
    NotPresent,
    #[error("the authenticator has not verified who was present")]
    NotVerified,
    #[error("the attestation has another form, or is not what the new key has signed")]
    Attestation,
    #[error("the public key is of no kind that was asked for")]
    PublicKey,
    #[error("the signature is not that of the key")]
    Signature,
    #[error("the signature counter went back: there may be a copy of the passkey")]
    Counter,
    #[error("there is no such passkey of this customer")]
    Unknown,
}

impl From<Flaw> for Problem {
    fn from(flaw: Flaw) -> Self {
        match flaw {
            // Everything else was right: the request has come twice, and that is no guess.
            Flaw::ChallengeAnswered => {
                return Self::new(ProblemCode::CodeUsed).detail("This answer of the passkey was used already. Please try again.");
            }
            Flaw::Counter => tracing::warn!(%flaw, "a passkey was refused"),
            _ => tracing::info!(%flaw, "a passkey was refused"),
        }
        ProblemCode::PasskeyNotVerified.into()
    }
}
