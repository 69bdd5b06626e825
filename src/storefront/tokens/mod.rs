//! Customer tokens: `<number>|<40 base62>`. The number selects the row. The digest of the rest is compared
//! (`docs/specification/decisions.md`, section 2).

mod look_ups;
mod queries;

use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::{SecretDigest, random_base62, sha256};
use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, SessionId};
use crate::kernel::password_hashing::HashedPassword;
use crate::storefront::audit::SignInAttempt;
use crate::storefront::customers::Customer;
use crate::storefront::tokens::queries::{NewToken, insert_token};

pub use look_ups::LookUps;
pub use queries::{
    Before, EndedSession, ListedSession, Session, company_of_session, export_sessions, forget_ended, forget_leaver, has_surplus,
    is_signed_in, list_ended, list_tokens, lock_session_shared, name_device, note_closely, note_proof, note_use, number_tokens_of,
    revoke_all_tokens, revoke_customer, revoke_least_used, revoke_other_tokens, revoke_session, revoke_token,
};

/// The number of a token, which identifies a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenId(i64);

impl TokenId {
    /// The session with this number.
    pub(in crate::storefront) fn of(number: i64) -> Self {
        Self(number)
    }

    pub(in crate::storefront) fn number(self) -> i64 {
        self.0
    }
}

impl std::fmt::Display for TokenId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The text is not the number of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the number of a token must consist of digits without leading zeros")]
pub struct InvalidTokenId;

impl std::str::FromStr for TokenId {
    type Err = InvalidTokenId;

    /// Accepts one spelling per number: no signs, no spaces, no leading zeros.
    fn from_str(text: &str) -> Result<Self, InvalidTokenId> {
        let is_number = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| is_number).map(Self).ok_or(InvalidTokenId)
    }
}

/// A well-formed token from a request. It is not verified yet.
#[derive(Debug)]
pub struct Presented {
    /// The number before the `|`.
    pub id: TokenId,
    secret: SecretString,
}

impl Presented {
    /// Accepts one spelling per token: the number, one `|`, and 40 base62 characters.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, secret) = text.split_once('|')?;
        let is_secret = secret.len() == 40 && secret.bytes().all(|byte| byte.is_ascii_alphanumeric());
        Some(Self { id: number.parse().ok().filter(|_| is_secret)?, secret: secret.into() })
    }

    /// The digest by which the token is found and compared.
    pub fn digest(&self) -> SecretDigest {
        sha256(self.secret.expose_secret()).into()
    }
}

/// A token in plain text, which is stored as a digest, and what was known before of the customer whom it signs in.
#[derive(Debug)]
pub struct Issued {
    pub token: SecretString,
    /// The number of its session.
    pub number: TokenId,
    pub session: SessionId,
    pub before: Before,
}

/// Issues a token after a successful `attempt`, records the sign-in in the audit and forgets the wrong guesses before it.
pub async fn issue(
    conn: &mut Connection,
    attempt: &SignInAttempt<'_>,
    customer: CustomerId,
    expires_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<Issued, sqlx::Error> {
    let token = insert(conn, attempt, customer, None, expires_at, now).await?;
    Ok(token.expect("without a password hash to compare, a token is always issued"))
}

/// The same after a right password. Returns `None` and issues no token if the password hash has been replaced since (even by an
/// upgrade of the same password) or the account is closed.
pub async fn issue_unless_password_replaced(
    conn: &mut Connection,
    attempt: &SignInAttempt<'_>,
    customer: &Customer,
    expires_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<Option<Issued>, sqlx::Error> {
    insert(conn, attempt, customer.id, customer.password_hash.as_ref(), expires_at, now).await
}

async fn insert(
    conn: &mut Connection,
    attempt: &SignInAttempt<'_>,
    customer: CustomerId,
    password_hash: Option<&HashedPassword>,
    expires_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<Option<Issued>, sqlx::Error> {
    let secret = random_base62(40);
    let token = NewToken { customer, digest: sha256(&secret).into(), expires_at, password_hash };
    let inserted = insert_token(conn, &token, attempt, now).await?;
    Ok(inserted.map(|(number, session, before)| Issued { token: format!("{number}|{secret}").into(), number, session, before }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_one_spelling() {
        let secret = "a".repeat(40);
        assert_eq!(Presented::parse(&format!("12|{secret}")).unwrap().id, TokenId(12));
        for text in [
            format!("|{secret}"),
            format!("+12|{secret}"),
            format!("-12|{secret}"),
            format!("012|{secret}"),
            format!(" 12|{secret}"),
            format!("12|{secret} "),
            format!("12||{secret}"),
            format!("12|{secret}|"),
            format!("12{secret}"),
            format!("12|{}", "a".repeat(39)),
            format!("99999999999999999999|{secret}"),
            format!("12|{}", "é".repeat(20)),
        ] {
            assert!(Presented::parse(&text).is_none(), "{text:?}");
        }
    }
}
