//! How an operator signs in: with a password, with a link, or with the company's identity provider; and with a second factor after the
//! first two.
//!
//! An operator belongs to one company. Somebody who works for several companies is an operator of each, with the same address, but with a
//! password, a second factor and sessions for each. So no company reaches into another one, whatever it resets, and each moves to another cell
//! alone. A password signs in the operators whose own it is. If they are several, the person chooses ([`Progress::Choice`]).

use chrono::{DateTime, TimeDelta, Utc};
use secrecy::SecretString;

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::{Caller, Who};
use crate::contact::EmailAddress;
use crate::kernel::database::Connection;
use crate::kernel::ids::OperatorSessionId;
use crate::kernel::password_hashing::{Comparison, HashingBusy, HashingPlace};
use crate::kernel::rate_limit::RateLimitStatus;
use crate::operators::guesses::{Browser, Guess, asker};
use crate::operators::known_browser::KnownBrowser;
use crate::operators::notices::{self, Notice};
use crate::operators::one_time_link::OneTimeLink;
use crate::operators::operator::Operator;
use crate::operators::purpose::Purpose;
use crate::operators::queries::{self, Candidate};
use crate::operators::session::{Method, NewSession, SessionToken};
use crate::operators::state::Operators;
use crate::operators::totp::{self, CodeRefusal};

/// How long a company can be chosen after the first factor was proven, and then the second factor be proven.
const STEP: TimeDelta = TimeDelta::minutes(10);

/// How many passwords are compared at least, so that the time it takes does not tell whether somebody works for none, one or two companies.
const LEAST_COMPARED: usize = 2;

/// An operator has signed in.
#[derive(Debug)]
pub struct SignedIn {
    /// The token of the session, for the cookie.
    pub token: SessionToken,
    /// The proof that this browser is known, for a cookie that outlives the session.
    pub browser: KnownBrowser,
}

/// An operator has proven the first factor.
#[derive(Debug)]
pub enum Progress {
    /// It was enough.
    SignedIn(SignedIn),
    /// It was that of operators of several companies, or an invitation has to be accepted: one is chosen. The browser keeps the secret of the
    /// step in a cookie, so no other browser can go on.
    Choice(OneTimeLink),
    /// The second factor is asked for. The browser keeps the secret of this step likewise.
    SecondStep(OneTimeLink),
}

