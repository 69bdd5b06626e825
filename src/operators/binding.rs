//! Who an operator is at the company's identity provider: from their first sign-in with it on, the person with one subject of one issuer.

use chrono::{DateTime, Utc};

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::{Caller, Who};
use crate::kernel::database::Connection;
use crate::operators::guesses::Browser;
use crate::operators::notices::{self, Notice};
use crate::operators::operator::Operator;
use crate::operators::queries;

/// Binds an operator to a person at the provider (issuer and subject), and tells them. Returns whether it did: the first person stays.
pub(super) async fn bind(
    conn: &mut Connection,
    operator: &Operator,
    person: (&str, &str),
    browser: &Browser,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    if !queries::bind(conn, operator.id, person).await? {
        return Ok(false);
    }
    let who = Who::Operator(operator.id);
    let caller = Caller { company: operator.company, grant: operator.role.grant(), who, request: browser.request };
    audit_trail::record(conn, &caller, Action::Updated(&["provider"]), ChangedRecord::Operator(operator.id), now).await?;
    notices::tell(conn, operator.id, Notice::Provider, None, now).await?;
    Ok(true)
}
