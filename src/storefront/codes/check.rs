//! Checking a guess: count, commit, compare. A right code is then consumed, once.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::kernel::clock::seconds_until;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, StoreId};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::storefront::codes::rules::{GuessedCode, Tally, Verdict, judge};
use crate::storefront::codes::{SubmittedCode, Target, is_digest, queries};
use crate::storefront::customers::{self, Customer};
use crate::storefront::purpose::Purpose;
use crate::storefront::sms_guard;
use crate::storefront::state::Storefront;

#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error("no code was sent")]
    Missing,
    #[error("the code is wrong, or there is none")]
    Invalid { attempts_left: Option<i32> },
    #[error("the code is older than ten minutes")]
    Expired,
    #[error("the code is locked")]
    Locked,
    #[error("the identity is locked out")]
    LockedOut { seconds: u64 },
    #[error("the guess could not be counted")]
    Database(#[from] sqlx::Error),
}

/// The refusals of a code, for the descriptions of the routes that take one.
pub const CODE_REFUSALS: &[ProblemCode] =
    &[ProblemCode::CodeInvalid, ProblemCode::CodeExpired, ProblemCode::CodeLocked, ProblemCode::IdentityLockedOut];

impl From<CheckError> for Problem {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::Missing => FieldErrors::one("code", "code is required."),
            CheckError::Invalid { attempts_left: None } => ProblemCode::CodeInvalid.into(),
            CheckError::Invalid { attempts_left: Some(left) } => Problem::new(ProblemCode::CodeInvalid).member("attempts_left", left),
            CheckError::Expired => ProblemCode::CodeExpired.into(),
            CheckError::Locked => ProblemCode::CodeLocked.into(),
            CheckError::LockedOut { seconds } => Problem::new(ProblemCode::IdentityLockedOut).retry_after(seconds),
            CheckError::Database(error) => error.into(),
        }
    }
}

/// A right code. It has no effect until it is consumed.
#[derive(Debug)]
#[must_use = "a right code must be consumed in the transaction of the action that it authorizes"]
pub struct VerifiedCode {
    id: Uuid,
    store: StoreId,
    identity: String,
    /// The phone number or email address that the code was sent to, as a key.
    sent_to: String,
    proves_identity: bool,
    /// The account that the code was issued for, if there is one.
    customer: Option<CustomerId>,
}

/// Judges a guess at the latest code of `purpose` and `target`.
pub async fn check(
    storefront: &Storefront,
    store: StoreId,
    purpose: Purpose,
    target: Target,
    guess: &SubmittedCode,
) -> Result<VerifiedCode, CheckError> {
    let digits = match guess {
        SubmittedCode::Missing => return Err(CheckError::Missing),
        // A value that is not six digits cannot be right, so it is not counted as a guess. A client's mistake must not cost the
        // customer one.
        SubmittedCode::Unusable => return Err(CheckError::Invalid { attempts_left: None }),
        SubmittedCode::Digits(digits) => digits,
    };
    let now = storefront.clock.now();
    let pool = storefront.pool.clone();
    // The guess is counted even if the client disconnects.
    let counting = async move { queries::count_guess(&mut pool.acquire().await?, store, purpose, target, now).await };
    let counted = storefront.lifecycle.finish(counting).await?;
    let guessed = counted.code.map(|code| GuessedCode {
        guesses: code.guesses,
        expires_at: code.expires_at,
        is_used: code.is_used,
        matches: is_digest(&code.digest, &storefront.application_key, code.id, digits),
        code,
    });
    let tally = Tally { wrong: counted.wrong, locked_out_until: counted.locked_out_until };
    let verdict = judge(guessed, tally, now);
    storefront.metrics.guessed(verdict.as_str());
    match verdict {
        Verdict::Right(code) => {
            let (identity, proves_identity) = (counted.identity, code.proves_identity);
            Ok(VerifiedCode { id: code.id, store, identity, sent_to: code.sent_to, proves_identity, customer: code.customer })
        }
        Verdict::Wrong { attempts_left } => Err(CheckError::Invalid { attempts_left }),
        Verdict::Expired => Err(CheckError::Expired),
        Verdict::Locked => Err(CheckError::Locked),
        Verdict::LockedOut { until } => Err(CheckError::LockedOut { seconds: seconds_until(until, now) }),
    }
}

impl VerifiedCode {
    /// The identity that the code was requested for, as a key.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// [Consumes](Self::consume) the code for the account that it was issued for and returns that account, locked. For flows
    /// without a session. Fails if the account no longer lists the identity that the code was requested for or the one that it
    /// was sent to: the customer may have changed either of them after the code was sent.
    pub async fn consume_for_account(self, conn: &mut Connection, now: DateTime<Utc>) -> Result<Customer, CheckError> {
        let account = match self.customer {
            Some(id) => customers::lock_customer(conn, id).await?,
            None => None,
        };
        let is_still_for = |customer: &Customer| customer.lists(&self.identity) && customer.lists(&self.sent_to);
        let customer = account.filter(is_still_for).ok_or(CheckError::Invalid { attempts_left: None })?;
        self.consume(conn, now).await?;
        Ok(customer)
    }

    /// Marks the code as used in the caller's transaction. Resets the tally of wrong codes if the code proves the identity.
    pub async fn consume(self, conn: &mut Connection, now: DateTime<Utc>) -> Result<(), CheckError> {
        if !queries::consume_code(conn, self.id, now).await? {
            return Err(CheckError::Invalid { attempts_left: None });
        }
        self.reset_lockout(conn).await?;
        sms_guard::note_code_used(conn, self.id, now).await?;
        Ok(())
    }

    /// A code for an unproven phone number was mailed to the account that lists it, so it proves nothing about the number. Such a
    /// code must not reset the tally: otherwise an attacker who guesses the codes of the number's owner could reset it with codes
    /// of their own.
    async fn reset_lockout(&self, conn: &mut Connection) -> Result<(), CheckError> {
        match self.proves_identity {
            true => queries::reset_lockout(conn, self.store, &self.identity).await?,
            false => queries::take_wrong_back(conn, self.store, &self.identity).await?,
        }
        Ok(())
    }
}
