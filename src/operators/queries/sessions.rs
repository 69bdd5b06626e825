//! The SQL of sessions.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, OperatorId, OperatorSessionId};
use crate::operators::operator::Operator;
use crate::operators::role::Role;
use crate::operators::session::{LiveSession, Method, NewSession, OperatorSession};

pub(in crate::operators) async fn insert_session(
    conn: &mut Connection,
    session: &NewSession,
    token_digest: &[u8; 32],
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into operator_sessions (id, operator_id, token_digest, address, user_agent, method, created_at, last_used_at)
         values ($1, $2, $3, $4, $5, $6, $7, $7)",
        session.id.uuid(),
        session.operator.uuid(),
        token_digest,
        session.address,
        session.user_agent,
        session.method as Method,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The session of a token, unless its operator may not sign in any more. It needs no proof if the last one came after `fresh_since`.
pub(in crate::operators) async fn find_session(
    conn: &mut Connection,
    token_digest: &[u8; 32],
    fresh_since: DateTime<Utc>,
) -> Result<Option<LiveSession>, sqlx::Error> {
    let found = sqlx::query!(
        r#"select session.id as "session_id: OperatorSessionId", session.created_at as session_created_at, session.last_used_at,
                  coalesce(session.proven_at, session.created_at) as "proven_at!", session.method as "method: Method", operator.totp_enabled_at,
                  operator.id as "id: OperatorId", operator.company_id as "company: CompanyId", operator.email,
                  operator.role as "role: Role", operator.created_at
           from operator_sessions as session join operators as operator on operator.id = session.operator_id
           where session.token_digest = $1 and operator.deleted_at is null and operator.disabled_at is null"#,
        token_digest,
    );
    let found = found.fetch_optional(conn).await?;
    Ok(found.map(|row| LiveSession {
        id: row.session_id,
        created_at: row.session_created_at,
        last_used_at: row.last_used_at,
        needs_proof: row.proven_at <= fresh_since,
        method: row.method,
        operator: Operator {
            id: row.id,
            company: row.company,
            email: row.email,
            role: row.role,
            created_at: row.created_at,
            totp_enabled_at: row.totp_enabled_at,
        },
    }))
}

pub(in crate::operators) async fn touch_session(
    conn: &mut Connection,
    id: OperatorSessionId,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!("update operator_sessions set last_used_at = $2 where id = $1 and last_used_at < $2", id.uuid(), now)
        .execute(conn)
        .await?;
    Ok(())
}

/// Records that the operator of a session has proven again who they are, and replaces its token: a copy of the one before is worth nothing from now
/// on. Returns whether the session still had that one.
pub(in crate::operators) async fn note_proof(
    conn: &mut Connection,
    id: OperatorSessionId,
    (before, after): (&[u8; 32], &[u8; 32]),
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let noted = sqlx::query!(
        "update operator_sessions set proven_at = $4, token_digest = $3 where id = $1 and token_digest = $2",
        id.uuid(),
        before,
        after,
        now,
    );
    Ok(noted.execute(conn).await?.rows_affected() > 0)
}

/// Ends the operator's sessions but one, because their way in has changed.
pub(in crate::operators) async fn delete_other_sessions(
    conn: &mut Connection,
    operator: OperatorId,
    kept: OperatorSessionId,
) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from operator_sessions where operator_id = $1 and id <> $2", operator.uuid(), kept.uuid()).execute(conn).await?;
    Ok(())
}

/// The sessions that were used after `idle_since` and began after `began`.
pub(in crate::operators) async fn list_sessions(
    conn: &mut Connection,
    operator: OperatorId,
    idle_since: DateTime<Utc>,
    began: DateTime<Utc>,
) -> Result<Vec<OperatorSession>, sqlx::Error> {
    sqlx::query_as!(
        OperatorSession,
        r#"select id as "id: OperatorSessionId", address, user_agent, method as "method: Method", created_at,
                  last_used_at from operator_sessions
           where operator_id = $1 and last_used_at > $2 and created_at > $3 order by created_at desc, id"#,
        operator.uuid(),
        idle_since,
        began,
    )
    .fetch_all(conn)
    .await
}

pub(in crate::operators) async fn delete_session(
    conn: &mut Connection,
    operator: OperatorId,
    id: OperatorSessionId,
) -> Result<bool, sqlx::Error> {
    let deleted = sqlx::query!("delete from operator_sessions where id = $1 and operator_id = $2", id.uuid(), operator.uuid());
    Ok(deleted.execute(conn).await?.rows_affected() > 0)
}

/// Deletes a session of the operator, or all. Returns those that were.
pub(in crate::operators) async fn delete_sessions(
    conn: &mut Connection,
    operator: OperatorId,
    one: Option<OperatorSessionId>,
) -> Result<Vec<OperatorSessionId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"delete from operator_sessions where operator_id = $1 and ($2::uuid is null or id = $2)
           returning id as "id: OperatorSessionId""#,
        operator.uuid(),
        one.map(OperatorSessionId::uuid),
    )
    .fetch_all(conn)
    .await
}

pub(in crate::operators) async fn delete_session_by_token(conn: &mut Connection, token_digest: &[u8; 32]) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from operator_sessions where token_digest = $1", token_digest).execute(conn).await?;
    Ok(())
}

/// Deletes the sessions that were not used since `idle_since` or began before `began`.
pub(in crate::operators) async fn delete_ended_sessions(
    conn: &mut Connection,
    idle_since: DateTime<Utc>,
    began: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from operator_sessions where last_used_at <= $1 or created_at <= $2", idle_since, began).execute(conn).await?;
    Ok(())
}
