//! Secrets that an operator can use once, in time: links that sign in (the greeting of development), links to choose a password, and the
//! steps behind the first factor: the choice of a company, and the second factor.

use chrono::{DateTime, TimeDelta, Utc};

use crate::kernel::crypto::secret_token;
use crate::kernel::database::Connection;
use crate::kernel::ids::OperatorId;
use crate::operators::operator::Operator;
use crate::operators::purpose::Purpose;
use crate::operators::queries;
use crate::operators::session::Method;

secret_token! {
    /// The secret of a link in plain text.
    OneTimeLink, 40
}

impl OneTimeLink {
    /// Stores a link that signs the operator in once, within an hour.
    pub async fn create(conn: &mut Connection, operator: OperatorId, now: DateTime<Utc>) -> Result<Self, sqlx::Error> {
        Self::store(conn, operator, Purpose::SignIn, None, now + TimeDelta::hours(1)).await
    }

    /// Stores a link for `purpose`. A second step keeps how the first factor was proven.
    pub(super) async fn store(
        conn: &mut Connection,
        operator: OperatorId,
        purpose: Purpose,
        method: Option<Method>,
        expires_at: DateTime<Utc>,
    ) -> Result<Self, sqlx::Error> {
        let link = Self::generate();
        queries::insert_link(conn, &link.digest(), operator, purpose, method, expires_at).await?;
        Ok(link)
    }

    /// Stores a step that goes on as one of these operators. It keeps how the first factor was proven, and as which person at the identity provider an
    /// invitation is accepted.
    pub(super) async fn store_choice(
        conn: &mut Connection,
        operators: &[Operator],
        method: Method,
        person: Option<(&str, &str)>,
        expires_at: DateTime<Utc>,
    ) -> Result<Self, sqlx::Error> {
        let (step, ids) = (Self::generate(), operators.iter().map(|operator| operator.id.uuid()).collect::<Vec<_>>());
        queries::insert_choices(conn, &step.digest(), &ids, method, person, expires_at).await?;
        Ok(step)
    }
}
