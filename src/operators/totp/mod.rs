//! The second factor: an authenticator app (TOTP, RFC 6238), and recovery codes for the day on which it is lost.
//!
//! An operator gets a secret, and proves with a code that their app has it; from then on, a sign-in with a password or a link asks for a
//! code. A code works once, also for requests that arrive at the same moment: the step of the last accepted one is stored by the statement
//! that compares it. Guesses are limited as passwords are, and only somebody with the password or a cookie of the operator can guess at all.
//!
//! Setting one up asks for a proof that is not old, so that nobody keeps an operator out with a copied cookie. A secret that waits for its first code
//! is forgotten with the next sign-in and the next proof: whoever has seen it before must not know the factor that is set up later. Removing the factor
//! and replacing the recovery codes take a code. Every change ends the operator's other sessions, gives this one another token, and is told to them.

mod qr_code;
mod queries;
mod recovery_code;
mod secret;

use secrecy::{ExposeSecret, SecretString};

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::{Area, Caller, Scope};
use crate::companies;
use crate::kernel::crypto::{CannotOpen, TotpSecret, six_digits};
use crate::kernel::database::Connection;
use crate::kernel::ids::OperatorId;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::RateLimitStatus;
use crate::operators::guesses::{Browser, Guess};
use crate::operators::notices::{self, Notice};
use crate::operators::operator::Operator;
use crate::operators::queries as operators;
use crate::operators::session::{LiveSession, Method, SessionToken};
use crate::operators::state::Operators;

pub use qr_code::QrPath;
pub use queries::{count_operators_by_key_of_codes, count_operators_with_other_codes};
pub use recovery_code::RecoveryCode;
pub use secret::SEALED;

/// What an app shows the account under.
const ISSUER: &str = "Portico";
/// How many letters of a company's name it shows, so that the QR code stays small.
const MAX_COMPANY: usize = 40;

/// What an operator needs to add the account to an app.
#[derive(Clone)]
pub struct Enrolment {
    /// The QR code that the app reads.
    pub qr: QrPath,
    /// The secret, for an app that reads none.
    pub secret: SecretString,
}

/// The reason why a code is refused.
#[derive(Debug, thiserror::Error)]
pub enum CodeRefusal {
    /// It is another one, or it was used before.
    #[error("the code is wrong")]
    Wrong,
    /// Too many codes were wrong.
    #[error("too many attempts")]
    TooMany(RateLimitStatus),
    /// The deployment requires a second factor of this operator.
    #[error("the second factor is required")]
    Required,
    /// The operator has to prove again who they are.
    #[error(transparent)]
    ProofNeeded(Problem),
    /// A database error.
    #[error("the code could not be checked")]
    Database(#[from] sqlx::Error),
}

/// The application key has changed since the secret was stored.
impl From<CannotOpen> for CodeRefusal {
    fn from(error: CannotOpen) -> Self {
        Self::Database(sqlx::Error::Decode(error.into()))
    }
}

impl Operators {
    /// Whether the deployment requires a second factor of operators with this role.
    pub fn requires_totp(&self, operator: &Operator) -> bool {
        self.settings.totp.requires(operator.role)
    }

    /// Whether the operator must set up a second factor before anything else. Whoever signed in with the provider has proven there what
    /// the company asks for.
    pub fn must_enrol(&self, session: &LiveSession) -> bool {
        session.method != Method::Oidc && session.operator.totp_enabled_at.is_none() && self.requires_totp(&session.operator)
    }

    /// The secret that waits for its first code. It stays the same until then, or until the next sign-in or proof.
    pub async fn enrolment(&self, session: &LiveSession) -> Result<Enrolment, CodeRefusal> {
        session.require_proof().map_err(CodeRefusal::ProofNeeded)?;
        let operator = &session.operator;
        let mut conn = self.pool.acquire().await?;
        let fresh = secret::seal(&TotpSecret::generate(), &self.key, operator.id);
        let sealed = queries::offer_secret(&mut conn, operator.id, &fresh).await?.ok_or(CodeRefusal::Wrong)?;
        let secret = secret::open(&self.key, operator.id, &sealed)?;
        // Somebody who works for several companies has an account for each in the app.
        let company = companies::company_name(&mut conn, operator.company).await?;
        let company: String = company.chars().take(MAX_COMPANY).collect();
        let address = secret.address(ISSUER, &format!("{} ({company})", operator.email));
        Ok(Enrolment { qr: QrPath::of(address.expose_secret()), secret: secret::in_groups(&secret) })
    }

