//! A signed-in operator proves again who they are, before they administer anything or see a secret.
//!
//! A session is a cookie, and a cookie can be copied. So what decides who gets in asks for a proof that is not older than `operators.fresh_for`. An
//! operator with a second factor proves that one, because a thief of the cookie may know the password as well. Others type their password, or sign in
//! again, such as with the identity provider. The proof gives the session another token, which no copy of the cookie has.

use secrecy::{ExposeSecret, SecretString};

use crate::kernel::password_hashing::Comparison;
use crate::operators::guesses::{Browser, Guess, asker};
use crate::operators::operator::Operator;
use crate::operators::queries;
use crate::operators::session::{LiveSession, SessionToken};
use crate::operators::sign_in::SignInRefusal;
use crate::operators::state::Operators;
use crate::operators::totp;

/// What proves who an operator is, beside another sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// A code of the authenticator app, or a recovery code.
    Code,
    /// The password.
    Password,
}

impl Operators {
    /// What proves who this operator is; `None` for one who has neither chosen a password nor set up a second factor.
    pub async fn proof_of(&self, operator: &Operator) -> Result<Option<Proof>, sqlx::Error> {
        if operator.totp_enabled_at.is_some() {
            return Ok(Some(Proof::Code));
        }
        let password = queries::find_password(&mut self.pool.acquire().await?, operator.id).await?;
        Ok(password.map(|_| Proof::Password))
    }

    /// Judges the proof that the operator of a session has typed. Returns the token that the session has from now on.
    pub async fn confirm(&self, session: &LiveSession, typed: &SecretString, browser: &Browser) -> Result<SessionToken, SignInRefusal> {
        if session.operator.totp_enabled_at.is_some() {
            self.prove_code(&session.operator, typed.expose_secret(), browser).await?;
        } else {
            self.prove_password(&session.operator, typed, browser).await?;
        }
        let before = browser.session.as_ref().ok_or(SignInRefusal::LinkEnded)?;
        let (now, token) = (self.clock.now(), SessionToken::generate());
        let mut conn = self.pool.acquire().await?;
        let mut transaction = conn.begin().await?;
        totp::forget_offer(&mut transaction, session.operator.id).await?;
        if !queries::note_proof(&mut transaction, session.id, (&before.digest(), &token.digest()), now).await? {
            return Err(SignInRefusal::LinkEnded);
        }
        transaction.commit().await?;
        self.unknown_sessions.remember(&token.digest());
        Ok(token)
    }

    /// Counts as a sign-in does: a thief of a cookie has no more guesses than anybody else.
    async fn prove_password(&self, operator: &Operator, typed: &SecretString, browser: &Browser) -> Result<(), SignInRefusal> {
        let place = self.hashing.reserve(asker(browser.address))?;
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        let hash = queries::find_password(&mut conn, operator.id).await?;
        let guess = Guess::password(&self.key, &operator.email, browser);
        guess.count(&mut conn, now).await?.map_err(SignInRefusal::TooMany)?;
        drop(conn);
        if place.compare(typed, hash).await == Comparison::Wrong {
            tracing::warn!(address = %browser.address.ip(), "an operator's proof was wrong");
            return Err(SignInRefusal::Wrong);
        }
        Ok(guess.take_back(&mut self.pool.acquire().await?, now).await?)
    }
}
