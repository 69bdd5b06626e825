//! The reasons why a proof is refused.

/// The reason why a proof is refused. It is only logged: the response does not tell which check failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// There is no token, or it lacks a required claim.
    #[error("it is not an identity token")]
    Malformed,
    /// The provider does not publish the key that the token names.
    #[error("its key is unknown")]
    Key,
    /// The algorithm is not the one that the key is pinned to.
    #[error("its algorithm does not match its key")]
    Algorithm,
    /// The signature was not made with the key.
    #[error("its signature is wrong")]
    Signature,
    /// The token is from another issuer.
    #[error("its issuer is not the provider")]
    Issuer,
    /// The token is for another app, or for several apps.
    #[error("its audience is not one of our apps")]
    Audience,
    /// The token was issued to another app.
    #[error("the app it was issued to is not one of ours")]
    AuthorizedParty,
    /// The token has expired.
    #[error("it has expired")]
    Expired,
    /// The token becomes valid, or was issued, in the future.
    #[error("it is not valid yet")]
    NotYetValid,
    /// The token was issued more than ten minutes ago.
    #[error("it is too old")]
    TooOld,
    /// The token has been used for a sign-in before.
    #[error("it was used before")]
    Used,
    /// The nonce of the token is not that of the request.
    #[error("its nonce does not match")]
    Nonce,
    /// The token has no valid subject, or another one than the request.
    #[error("its subject does not match")]
    Subject,
    /// A further proof is missing: an authorization code or an access token. Nothing was sent that could be wrong, so it is no guess.
    #[error("another required proof is missing")]
    Incomplete,
    /// The provider does not confirm the proof.
    #[error("the provider does not confirm it")]
    NotConfirmed,
}