    /// Asks for codes from now on, once `code` has proven that the app has the secret. Returns the recovery codes, and the token that the session has
    /// from now on.
    pub async fn enable_totp(
        &self,
        caller: &Caller,
        session: &LiveSession,
        code: &str,
        browser: &Browser,
    ) -> Result<(Vec<RecoveryCode>, SessionToken), CodeRefusal> {
        session.require_proof().map_err(CodeRefusal::ProofNeeded)?;
        let operator = &session.operator;
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        let sealed = queries::find_offered_secret(&mut conn, operator.id).await?.ok_or(CodeRefusal::Wrong)?;
        let secret = secret::open(&self.key, operator.id, &sealed)?;
        let digits = six_digits(code).ok_or(CodeRefusal::Wrong)?;
        let step = secret.step_of(digits.expose_secret(), now).ok_or(CodeRefusal::Wrong)?;
        let mut transaction = conn.begin().await?;
        if !queries::enable(&mut transaction, operator.id, &sealed, step, now).await? {
            return Err(CodeRefusal::Wrong);
        }
        let codes = self.replace_recovery_codes(&mut transaction, operator.id).await?;
        let token = self.changed(&mut transaction, session, browser, Notice::SecondFactorAdded).await?;
        let entry = Action::Updated(&["totp_enabled_at"]);
        audit_trail::record(&mut transaction, caller, entry, ChangedRecord::Operator(operator.id), now).await?;
        transaction.commit().await?;
        Ok((codes, token))
    }

    /// Asks for no codes any more. The operator proves the second factor for the last time. Returns the token that the session has from now on.
    pub async fn disable_totp(
        &self,
        caller: &Caller,
        session: &LiveSession,
        code: &str,
        browser: &Browser,
    ) -> Result<SessionToken, CodeRefusal> {
        let operator = &session.operator;
        if self.requires_totp(operator) {
            return Err(CodeRefusal::Required);
        }
        self.prove_code(operator, code, browser).await?;
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        let mut transaction = conn.begin().await?;
        forget(&mut transaction, operator.id).await?;
        let token = self.changed(&mut transaction, session, browser, Notice::SecondFactorRemoved).await?;
        let entry = Action::Updated(&["totp_enabled_at"]);
        audit_trail::record(&mut transaction, caller, entry, ChangedRecord::Operator(operator.id), now).await?;
        transaction.commit().await?;
        Ok(token)
    }

    /// Replaces the recovery codes. The operator proves the second factor again. Returns the token that the session has from now on as well.
    pub async fn renew_recovery_codes(
        &self,
        caller: &Caller,
        session: &LiveSession,
        code: &str,
        browser: &Browser,
    ) -> Result<(Vec<RecoveryCode>, SessionToken), CodeRefusal> {
        let operator = &session.operator;
        self.prove_code(operator, code, browser).await?;
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        let mut transaction = conn.begin().await?;
        let codes = self.replace_recovery_codes(&mut transaction, operator.id).await?;
        let token = self.changed(&mut transaction, session, browser, Notice::RecoveryCodes).await?;
        let entry = Action::Updated(&["recovery_codes"]);
        audit_trail::record(&mut transaction, caller, entry, ChangedRecord::Operator(operator.id), now).await?;
        transaction.commit().await?;
        Ok((codes, token))
    }

    /// Removes the second factor of another operator of the caller's company, who has lost it, and signs them out. They sign in with their
    /// password, and are led to another enrolment if one is required. Returns whether there was one.
    pub async fn reset_totp(&self, caller: &Caller, operator: OperatorId) -> Result<bool, Problem> {
        caller.require(Area::Administration, Scope::Admin)?;
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        let mut transaction = conn.begin().await?;
        let found = operators::find_operator(&mut transaction, caller.company, operator).await?.ok_or(ProblemCode::RecordNotFound)?;
        caller.must_cover(&found.role.grant(), None)?;
        let had_one = forget(&mut transaction, operator).await?;
        if had_one {
            operators::end_everything(&mut transaction, operator).await?;
            notices::tell(&mut transaction, operator, Notice::SecondFactorRemoved, None, now).await?;
            let entry = Action::Updated(&["totp_enabled_at"]);
            audit_trail::record(&mut transaction, caller, entry, ChangedRecord::Operator(operator), now).await?;
        }
        transaction.commit().await?;
        Ok(had_one)
    }

    /// How many recovery codes the operator has left.
    pub async fn count_recovery_codes(&self, operator: OperatorId) -> Result<i64, sqlx::Error> {
        queries::count_recovery_codes(&mut self.pool.acquire().await?, operator).await
    }

