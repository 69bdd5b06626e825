//! Mails with a link to choose a password.
//!
//! A mail is stored in the transaction that asks for it. The link is made when the mail is sent, so the database never has its secret. A
//! mail that the server does not accept is tried again after 1, 5 and 30 minutes, with another link. An instance takes a lease on a mail
//! before it sends it; one that dies afterwards makes the mail be sent twice, and only the link of the second works.

mod letter;
mod queries;

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::companies;
use crate::contact::EmailAddress;
use crate::kernel::crypto::sha256;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, OperatorId};
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::{self, Rule};
use crate::operators::mails::letter::Occasion;
use crate::operators::mails::queries::Due;
use crate::operators::one_time_link::OneTimeLink;
use crate::operators::purpose::Purpose;
use crate::operators::queries as operators;
use crate::operators::state::Operators;
use crate::providers::mail::Letter;

/// The page that a link leads to. The secret stands behind its `#`.
const PAGE: &str = "/console/password";

/// How long an invitation can be accepted.
const INVITATION: TimeDelta = TimeDelta::days(3);
/// How long a forgotten password can be replaced.
const RESET: TimeDelta = TimeDelta::hours(1);

/// How often due mails are looked for.
const EVERY: Duration = Duration::from_secs(2);
/// Longer than the timeout of sending a mail.
const LEASE: TimeDelta = TimeDelta::minutes(5);
/// When a mail is tried again, in minutes after each failure.
const RETRIES: [i64; 3] = [1, 5, 30];

/// How often a company has one address mailed: it chooses the address, and whose it is has not been asked. Those that were sent work.
const BY_COMPANY: Rule = Rule { limit: 3, window: TimeDelta::hours(1) };

/// Stores a mail that the company asks for: an invitation, or a link for somebody who is an operator already.
pub async fn queue_for_company(
    conn: &mut Connection,
    company: CompanyId,
    (operator, email): (OperatorId, &str),
    now: DateTime<Utc>,
) -> Result<(), Problem> {
    // An operator who is deleted and invited again has the same address.
    let bucket = format!("operator_mail:company:{company}:{}", hex::encode(sha256(email)));
    let asked = rate_limit::hit(conn, &bucket, BY_COMPANY, now).await?;
    if !asked.allowed {
        let limit = BY_COMPANY.limit;
        return Err(asked.problem().detail(format!("This address was mailed {limit} links within an hour. Try again later.")));
    }
    Ok(queue(conn, operator, now).await?)
}

/// Stores a mail to the operator, in place of one that was not sent yet.
pub async fn queue(conn: &mut Connection, operator: OperatorId, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    queries::store_mail(conn, operator, now).await
}

impl Operators {
    /// Refuses what needs a mail to an operator, if this deployment sends none.
    pub fn must_reach_operators(&self) -> Result<(), Problem> {
        if self.mail.is_available() && self.address_of(PAGE).is_some() {
            return Ok(());
        }
        let detail = "Operators are invited by mail, and this deployment sends none: mail.smtp_url and operators.console_url must be set. \
                      The command portico operator create needs no mail.";
        Err(Problem::new(ProblemCode::MessageNotSent).detail(detail))
    }

    /// Sends due mails as long as the program runs.
    pub fn start_worker(&self, lifecycle: &Lifecycle) {
        let (operators, until) = (self.clone(), lifecycle.clone());
        lifecycle.spawn(async move {
            until.every(EVERY, "mails to operators could not be read", || operators.send_mails()).await;
        });
    }

    /// Sends the notices and mails that are due. Notices come first: they are limited, while anybody who administers invites as many addresses as
    /// they like.
    pub async fn send_mails(&self) -> Result<(), sqlx::Error> {
        self.send_notices().await?;
        loop {
            let now = self.clock.now();
            let due = queries::claim_mail(&mut self.pool.acquire().await?, now, now + LEASE).await?;
            let Some(due) = due else { return Ok(()) };
            self.send_mail(due, now).await?;
        }
    }

    async fn send_mail(&self, due: Due, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
        let Due { operator, email, name, language, accepted, company, may_enter, failures } = due;
        let company = companies::company_name(&mut self.pool.acquire().await?, company).await?;
        let (Ok(to), Some(page), true) = (EmailAddress::parse(&email), self.address_of(PAGE), may_enter) else {
            return queries::delete_mail(&mut self.pool.acquire().await?, operator, failures).await;
        };
        let (occasion, lifetime) = if accepted { (Occasion::Reset, RESET) } else { (Occasion::Invitation, INVITATION) };
        let mut conn = self.pool.acquire().await?;
        operators::delete_links(&mut conn, operator, Purpose::Password).await?;
        let link = OneTimeLink::store(&mut conn, operator, Purpose::Password, None, now + lifetime).await?;
        drop(conn);
        let written = letter::write(language, name.as_deref(), &company, occasion, &format!("{page}#{}", link.reveal()));
        let letter = Letter { to: &to, subject: &written.subject, text: &written.text, html: Some(&written.html), code: None, at: now };
        let sent = self.mail.send(letter).await;
        let mut conn = self.pool.acquire().await?;
        let retry = usize::try_from(failures).ok().and_then(|failures| RETRIES.get(failures));
        match (sent, retry) {
            (Ok(()), _) => queries::delete_mail(&mut conn, operator, failures).await,
            (Err(_), Some(minutes)) => {
                tracing::warn!(%operator, "a mail to an operator could not be sent; it will be tried again");
                queries::postpone_mail(&mut conn, operator, failures, now + TimeDelta::minutes(*minutes)).await
            }
            (Err(_), None) => {
                tracing::error!(%operator, "a mail to an operator could not be sent; no retries are left");
                queries::delete_mail(&mut conn, operator, failures).await
            }
        }
    }
}
