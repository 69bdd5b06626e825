//! Notices: mails that tell an operator what happened to their access, and owners what happened to that of others. A thief of a cookie or of a
//! password can do such things, and must not do them unnoticed.
//!
//! A notice is stored in the transaction of what it tells of, so it is neither lost nor sent in vain. It has no link, so that nobody learns to trust
//! links in mails that look like it, and nothing that a thief can word, such as the name of a browser or of a key.
//!
//! Nor is it a weapon: an operator gets a few notices of a kind on one day. The limit is one of each kind, so that nobody hides a change behind a
//! flood of something else. Nor does anybody behind a flood of the same kind: what owners are told of is never dropped. Beyond the limit, it is
//! gathered into one mail for some minutes.

mod queries;
mod words;

use chrono::{DateTime, TimeDelta, Utc};

use crate::companies;
use crate::contact::EmailAddress;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, OperatorId};
use crate::kernel::rate_limit::{self, Rule};
use crate::operators::notices::queries::{Due, NewNotice};
use crate::operators::notices::words::Happening;
use crate::operators::queries as operators;
use crate::operators::state::Operators;
use crate::providers::mail::Letter;

/// How many notices of one kind an operator gets at once.
const LIMIT: Rule = Rule { limit: 10, window: TimeDelta::days(1) };
/// The time for which notices beyond the limit are gathered.
const GATHERED_FOR: TimeDelta = TimeDelta::minutes(5);
/// Longer than the timeout of sending a mail.
const LEASE: TimeDelta = TimeDelta::minutes(5);
/// When a notice is tried again, in minutes after each failure.
const RETRIES: [i64; 3] = [1, 5, 30];

/// What is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Notice {
    /// A session began in a browser in which the operator had never signed in. The detail is the address of the client.
    SignIn,
    /// There is another password.
    Password,
    /// There is a second factor.
    SecondFactorAdded,
    /// There is none any more.
    SecondFactorRemoved,
    /// There are other recovery codes.
    RecoveryCodes,
    /// The identity provider signs the operator in from now on.
    Provider,
    /// An operator was let in, for the first time or again, or has another role. The detail is who, and which role.
    Role,
    /// An API key with the scope `admin` was made or changed. The detail is its id.
    AdminKey,
    /// An operator has made or moved something that leads elsewhere: a webhook, a provider. The detail is the id of the record.
    Destination,
}

impl Notice {
    /// The word for it in the database.
    fn as_str(self) -> &'static str {
        match self {
            Self::SignIn => "sign_in",
            Self::Password => "password",
            Self::SecondFactorAdded => "second_factor_added",
            Self::SecondFactorRemoved => "second_factor_removed",
            Self::RecoveryCodes => "recovery_codes",
            Self::Provider => "provider",
            Self::Role => "role",
            Self::AdminKey => "admin_key",
            Self::Destination => "destination",
        }
    }

    /// Whether each one says something else, about others than the operator who is told. Whoever knows of ten does not know the eleventh.
    fn is_of_others(self) -> bool {
        matches!(self, Self::Role | Self::AdminKey | Self::Destination)
    }
}

/// When a notice is sent that is beyond the limit: with all others of these minutes, at their end.
fn end_of_gathering(now: DateTime<Utc>) -> DateTime<Utc> {
    let since = TimeDelta::microseconds(now.timestamp_micros().rem_euclid(GATHERED_FOR.num_seconds() * 1_000_000));
    now - since + GATHERED_FOR
}

/// Tells an operator what happens to their access in this transaction.
pub(super) async fn tell(
    conn: &mut Connection,
    operator: OperatorId,
    about: Notice,
    detail: Option<&str>,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let bucket = format!("operator_notices:{operator}:{}", about.as_str());
    let due_at = if rate_limit::hit(conn, &bucket, LIMIT, now).await?.allowed {
        now
    } else if about.is_of_others() {
        end_of_gathering(now)
    } else {
        return Ok(());
    };
    queries::store_notice(conn, NewNotice { operator, about, detail, happened_at: now, due_at }).await
}

/// Tells the owners of a company who can sign in, and the operator whom it concerns. An owner who does it is told as well: it may be somebody
/// else with their cookie.
pub async fn tell_owners(
    conn: &mut Connection,
    company: CompanyId,
    concerned: Option<OperatorId>,
    about: Notice,
    detail: &str,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let mut told = operators::list_owners(conn, company).await?;
    told.extend(concerned);
    // In one order, so that two transactions do not wait for each other.
    told.sort_unstable();
    told.dedup();
    for operator in told {
        tell(conn, operator, about, Some(detail), now).await?;
    }
    Ok(())
}

impl Operators {
    /// Sends the notices that are due.
    pub(super) async fn send_notices(&self) -> Result<(), sqlx::Error> {
        loop {
            let now = self.clock.now();
            let due = queries::claim_notices(&mut self.pool.acquire().await?, now, now + LEASE).await?;
            let Some(first) = due.first() else { return Ok(()) };
            self.send_gathered(first, &due, now).await?;
        }
    }

    /// Sends notices of one kind to one operator in one mail: that of `first`, and others that were gathered with it.
    async fn send_gathered(&self, first: &Due, due: &[Due], now: DateTime<Utc>) -> Result<(), sqlx::Error> {
        let (operator, about, ids) = (first.operator, first.about, due.iter().map(|notice| notice.id).collect::<Vec<_>>());
        let mut conn = self.pool.acquire().await?;
        let company = companies::company_name(&mut conn, first.company).await?;
        // Without a mail server nobody is told, and nothing piles up.
        let (Ok(to), true) = (EmailAddress::parse(&first.email), self.mail.is_available()) else {
            return queries::delete_notices(&mut conn, &ids).await;
        };
        drop(conn);
        let happenings: Vec<_> =
            due.iter().map(|notice| Happening { detail: notice.detail.as_deref().unwrap_or_default(), at: notice.happened_at }).collect();
        let written = words::write(first.language, first.name.as_deref(), &company, about, &happenings);
        let letter = Letter { to: &to, subject: &written.subject, text: &written.text, html: None, code: None, at: now };
        let sent = self.mail.send(letter).await;
        let mut conn = self.pool.acquire().await?;
        // Those that were gathered have failed together.
        let failures = first.failures;
        let retry = usize::try_from(failures).ok().and_then(|failures| RETRIES.get(failures));
        match (sent, retry) {
            (Ok(()), _) => queries::delete_notices(&mut conn, &ids).await,
            (Err(_), Some(minutes)) => {
                tracing::warn!(%operator, about = about.as_str(), "a notice to an operator could not be sent; it will be tried again");
                queries::postpone_notices(&mut conn, &ids, failures + 1, now + TimeDelta::minutes(*minutes)).await
            }
            (Err(_), None) => {
                tracing::error!(%operator, about = about.as_str(), "a notice to an operator could not be sent; no retries are left");
                queries::delete_notices(&mut conn, &ids).await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_are_gathered_until_the_next_five_minutes_have_passed() {
        let at = |second| DateTime::from_timestamp(second, 0).unwrap();
        for (now, end) in [(0, 300), (1, 300), (299, 300), (300, 600), (1_700_000_001, 1_700_000_100)] {
            assert_eq!(end_of_gathering(at(now)), at(end), "{now}");
        }
    }
}
