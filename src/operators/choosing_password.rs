//! How operators choose their password: invited by mail, or because they have forgotten it.
//!
//! A link is made when its mail is sent, works once, and ends with the first of: its use, its time, a newer one. Choosing a password ends
//! every session, because whoever knew the old one may have some. Somebody who works for several companies gets a mail for each, which names it.

use chrono::TimeDelta;

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::{Area, Caller, Scope, Who};
use crate::contact::EmailAddress;
use crate::kernel::ids::OperatorId;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::{self, RateLimitStatus, Rule};
use crate::operators::guesses::{Browser, asker};
use crate::operators::mails;
use crate::operators::notices::{self, Notice};
use crate::operators::one_time_link::OneTimeLink;
use crate::operators::password::OperatorPassword;
use crate::operators::purpose::Purpose;
use crate::operators::queries;
use crate::operators::session::Method;
use crate::operators::sign_in::{Progress, SignInRefusal};
use crate::operators::state::Operators;

/// Mails that one network asks for, over all operators.
const BY_NETWORK: Rule = Rule { limit: 20, window: TimeDelta::hours(1) };
/// How often strangers ask for mails to one address. Those that were sent work, so nobody is kept out by asking often.
const BY_ADDRESS: Rule = Rule { limit: 3, window: TimeDelta::hours(1) };

/// The reason why no mail is sent, whether the operator exists or not.
#[derive(Debug, thiserror::Error)]
pub enum AskRefusal {
    /// Too many were asked for from this network.
    #[error("too many mails were asked for")]
    TooMany(RateLimitStatus),
    /// A database error.
    #[error("the mail could not be stored")]
    Database(#[from] sqlx::Error),
}

impl Operators {
    /// Mails the operators with this address a link each to choose another password. What the caller learns does not depend on whether there
    /// is one.
    pub async fn forgot_password(&self, email: &str, browser: &Browser) -> Result<(), AskRefusal> {
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        let network = browser.address.network();
        let asked = rate_limit::hit_network(&mut conn, "operator_mail:network", network, BY_NETWORK, now).await?;
        if !asked.allowed {
            return Err(AskRefusal::TooMany(asked));
        }
        let Ok(email) = EmailAddress::parse(email) else { return Ok(()) };
        let bucket = format!("operator_mail:operator:{}", hex::encode(crate::kernel::crypto::sha256(email.key())));
        if rate_limit::hit(&mut conn, &bucket, BY_ADDRESS, now).await?.allowed {
            for operator in queries::list_by_email(&mut conn, &email).await? {
                mails::queue(&mut conn, operator.id, now).await?;
            }
        }
        Ok(())
    }

    /// Mails an operator of the caller's company a link to choose a password: the invitation again, or a reset.
    pub async fn send_password_link(&self, caller: &Caller, operator: OperatorId) -> Result<(), Problem> {
        caller.require(Area::Administration, Scope::Admin)?;
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        let found = queries::find_operator(&mut conn, caller.company, operator).await?.ok_or(ProblemCode::RecordNotFound)?;
        caller.must_cover(&found.role.grant(), None)?;
        self.must_reach_operators()?;
        mails::queue_for_company(&mut conn, caller.company, (operator, found.email.as_str()), now).await
    }

    /// Sets the password of the operator of a link, ends their sessions, and goes on as after a sign-in with it.
    pub async fn choose_password(
        &self,
        link: &OneTimeLink,
        password: OperatorPassword,
        browser: &Browser,
    ) -> Result<Progress, SignInRefusal> {
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        // Only somebody with a link makes us hash.
        let found = queries::find_link(&mut conn, &link.digest(), Purpose::Password, now).await?;
        drop(conn);
        found.ok_or(SignInRefusal::LinkEnded)?;
        let hash = self.hashing.reserve(asker(browser.address))?.hash(password.into_password()).await;
        let mut conn = self.pool.acquire().await?;
        let mut transaction = conn.begin().await?;
        let used = queries::use_link(&mut transaction, &link.digest(), Purpose::Password, now).await?;
        let (operator, _) = used.ok_or(SignInRefusal::LinkEnded)?;
        // Accepting an invitation is no news.
        if queries::set_password(&mut transaction, operator.id, hash.expose(), now).await? {
            notices::tell(&mut transaction, operator.id, Notice::Password, None, now).await?;
        }
        queries::end_everything(&mut transaction, operator.id).await?;
        let who = Who::Operator(operator.id);
        let caller = Caller { company: operator.company, grant: operator.role.grant(), who, request: browser.request };
        let entry = Action::Updated(&["password"]);
        audit_trail::record(&mut transaction, &caller, entry, ChangedRecord::Operator(operator.id), now).await?;
        let progress = self.go_on(&mut transaction, &[operator], Method::Password, browser, now).await?;
        transaction.commit().await?;
        Ok(progress)
    }
}
