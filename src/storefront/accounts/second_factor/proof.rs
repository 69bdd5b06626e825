//! A proof of the second factor: a code of the app or a recovery code, judged and then consumed, once.

use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::CannotOpen;
use crate::kernel::database::{Connection, Transaction, repeated};
use crate::kernel::ids::{CustomerId, StoreId};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::storefront::access::SignedInCustomer;
use crate::storefront::accounts::failed_proof;
use crate::storefront::audit::Method;
use crate::storefront::codes::SubmittedCode;
use crate::storefront::customers;
use crate::storefront::guessing::{self, Client, Exceeded, Guess, Kind};
use crate::storefront::second_factors::{self, Counted, GuessRefusal, RecoveryCode, RecoveryCodeState};
use crate::storefront::state::Storefront;

pub const REFUSALS: &[ProblemCode] =
    &[ProblemCode::CodeInvalid, ProblemCode::CodeUsed, ProblemCode::IdentityLockedOut, ProblemCode::GuessesExceeded];

/// What a customer proves the second factor with, as a body has it.
#[derive(Debug)]
pub enum Answer {
    Code(SubmittedCode),
    /// `None` if it cannot be one.
    RecoveryCode(Option<RecoveryCode>),
}

impl Answer {
    /// Reads the fields `code` and `recovery_code` of a body, of which there has to be one.
    pub fn read(code: Option<SubmittedCode>, recovery_code: Option<&SecretString>) -> Result<Self, Problem> {
        match (code, recovery_code) {
            (Some(code), None) => Ok(Self::Code(code)),
            (None, Some(typed)) => Ok(Self::RecoveryCode(RecoveryCode::parse(typed.expose_secret()))),
            (Some(_), Some(_)) => Err(FieldErrors::one("recovery_code", "code and recovery_code must not be sent both.")),
            (None, None) => Err(FieldErrors::one("code", "The code of the app or a recovery code is required.")),
        }
    }

    /// Whether it is one that could be right.
    pub fn is_possible(&self) -> bool {
        match self {
            Self::Code(code) => matches!(code, SubmittedCode::Digits(_)),
            Self::RecoveryCode(code) => code.is_some(),
        }
    }

    /// What a sign-in with it is called.
    pub fn method(&self) -> Method {
        match self {
            Self::Code(_) => Method::Totp,
            Self::RecoveryCode(_) => Method::RecoveryCode,
        }
    }
}

/// A right answer. It has no effect until it is consumed.
#[derive(Debug)]
#[must_use = "a right answer must be consumed in the transaction of the action that it authorizes"]
pub struct Proven {
    customer: CustomerId,
    guess: Guess,
    by: By,
}

#[derive(Debug)]
enum By {
    /// The code of this step.
    Step(i64),
    /// The recovery code with this digest.
    RecoveryCode(Vec<u8>),
}

/// Judges an answer of a customer. Codes are judged as passwords are: counted first. Of a customer without a second factor, none is right, and none
/// is a guess.
pub async fn prove(
    storefront: &Storefront,
    (store, client): (StoreId, Client),
    customer: CustomerId,
    answer: Answer,
) -> Result<Proven, Problem> {
    let guess = storefront.guess(store, client, Kind::SecondFactor);
    match answer {
        Answer::Code(SubmittedCode::Digits(digits)) => {
            let _turn = storefront.guesses.turn((store, client.network)).await.map_err(|_| Exceeded { seconds: 1 })?;
            let this = storefront.clone();
            // The guess is counted even if the client disconnects.
            let judging = async move { judge_code(&this, guess, customer, &digits).await };
            storefront.lifecycle.finish(judging).await
        }
        // A value that is not six digits cannot be right, so it is not counted: a client's mistake must not cost the customer a guess.
        Answer::Code(SubmittedCode::Missing | SubmittedCode::Unusable) | Answer::RecoveryCode(None) => Err(ProblemCode::CodeInvalid.into()),
        Answer::RecoveryCode(Some(code)) => {
            let digest = code.digest(customer);
            let state = second_factors::find_recovery_code(&mut storefront.pool.acquire().await?, customer, &digest).await?;
            match state {
                RecoveryCodeState::Good => Ok(Proven { customer, guess, by: By::RecoveryCode(digest) }),
                RecoveryCodeState::Used => Err(ProblemCode::CodeUsed.into()),
                RecoveryCodeState::NoFactor => Err(ProblemCode::CodeInvalid.into()),
                RecoveryCodeState::Unknown => Err(failed_proof::count(storefront, (store, client), ProblemCode::CodeInvalid.into()).await),
            }
        }
    }
}

async fn judge_code(storefront: &Storefront, guess: Guess, customer: CustomerId, digits: &SecretString) -> Result<Proven, Problem> {
    let count = async || second_factors::count_guess(&mut storefront.pool.acquire().await?, &guess, customer).await;
    let counted = repeated(count).await?.ok_or(ProblemCode::CodeInvalid)?;
    let refused = |refusal: &GuessRefusal| storefront.metrics.refused_guess("second_factor", refusal.as_str());
    let Counted { sealed_secret, last_step, begins } = counted.inspect_err(refused)?;
    let secret = second_factors::open(&storefront.application_key, customer, &sealed_secret).map_err(unreadable)?;
    match secret.step_of(digits.expose_secret(), guess.now) {
        Some(step) if step > last_step => Ok(Proven { customer, guess, by: By::Step(step) }),
        Some(_) => {
            let forget = async || second_factors::forget_guess(&mut storefront.pool.acquire().await?, customer).await;
            repeated(forget).await?;
            Err(ProblemCode::CodeUsed.into())
        }
        None => {
            let mut conn = storefront.pool.acquire().await?;
            if let Some(lockout) = begins {
                customers::publish_lockout(&mut conn, (guess.store, customer), ("second_factor", lockout), guess.now).await;
            }
            guessing::note_wrong(&mut conn, &storefront.challenges.suspects, &guess, &subject(customer)).await?;
            Err(ProblemCode::CodeInvalid.into())
        }
    }
}

/// The application key has changed since the secret was stored.
fn unreadable(error: CannotOpen) -> sqlx::Error {
    sqlx::Error::Decode(error.into())
}

/// What wrong guesses of a client are counted under.
fn subject(customer: CustomerId) -> String {
    customer.uuid().to_string()
}

impl Proven {
    /// Uses the answer up in the caller's transaction, and forgets the wrong ones before it. Fails if it was used before: a code is good for
    /// nothing else in its 30 seconds. The caller has locked the account.
    pub async fn consume(&self, conn: &mut Connection) -> Result<(), Problem> {
        let is_first_use = match &self.by {
            By::Step(step) => second_factors::use_step(conn, self.customer, *step).await?,
            By::RecoveryCode(digest) => {
                second_factors::forget_wrong_codes(conn, self.customer).await?;
                second_factors::use_recovery_code(conn, self.customer, digest).await?
            }
        };
        if !is_first_use {
            return Err(ProblemCode::CodeUsed.into());
        }
        Ok(guessing::take_back(conn, &self.guess, &subject(self.customer)).await?)
    }

    /// Begins the transaction of a signed-in customer that uses the answer up, with the account and the session locked.
    pub async fn begin(&self, storefront: &Storefront, caller: &SignedInCustomer) -> Result<Transaction<'static>, Problem> {
        let mut tx = storefront.pool.begin().await?;
        caller.lock(&mut tx).await?;
        self.consume(&mut tx).await?;
        Ok(tx)
    }

    /// When it was judged.
    pub fn at(&self) -> DateTime<Utc> {
        self.guess.now
    }
}
