//! How somebody who works for several companies chooses one, after the first factor and before the second.
//!
//! A step is good for one choice, in the browser that has proven the first factor, and for a few minutes. Another company is opened by signing
//! in again: what proves who somebody is in one company proves nothing in another.

use crate::companies;
use crate::kernel::ids::OperatorId;
use crate::operators::binding;
use crate::operators::guesses::Browser;
use crate::operators::one_time_link::OneTimeLink;
use crate::operators::queries::{self, Choosable, Chosen};
use crate::operators::role::Role;
use crate::operators::sign_in::{Progress, SignInRefusal};
use crate::operators::state::Operators;

/// A company that can be chosen.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The person as an operator of the company.
    pub operator: OperatorId,
    /// The name of the company.
    pub company: String,
    /// What they may do there.
    pub role: Role,
    /// Whether choosing it accepts an invitation.
    pub is_invited: bool,
}

impl Operators {
    /// The companies that can be chosen with this step; none if it has been used or has expired.
    pub async fn list_choices(&self, step: &OneTimeLink) -> Result<Vec<Choice>, sqlx::Error> {
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        let mut choices = Vec::new();
        for Choosable { operator, company, role, is_invited } in queries::list_choices(&mut conn, &step.digest(), now).await? {
            let company = companies::company_name(&mut conn, company).await?;
            choices.push(Choice { operator, company, role, is_invited });
        }
        choices.sort_by(|one, other| one.company.cmp(&other.company));
        Ok(choices)
    }

    /// Goes on as one of the operators among whom is chosen. An operator who accepts an invitation after a sign-in with the identity provider is
    /// bound to that person.
    pub async fn choose_company(&self, step: &OneTimeLink, operator: OperatorId, browser: &Browser) -> Result<Progress, SignInRefusal> {
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        let mut transaction = conn.begin().await?;
        let chosen = queries::use_choice(&mut transaction, &step.digest(), operator, now).await?;
        let Chosen { operator, method, person } = chosen.ok_or(SignInRefusal::LinkEnded)?;
        if let Some((issuer, subject)) = &person
            && !binding::bind(&mut transaction, &operator, (issuer.as_str(), subject.as_str()), browser, now).await?
        {
            // Somebody has accepted the invitation meanwhile.
            return Err(SignInRefusal::LinkEnded);
        }
        let progress = self.go_on(&mut transaction, &[operator], method, browser, now).await?;
        transaction.commit().await?;
        Ok(progress)
    }
}
