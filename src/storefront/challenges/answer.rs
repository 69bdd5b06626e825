//! What an app sends when a challenge was solved.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use secrecy::SecretString;

use crate::kernel::client_address::ClientAddress;

/// The header with the token.
const CHALLENGE: &str = "portico-challenge";
/// The maximum length of a token, in bytes. Those of the providers have up to about two thousand, and attestations somewhat more.
const TOKEN_MAX_LEN: usize = 4_096;

/// The token of a request, and the client that sent it.
#[derive(Clone, Debug)]
pub struct ChallengeAnswer {
    pub(super) token: Token,
    pub(super) address: ClientAddress,
}

/// What stands in the header.
#[derive(Clone, Debug)]
pub(super) enum Token {
    /// Nothing was sent.
    Missing,
    /// It is none that any service gives out: too long, or of other letters than Base64 and JWTs.
    Unusable,
    Sent(SecretString),
}

impl ChallengeAnswer {
    /// Whether there is a token that can be verified.
    pub(super) fn has_token(&self) -> bool {
        matches!(self.token, Token::Sent(_))
    }
}

/// A token that nobody asks for is not looked at, so no token refuses a request here.
impl<S: Send + Sync> FromRequestParts<S> for ChallengeAnswer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let address = ClientAddress::from_request_parts(parts, state).await?;
        let mut sent = parts.headers.get_all(CHALLENGE).iter();
        let token = match (sent.next(), sent.next()) {
            (None, _) => Token::Missing,
            (Some(value), None) if (1..=TOKEN_MAX_LEN).contains(&value.len()) && value.as_bytes().iter().all(is_of_a_token) => {
                value.to_str().map_or(Token::Unusable, |text| Token::Sent(text.into()))
            }
            (Some(_), _) => Token::Unusable,
        };
        Ok(Self { token, address })
    }
}

fn is_of_a_token(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/=:".contains(byte)
}
