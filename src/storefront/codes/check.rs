//! Checking a guess: count, compare, commit. A right code is then consumed, once.

use chrono::{DateTime, Utc};
use secrecy::SecretString;
use uuid::Uuid;

use crate::kernel::clock::seconds_until;
use crate::kernel::crypto::{ApplicationKey, SecretDigest};
use crate::kernel::database::{Connection, repeated};
use crate::kernel::ids::{CustomerId, KeyId, StoreId, TestIdentityId};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode, Sentence};
use crate::storefront::codes::queries::{CountedCode, CountedGuess};
use crate::storefront::codes::rules::{GuessedCode, Tally, Verdict, judge};
use crate::storefront::codes::{Asker, Request, SubmittedCode, Target, is_digest, queries};
use crate::storefront::customers::{self, Customer};
use crate::storefront::guessing::{self, Client, Exceeded, Guess, Kind};
use crate::storefront::purpose::Purpose;
use crate::storefront::sms_guard;
use crate::storefront::state::Storefront;

#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error("no code was sent")]
    Missing,
    #[error("the code is wrong, or there is none")]
    Invalid { attempts_left: Option<i32> },
    #[error("the code was used before")]
    Used,
    #[error("the code is older than ten minutes")]
    Expired,
    #[error("the code is locked")]
    Locked,
    #[error("the identity is locked out")]
    LockedOut { seconds: u64 },
    #[error(transparent)]
    Exceeded(#[from] Exceeded),
    #[error("the guess could not be counted")]
    Database(#[from] sqlx::Error),
}

/// The refusals of a code, for the descriptions of the routes that take one.
pub const CODE_REFUSALS: &[ProblemCode] = &[
    ProblemCode::CodeInvalid,
    ProblemCode::CodeUsed,
    ProblemCode::CodeExpired,
    ProblemCode::CodeLocked,
    ProblemCode::IdentityLockedOut,
    ProblemCode::GuessesExceeded,
];

impl From<CheckError> for Problem {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::Missing => FieldErrors::one("code", Sentence::new("{} is required.").with("code")),
            CheckError::Invalid { attempts_left: None } => ProblemCode::CodeInvalid.into(),
            CheckError::Invalid { attempts_left: Some(left) } => Problem::new(ProblemCode::CodeInvalid).member("attempts_left", left),
            CheckError::Used => ProblemCode::CodeUsed.into(),
            CheckError::Expired => ProblemCode::CodeExpired.into(),
            CheckError::Locked => ProblemCode::CodeLocked.into(),
            CheckError::LockedOut { seconds } => Problem::new(ProblemCode::IdentityLockedOut).retry_after(seconds),
            CheckError::Exceeded(exceeded) => exceeded.into(),
            CheckError::Database(error) => error.into(),
        }
    }
}

/// A right code. It has no effect until it is consumed.
#[derive(Debug)]
#[must_use = "a right code must be consumed in the transaction of the action that it authorizes"]
pub struct VerifiedCode {
    id: Uuid,
    guess: Guess,
    identity: String,
    /// What wrong codes are counted under.
    subject: String,
    /// The phone number or email address that the code was sent to, as a key.
    sent_to: String,
    proves_identity: bool,
    /// Whether the client has guessed wrong before, which is taken back if it proves the identity.
    has_failed: bool,
    /// Whether the client may know how the code stands.
    is_told: bool,
    /// The account that the code was issued for, if there is one.
    customer: Option<CustomerId>,
}

/// A code as a client sends it, and what the client is known by.
#[derive(Clone, Copy, Debug)]
pub struct Submission<'a> {
    pub code: &'a SubmittedCode,
    pub client: Client,
    pub asker: Asker,
    /// The handle of the request for the code, if the client sends it.
    pub handle: Option<&'a SecretString>,
}

impl<'a> Submission<'a> {
    /// The code of a client with this store key, with the handle if there is one.
    pub fn of(code: &'a SubmittedCode, client: &Client, key: KeyId, handle: Option<&'a SecretString>) -> Self {
        Self { code, client: *client, asker: Asker::new(client, key), handle }
    }
}

/// Judges a guess at the latest code of `purpose` and `target`.
pub async fn check(
    storefront: &Storefront,
    store: StoreId,
    purpose: Purpose,
    target: Target,
    submission: Submission<'_>,
) -> Result<VerifiedCode, CheckError> {
    let digits = match submission.code {
        SubmittedCode::Missing => return Err(CheckError::Missing),
        // A value that is not six digits cannot be right, so it is not counted as a guess. A client's mistake must not cost the
        // customer one.
        SubmittedCode::Unusable => return Err(CheckError::Invalid { attempts_left: None }),
        SubmittedCode::Digits(digits) => digits.clone(),
    };
    let guess = storefront.guess(store, submission.client, Kind::Code);
    let _turn = storefront.guesses.turn((store, submission.client.network)).await.map_err(|_| Exceeded { seconds: 1 })?;
    let trial = Trial { guess, purpose, target, digits, asker: submission.asker, handle: submission.handle.cloned() };
    let this = storefront.clone();
    // The guess is counted even if the client disconnects.
    let Judged { verdict, identity, subject, has_failed, is_told } =
        storefront.lifecycle.finish(async move { trial.judge_and_count(&this).await }).await?;
    match verdict {
        Verdict::Right(code) => {
            let proves_identity = code.proves_identity;
            let (id, sent_to, customer) = (code.id, code.sent_to, code.customer);
            Ok(VerifiedCode { id, guess, identity, subject, sent_to, proves_identity, has_failed, is_told, customer })
        }
        Verdict::Used(_) => Err(CheckError::Used),
        Verdict::Wrong { attempts_left } => Err(CheckError::Invalid { attempts_left }),
        Verdict::Expired => Err(CheckError::Expired),
        Verdict::Locked => Err(CheckError::Locked),
        Verdict::LockedOut { until } => Err(CheckError::LockedOut { seconds: seconds_until(until, guess.now) }),
    }
}