    /// Uses up a code of the app or a recovery code. A wrong one counts against the limits; what cannot be a code does not, nor does a code of the
    /// app that was used a moment ago: a form is sent twice easily.
    pub(super) async fn prove_code(&self, operator: &Operator, code: &str, browser: &Browser) -> Result<(), CodeRefusal> {
        let typed = TypedProof::read(code).ok_or(CodeRefusal::Wrong)?;
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        let guess = Guess::code(&self.key, operator, browser);
        guess.count(&mut conn, now).await?.map_err(CodeRefusal::TooMany)?;
        let judged = self.use_code(&mut conn, operator.id, typed).await?;
        if judged == Judged::Wrong {
            tracing::warn!(address = %browser.address.ip(), "an operator's second factor was wrong");
            return Err(CodeRefusal::Wrong);
        }
        guess.take_back(&mut conn, now).await?;
        if judged == Judged::Right { Ok(()) } else { Err(CodeRefusal::Wrong) }
    }

    async fn use_code(&self, conn: &mut Connection, operator: OperatorId, typed: TypedProof) -> Result<Judged, CodeRefusal> {
        let digits = match typed {
            TypedProof::RecoveryCode(recovery) => {
                let is_theirs = queries::use_recovery_code(conn, operator, &recovery.digests(&self.key, operator)).await?;
                return Ok(if is_theirs { Judged::Right } else { Judged::Wrong });
            }
            TypedProof::Digits(digits) => digits,
        };
        let Some(sealed) = queries::find_secret(conn, operator).await? else { return Ok(Judged::Wrong) };
        let secret = secret::open(&self.key, operator, &sealed)?;
        let Some(step) = secret.step_of(digits.expose_secret(), self.clock.now()) else { return Ok(Judged::Wrong) };
        Ok(if queries::use_step(conn, operator, step).await? { Judged::Right } else { Judged::Used })
    }

    /// Ends the operator's other sessions, because somebody else may be in one, and gives this one another token, because somebody else may have a
    /// copy of its cookie. Tells the operator.
    async fn changed(
        &self,
        conn: &mut Connection,
        session: &LiveSession,
        browser: &Browser,
        notice: Notice,
    ) -> Result<SessionToken, CodeRefusal> {
        let (now, token) = (self.clock.now(), SessionToken::generate());
        let before = browser.session.as_ref().ok_or(CodeRefusal::Wrong)?;
        if !operators::note_proof(conn, session.id, (&before.digest(), &token.digest()), now).await? {
            // A proof in another tab has given the session another token.
            return Err(CodeRefusal::Wrong);
        }
        operators::delete_other_sessions(conn, session.operator.id, session.id).await?;
        notices::tell(conn, session.operator.id, notice, None, now).await?;
        self.unknown_sessions.remember(&token.digest());
        Ok(token)
    }

    async fn replace_recovery_codes(&self, conn: &mut Connection, operator: OperatorId) -> Result<Vec<RecoveryCode>, sqlx::Error> {
        let codes: Vec<_> = (0..recovery_code::COUNT).map(|_| RecoveryCode::generate()).collect();
        let digests: Vec<_> = codes.iter().map(|code| code.digest(&self.key, operator)).collect();
        queries::delete_recovery_codes(conn, operator).await?;
        queries::insert_recovery_codes(conn, operator, &digests, self.key.fingerprint()).await?;
        Ok(codes)
    }
}

/// Forgets a secret that waits for its first code.
pub(super) async fn forget_offer(conn: &mut Connection, operator: OperatorId) -> Result<(), sqlx::Error> {
    queries::forget_offered_secret(conn, operator).await
}

/// Removes the second factor of an operator, and their recovery codes. Returns whether there was one.
pub async fn forget(conn: &mut Connection, operator: OperatorId) -> Result<bool, sqlx::Error> {
    queries::delete_recovery_codes(conn, operator).await?;
    queries::forget_secret(conn, operator).await
}

/// What an operator types to prove the second factor.
enum TypedProof {
    RecoveryCode(RecoveryCode),
    /// The code of the app.
    Digits(SecretString),
}

impl TypedProof {
    fn read(typed: &str) -> Option<Self> {
        RecoveryCode::read(typed).map(Self::RecoveryCode).or_else(|| six_digits(typed).map(Self::Digits))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Judged {
    Right,
    /// It is a code of the app that was accepted before.
    Used,
    Wrong,
}
