//! Sessions: the browsers in which an operator is signed in.

use chrono::{DateTime, TimeDelta, Utc};
use secrecy::{ExposeSecret, SecretString};
use sqlx::Connection;

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::{Caller, Who};
use crate::kernel::crypto::{random_base62, sha256};
use crate::kernel::ids::{OperatorId, OperatorSessionId};
use crate::kernel::request_id::RequestId;
use crate::operators::operator::Operator;
use crate::operators::queries;
use crate::operators::state::Operators;

/// How often the last use of a session is recorded.
const LAST_USED_INTERVAL: TimeDelta = TimeDelta::minutes(1);

/// The token of a session in plain text, as the cookie contains it; stored as a digest.
#[derive(Clone, Debug)]
pub struct SessionToken(SecretString);

impl SessionToken {
    pub(super) fn generate() -> Self {
        Self(random_base62(43).into())
    }

    /// The token of a cookie.
    pub fn claimed(text: &str) -> Self {
        Self(text.into())
    }

    /// The token in plain text, for the cookie.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }

    pub(super) fn digest(&self) -> [u8; 32] {
        sha256(self.0.expose_secret())
    }
}

/// A session that begins.
pub(super) struct NewSession {
    pub(super) id: OperatorSessionId,
    pub(super) operator: OperatorId,
    pub(super) address: String,
    pub(super) user_agent: String,
}

/// A session, as the list of an operator's own shows it.
#[derive(Clone, Debug)]
pub struct OperatorSession {
    /// The id.
    pub id: OperatorSessionId,
    /// The client's address at the sign-in.
    pub address: String,
    /// What the browser said it is.
    pub user_agent: String,
    /// When the operator signed in.
    pub created_at: DateTime<Utc>,
    /// When it was last used, accurate to a minute.
    pub last_used_at: DateTime<Utc>,
}

/// A session that is in use, and its operator.
#[derive(Clone, Debug)]
pub struct LiveSession {
    /// The id of the session.
    pub id: OperatorSessionId,
    /// Who is signed in.
    pub operator: Operator,
    pub(super) created_at: DateTime<Utc>,
    pub(super) last_used_at: DateTime<Utc>,
}

impl LiveSession {
    /// The operator as the caller of use cases.
    pub fn caller(&self, request: Option<RequestId>) -> Caller {
        let Operator { id, company, role, .. } = self.operator;
        Caller { company, grant: role.grant(), who: Who::Operator(id), request }
    }
}

impl Operators {
    /// The session of this token, unless it has ended.
    pub async fn find_session(&self, token: &SessionToken) -> Result<Option<LiveSession>, sqlx::Error> {
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        let Some(session) = queries::find_session(&mut conn, &token.digest()).await? else { return Ok(None) };
        if session.last_used_at + self.settings.idle_timeout <= now || session.created_at + self.settings.session_lifetime <= now {
            return Ok(None);
        }
        if session.last_used_at + LAST_USED_INTERVAL <= now {
            queries::touch_session(&mut conn, session.id, now).await?;
        }
        Ok(Some(session))
    }

    /// The live sessions of an operator, the latest first.
    pub async fn list_sessions(&self, operator: OperatorId) -> Result<Vec<OperatorSession>, sqlx::Error> {
        let now = self.clock.now();
        let (idle_since, began) = (now - self.settings.idle_timeout, now - self.settings.session_lifetime);
        queries::list_sessions(&mut *self.pool.acquire().await?, operator, idle_since, began).await
    }

    /// Ends a session of the operator who calls. Returns whether there was one.
    pub async fn end_session(&self, caller: &Caller, id: OperatorSessionId) -> Result<bool, sqlx::Error> {
        let Who::Operator(operator) = caller.who else { return Ok(false) };
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        let mut transaction = conn.begin().await?;
        let ended = queries::delete_session(&mut transaction, operator, id).await?;
        if ended {
            audit_trail::record(&mut transaction, caller, Action::Deleted, ChangedRecord::OperatorSession(id), now).await?;
        }
        transaction.commit().await?;
        Ok(ended)
    }

    /// Deletes sessions and links that have ended. A periodic task calls it about once a minute.
    pub async fn sweep(&self) -> Result<(), sqlx::Error> {
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        queries::delete_ended(&mut conn, now - self.settings.idle_timeout, now - self.settings.session_lifetime, now).await
    }
}