/// The reason why somebody is not signed in.
#[derive(Debug, thiserror::Error)]
pub enum SignInRefusal {
    /// There is no such operator, or the password or the code is another one.
    #[error("the proof is wrong")]
    Wrong,
    /// There is no such link or step, or it was used or has expired.
    #[error("the link is not valid any more")]
    LinkEnded,
    /// Too many proofs were wrong.
    #[error("too many attempts")]
    TooMany(RateLimitStatus),
    /// The password could not be compared at this time.
    #[error(transparent)]
    Busy(#[from] HashingBusy),
    /// A database error.
    #[error("the sign-in could not be stored")]
    Database(#[from] sqlx::Error),
}

impl From<CodeRefusal> for SignInRefusal {
    fn from(refusal: CodeRefusal) -> Self {
        match refusal {
            CodeRefusal::Wrong | CodeRefusal::Required | CodeRefusal::ProofNeeded(_) => Self::Wrong,
            CodeRefusal::TooMany(status) => Self::TooMany(status),
            CodeRefusal::Database(error) => Self::Database(error),
        }
    }
}

impl Operators {
    /// Signs the operator with this address and password in. It takes as long if there is none.
    pub async fn sign_in(&self, email: &str, password: &SecretString, browser: &Browser) -> Result<Progress, SignInRefusal> {
        let place = self.hashing.reserve(asker(browser.address))?;
        let (now, email) = (self.clock.now(), EmailAddress::parse(email).map(|email| email.key()).unwrap_or_default());
        let mut conn = self.pool.acquire().await?;
        let found = queries::list_candidates(&mut conn, &email).await?;
        let guess = Guess::password(&self.key, &email, browser);
        guess.count(&mut conn, now).await?.map_err(SignInRefusal::TooMany)?;
        drop(conn);
        let proven = proven_by(&place, password, found).await;
        if proven.is_empty() {
            tracing::warn!(address = %browser.address.ip(), "an operator's sign-in failed");
            return Err(SignInRefusal::Wrong);
        }
        let mut conn = self.pool.acquire().await?;
        guess.take_back(&mut conn, now).await?;
        self.go_on(&mut conn, &proven, Method::Password, browser, now).await
    }

    /// Signs the operator of a link in. The link is used up by that.
    pub async fn sign_in_by_link(&self, link: &OneTimeLink, browser: &Browser) -> Result<Progress, SignInRefusal> {
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        let mut transaction = conn.begin().await?;
        let used = queries::use_link(&mut transaction, &link.digest(), Purpose::SignIn, now).await?;
        let (operator, _) = used.ok_or(SignInRefusal::LinkEnded)?;
        let progress = self.go_on(&mut transaction, &[operator], Method::Link, browser, now).await?;
        transaction.commit().await?;
        Ok(progress)
    }

    /// Signs in an operator whose browser has proven the first factor, with a code of the app or a recovery code.
    pub async fn sign_in_by_code(&self, step: &OneTimeLink, code: &str, browser: &Browser) -> Result<SignedIn, SignInRefusal> {
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        let digest = step.digest();
        let found = queries::find_link(&mut conn, &digest, Purpose::SecondStep, now).await?;
        drop(conn);
        let (operator, _) = found.ok_or(SignInRefusal::LinkEnded)?;
        self.prove_code(&operator, code, browser).await?;
        let mut conn = self.pool.acquire().await?;
        let mut transaction = conn.begin().await?;
        // Whoever has disabled the operator in between has ended the step.
        let used = queries::use_link(&mut transaction, &digest, Purpose::SecondStep, now).await?;
        let (operator, method) = used.ok_or(SignInRefusal::LinkEnded)?;
        let signed_in = self.start_session(&mut transaction, &operator, method.unwrap_or(Method::Password), browser, now).await?;
        transaction.commit().await?;
        Ok(signed_in)
    }

    /// Whether the step still waits for the second factor.
    pub async fn is_waiting(&self, step: &OneTimeLink) -> Result<bool, sqlx::Error> {
        let mut conn = self.pool.acquire().await?;
        Ok(queries::find_link(&mut conn, &step.digest(), Purpose::SecondStep, self.clock.now()).await?.is_some())
    }

    /// Goes on after the first factor was proven, which is that of each of these operators. The provider decides how many factors it asks for.
    pub(super) async fn go_on(
        &self,
        conn: &mut Connection,
        proven: &[Operator],
        method: Method,
        browser: &Browser,
        now: DateTime<Utc>,
    ) -> Result<Progress, SignInRefusal> {
        let [operator] = proven else { return self.offer(conn, proven, method, None, now).await };
        if method != Method::Oidc && operator.totp_enabled_at.is_some() {
            let step = OneTimeLink::store(conn, operator.id, Purpose::SecondStep, Some(method), now + STEP).await?;
            return Ok(Progress::SecondStep(step));
        }
        Ok(Progress::SignedIn(self.start_session(conn, operator, method, browser, now).await?))
    }

    /// Lets the person choose among these operators. If choosing accepts an invitation, `person` is who they are at the identity provider: issuer and
    /// subject.
    pub(super) async fn offer(
        &self,
        conn: &mut Connection,
        proven: &[Operator],
        method: Method,
        person: Option<(&str, &str)>,
        now: DateTime<Utc>,
    ) -> Result<Progress, SignInRefusal> {
        Ok(Progress::Choice(OneTimeLink::store_choice(conn, proven, method, person, now + STEP).await?))
    }

    /// Starts a session. It is a new one whatever the browser had before, and ends that. The operator is told of it, unless they know the browser or
    /// sign in for the first time.
    pub(super) async fn start_session(
        &self,
        conn: &mut Connection,
        operator: &Operator,
        method: Method,
        browser: &Browser,
        now: DateTime<Utc>,
    ) -> Result<SignedIn, SignInRefusal> {
        let (id, token) = (OperatorSessionId::new(now), SessionToken::generate());
        let who = Who::Operator(operator.id);
        let caller = Caller { company: operator.company, grant: operator.role.grant(), who, request: browser.request };
        let user_agent = browser.user_agent.chars().take(200).collect();
        let session = NewSession { id, operator: operator.id, address: browser.address.ip().to_string(), user_agent, method };
        let mut transaction = conn.begin().await?;
        // Holds the row, so that whoever disables or deletes the operator at this moment ends the session too.
        let is_first = queries::record_sign_in(&mut transaction, operator.id, now).await?.ok_or(SignInRefusal::Wrong)?;
        totp::forget_offer(&mut transaction, operator.id).await?;
        let is_known = browser.known.as_ref().is_some_and(|proof| KnownBrowser::number(&self.key, &operator.email, proof).is_some());
        if !is_first && !is_known {
            notices::tell(&mut transaction, operator.id, Notice::SignIn, Some(&session.address), now).await?;
        }
        if let Some(before) = &browser.session {
            queries::delete_session_by_token(&mut transaction, &before.digest()).await?;
        }
        queries::insert_session(&mut transaction, &session, &token.digest(), now).await?;
        audit_trail::record(&mut transaction, &caller, Action::Created, ChangedRecord::OperatorSession(id), now).await?;
        transaction.commit().await?;
        self.unknown_sessions.remember(&token.digest());
        Ok(SignedIn { token, browser: KnownBrowser::new(&self.key, &operator.email, browser.known.as_ref()) })
    }
}

/// Those of the operators whose password this is. An invitation that nobody has accepted has none, and costs no time.
async fn proven_by(place: &HashingPlace, password: &SecretString, found: Vec<Candidate>) -> Vec<Operator> {
    let mut compared: Vec<_> =
        found.into_iter().filter_map(|candidate| Some((Some(candidate.operator), Some(candidate.password?)))).collect();
    compared.resize_with(compared.len().max(LEAST_COMPARED), || (None, None));
    let mut proven = Vec::new();
    for (operator, stored) in compared {
        if place.compare(password, stored).await != Comparison::Wrong {
            proven.extend(operator);
        }
    }
    proven
}