/// A guess, and what the client is known by that makes it.
struct Trial {
    guess: Guess,
    purpose: Purpose,
    target: Target,
    digits: SecretString,
    asker: Asker,
    handle: Option<SecretString>,
}

struct Judged {
    verdict: Verdict<CountedCode>,
    identity: String,
    subject: String,
    has_failed: bool,
    is_told: bool,
}

impl Trial {
    async fn judge_and_count(self, storefront: &Storefront) -> Result<Judged, CheckError> {
        let (guess, key) = (&self.guess, &storefront.application_key);
        let count =
            async || queries::count_guess(&mut storefront.code_pool.acquire().await?, guess, self.purpose, self.target.clone()).await;
        let counted = repeated(count).await?;
        let CountedGuess { identity, subject, wrong, lockout, begins, is_favoured, has_failed, code } =
            counted.inspect_err(|_| storefront.metrics.refused_guess("code", "exceeded"))?;
        // Both are compared even without a code, so that the answer takes as long.
        let none = SecretDigest::from([0; 32]);
        let is_told = self.is_told(code.as_ref().and_then(|code| code.asked_by.as_ref()).unwrap_or(&none), &identity, key);
        let (id, digest) = code.as_ref().map_or((Uuid::nil(), &none), |code| (code.id, &code.digest));
        let matches = is_digest(digest, key, id, &self.digits);
        let guessed = code.map(|code| {
            let (guesses, expires_at, is_used) = (code.guesses, code.expires_at, code.is_used);
            GuessedCode { guesses, expires_at, is_used, matches, is_told, code }
        });
        let verdict = judge(guessed, Tally { wrong, lockout, is_favoured }, guess.now);
        storefront.metrics.guessed(verdict.as_str());
        let verdict = if is_told { verdict } else { verdict.untold() };
        match &verdict {
            Verdict::Right(_) => {}
            Verdict::Used(code) => {
                let forget = async || queries::forget_guess(&mut storefront.pool.acquire().await?, code.id, (guess.store, &subject)).await;
                repeated(forget).await?;
            }
            refused => {
                if let Some((customer, lockout)) = guessing::account_of(&subject).zip(begins) {
                    let begun = ("codes", lockout);
                    customers::publish_lockout(&mut storefront.pool.acquire().await?, (guess.store, customer), begun, guess.now).await;
                }
                if refused.is_wrong() {
                    guessing::note_wrong(&mut storefront.pool.acquire().await?, &storefront.challenges.suspects, guess, &subject).await?;
                }
            }
        }
        Ok(Judged { verdict, identity, subject, has_failed, is_told })
    }

    /// Whether the client has asked for the code, and so may know its state. A signed-in customer has asked for the code that is compared.
    fn is_told(&self, asked_by: &SecretDigest, identity: &str, key: &ApplicationKey) -> bool {
        let request = Request { store: self.guess.store, purpose: self.purpose, identity };
        self.asker.asked(asked_by, self.handle.as_ref(), (key, &request)) | matches!(self.target, Target::RequestedBy(_))
    }
}

impl VerifiedCode {
    /// The identity that the code was requested for, as a key.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// The test identity whose fixed code this is, if it was not sent.
    pub async fn test_identity(&self, conn: &mut Connection) -> Result<Option<TestIdentityId>, sqlx::Error> {
        queries::find_test_identity(conn, self.id).await
    }

    /// [Consumes](Self::consume) the code for the account that it was issued for and returns that account, locked. For flows
    /// without a session. Fails if the account no longer lists the identity that the code was requested for or the one that it
    /// was sent to: the customer may have changed either of them after the code was sent.
    pub async fn consume_for_account(&self, conn: &mut Connection, now: DateTime<Utc>) -> Result<Customer, CheckError> {
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
    ///
    /// A code for an unproven phone number was mailed to the account that lists it, so it proves nothing about the number. Such a
    /// code must not reset the tally: otherwise an attacker who guesses the codes of the number's owner could reset it with codes
    /// of their own.
    pub async fn consume(&self, conn: &mut Connection, now: DateTime<Utc>) -> Result<(), CheckError> {
        let (store, proven) = (self.guess.store, self.proves_identity.then_some(self.subject.as_str()));
        if !queries::consume_code(conn, self.id, (store, proven), now).await? {
            let is_used = self.is_told && queries::is_used(conn, self.id).await?;
            return Err(if is_used { CheckError::Used } else { CheckError::Invalid { attempts_left: None } });
        }
        match proven {
            Some(subject) if self.has_failed => guessing::take_back(conn, &self.guess, subject).await?,
            Some(_) => {}
            None => queries::take_wrong_back(conn, store, &self.subject).await?,
        }
        sms_guard::note_code_used(conn, self.id, now).await?;
        Ok(())
    }

    /// Gives a right code back whose action was refused: it stays valid. The guess stays counted on it, so that it authorizes no more tries than
    /// there may be guesses, and is taken back from the account, because it was not wrong.
    pub async fn give_back(self, conn: &mut Connection) -> Result<(), sqlx::Error> {
        queries::take_wrong_back(conn, self.guess.store, &self.subject).await
    }
}
