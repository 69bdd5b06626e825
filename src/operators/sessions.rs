//! Finding, listing and ending sessions, one's own and those of others.

use chrono::TimeDelta;

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::{Area, Caller, Scope, Who};
use crate::companies::must_be_open;
use crate::kernel::client_address::ClientAddress;
use crate::kernel::ids::{OperatorId, OperatorSessionId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::steps::{Steps, Unfinished};
use crate::operators::queries;
use crate::operators::session::{LiveSession, OperatorSession, SessionToken};
use crate::operators::state::Operators;

/// How often the last use of a session is recorded.
const LAST_USED_INTERVAL: TimeDelta = TimeDelta::minutes(1);

impl Operators {
    /// Whether an operator has this address, in its one spelling.
    pub async fn knows(&self, email: &str) -> Result<bool, sqlx::Error> {
        queries::has_email(&mut self.pool.acquire().await?, email).await
    }

    /// Whether this is the digest of a link that has not been used, or of one that has expired a moment ago.
    pub async fn knows_link(&self, digest: &[u8; 32]) -> Result<bool, sqlx::Error> {
        queries::has_link(&mut self.pool.acquire().await?, digest).await
    }

    /// The session of this token, unless it has ended. Nobody works for a company that is not served. A client that sends too many tokens of no live
    /// session is refused before they are looked up.
    pub async fn find_session(&self, token: &SessionToken, client: ClientAddress) -> Result<Option<LiveSession>, Problem> {
        let limited = self.unknown_sessions.look_up(client.network(), &token.digest(), Box::pin(self.find_live(token))).await;
        let (found, _) = limited.map_err(|status| status.problem())?;
        found
    }

    async fn find_live(&self, token: &SessionToken) -> Result<Option<LiveSession>, Problem> {
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        let found = queries::find_session(&mut conn, &token.digest(), now - self.settings.fresh_for).await?;
        let Some(session) = found else { return Ok(None) };
        if session.last_used_at + self.settings.idle_timeout <= now || session.created_at + self.settings.session_lifetime <= now {
            return Ok(None);
        }
        must_be_open(&mut conn, session.operator.company).await?;
        if session.last_used_at + LAST_USED_INTERVAL <= now {
            queries::touch_session(&mut conn, session.id, now).await?;
        }
        Ok(Some(session))
    }

    /// What the forms of a session carry. It stays when a proof gives the session another token, so that what is typed in other tabs can be sent.
    pub fn form_token(&self, session: &LiveSession) -> String {
        hex::encode(self.key.mac("forms of the console", session.id.to_string().as_bytes()))
    }

    /// The live sessions of an operator, the latest first.
    pub async fn list_sessions(&self, operator: OperatorId) -> Result<Vec<OperatorSession>, sqlx::Error> {
        let now = self.clock.now();
        let (idle_since, began) = (now - self.settings.idle_timeout, now - self.settings.session_lifetime);
        queries::list_sessions(&mut self.pool.acquire().await?, operator, idle_since, began).await
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

    /// The live sessions of an operator of the caller's company.
    pub async fn list_sessions_of(&self, caller: &Caller, operator: OperatorId) -> Result<Vec<OperatorSession>, Problem> {
        caller.reading().require(Area::Administration, Scope::Admin)?;
        let exists = queries::find_operator(&mut self.pool.acquire().await?, caller.company, operator).await?.is_some();
        if exists { Ok(self.list_sessions(operator).await?) } else { Err(ProblemCode::RecordNotFound.into()) }
    }

    /// Ends a session of an operator of the caller's company, or all. Returns how many there were.
    pub async fn end_sessions_of(&self, caller: &Caller, operator: OperatorId, one: Option<OperatorSessionId>) -> Result<usize, Problem> {
        caller.require(Area::Administration, Scope::Admin)?;
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        let mut transaction = conn.begin().await?;
        queries::find_operator(&mut transaction, caller.company, operator).await?.ok_or(ProblemCode::RecordNotFound)?;
        let ended = queries::delete_sessions(&mut transaction, operator, one).await?;
        for id in &ended {
            audit_trail::record(&mut transaction, caller, Action::Deleted, ChangedRecord::OperatorSession(*id), now).await?;
        }
        transaction.commit().await?;
        Ok(ended.len())
    }

    /// Removes expired counters from the memory of this instance. Called about once a minute.
    pub fn sweep_memory(&self) {
        self.unknown_sessions.sweep();
    }

    /// Deletes sessions, links and choices that have ended. A periodic task calls it about once a minute.
    pub async fn sweep(&self) -> Result<(), Unfinished> {
        let (now, mut steps) = (self.clock.now(), Steps::on(&self.pool));
        let (idle_since, began) = (now - self.settings.idle_timeout, now - self.settings.session_lifetime);
        steps.run("operator_links", async |conn| queries::delete_ended_links(conn, now).await).await;
        steps.run("operator_choices", async |conn| queries::delete_ended_choices(conn, now).await).await;
        steps.run("operator_sessions", async |conn| queries::delete_ended_sessions(conn, idle_since, began).await).await;
        steps.finish()
    }
}
