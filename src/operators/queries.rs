//! The SQL of operators, their sessions and links.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::contact::EmailAddress;
use crate::kernel::ids::{CompanyId, OperatorId, OperatorSessionId};
use crate::kernel::password_hashing::HashedPassword;
use crate::operators::operator::Operator;
use crate::operators::role::Role;
use crate::operators::session::{LiveSession, NewSession, OperatorSession};

pub(super) async fn insert_operator(
    conn: &mut PgConnection,
    id: OperatorId,
    company: CompanyId,
    email: &str,
    password_hash: &str,
    role: Role,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into operators (id, company_id, email, password_hash, role, created_at) values ($1, $2, $3, $4, $5, $6)",
        id.uuid(),
        company.uuid(),
        email,
        password_hash,
        role as Role,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn list_operators(conn: &mut PgConnection, company: CompanyId) -> Result<Vec<Operator>, sqlx::Error> {
    sqlx::query_as!(
        Operator,
        r#"select id as "id: OperatorId", company_id as "company: CompanyId", email, role as "role: Role", created_at
           from operators where company_id = $1 order by created_at, id"#,
        company.uuid(),
    )
    .fetch_all(conn)
    .await
}

pub(super) async fn delete_operator(conn: &mut PgConnection, company: CompanyId, email: &str) -> Result<Option<OperatorId>, sqlx::Error> {
    let deleted = sqlx::query_scalar!(
        r#"delete from operators where email = $1 and company_id = $2 returning id as "id: OperatorId""#,
        email,
        company.uuid(),
    );
    deleted.fetch_optional(conn).await
}

pub(super) async fn list_addresses(conn: &mut PgConnection, company: CompanyId) -> Result<Vec<EmailAddress>, sqlx::Error> {
    sqlx::query_scalar!(r#"select email as "email: EmailAddress" from operators where company_id = $1 order by created_at"#, company.uuid())
        .fetch_all(conn)
        .await
}

/// The operator with this address.
pub async fn find_by_email(conn: &mut PgConnection, email: &EmailAddress) -> Result<Option<Operator>, sqlx::Error> {
    sqlx::query_as!(
        Operator,
        r#"select id as "id: OperatorId", company_id as "company: CompanyId", email, role as "role: Role", created_at
           from operators where email = $1"#,
        email.key(),
    )
    .fetch_optional(conn)
    .await
}

/// The operator with this address, and the hash of the password.
pub(super) async fn find_credentials(conn: &mut PgConnection, email: &str) -> Result<Option<(Operator, HashedPassword)>, sqlx::Error> {
    let found = sqlx::query!(
        r#"select id as "id: OperatorId", company_id as "company: CompanyId", email, role as "role: Role", created_at,
                  password_hash as "password_hash: HashedPassword"
           from operators where email = $1"#,
        email,
    );
    let found = found.fetch_optional(conn).await?;
    Ok(found.map(|row| {
        let operator = Operator { id: row.id, company: row.company, email: row.email, role: row.role, created_at: row.created_at };
        (operator, row.password_hash)
    }))
}

pub(super) async fn insert_session(
    conn: &mut PgConnection,
    session: &NewSession,
    token_digest: &[u8; 32],
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into operator_sessions (id, operator_id, token_digest, address, user_agent, created_at, last_used_at)
         values ($1, $2, $3, $4, $5, $6, $6)",
        session.id.uuid(),
        session.operator.uuid(),
        token_digest,
        session.address,
        session.user_agent,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn find_session(conn: &mut PgConnection, token_digest: &[u8; 32]) -> Result<Option<LiveSession>, sqlx::Error> {
    let found = sqlx::query!(
        r#"select session.id as "session_id: OperatorSessionId", session.created_at as session_created_at, session.last_used_at,
                  operator.id as "id: OperatorId", operator.company_id as "company: CompanyId", operator.email,
                  operator.role as "role: Role", operator.created_at
           from operator_sessions as session join operators as operator on operator.id = session.operator_id
           where session.token_digest = $1"#,
        token_digest,
    );
    let found = found.fetch_optional(conn).await?;
    Ok(found.map(|row| LiveSession {
        id: row.session_id,
        created_at: row.session_created_at,
        last_used_at: row.last_used_at,
        operator: Operator { id: row.id, company: row.company, email: row.email, role: row.role, created_at: row.created_at },
    }))
}

pub(super) async fn touch_session(conn: &mut PgConnection, id: OperatorSessionId, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("update operator_sessions set last_used_at = $2 where id = $1 and last_used_at < $2", id.uuid(), now)
        .execute(conn)
        .await?;
    Ok(())
}

/// The sessions that were used after `idle_since` and began after `began`.
pub(super) async fn list_sessions(
    conn: &mut PgConnection,
    operator: OperatorId,
    idle_since: DateTime<Utc>,
    began: DateTime<Utc>,
) -> Result<Vec<OperatorSession>, sqlx::Error> {
    sqlx::query_as!(
        OperatorSession,
        r#"select id as "id: OperatorSessionId", address, user_agent, created_at, last_used_at from operator_sessions
           where operator_id = $1 and last_used_at > $2 and created_at > $3 order by created_at desc, id"#,
        operator.uuid(),
        idle_since,
        began,
    )
    .fetch_all(conn)
    .await
}

pub(super) async fn delete_session(conn: &mut PgConnection, operator: OperatorId, id: OperatorSessionId) -> Result<bool, sqlx::Error> {
    let deleted = sqlx::query!("delete from operator_sessions where id = $1 and operator_id = $2", id.uuid(), operator.uuid());
    Ok(deleted.execute(conn).await?.rows_affected() > 0)
}

pub(super) async fn delete_session_by_token(
    conn: &mut PgConnection,
    operator: OperatorId,
    token_digest: &[u8; 32],
) -> Result<(), sqlx::Error> {
    let deleted = sqlx::query!("delete from operator_sessions where token_digest = $1 and operator_id = $2", token_digest, operator.uuid());
    deleted.execute(conn).await?;
    Ok(())
}

/// Deletes the sessions that were not used since `idle_since` or began before `began`, and the links that ended before `now`.
pub(super) async fn delete_ended(
    conn: &mut PgConnection,
    idle_since: DateTime<Utc>,
    began: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let ended = sqlx::query!(
        "with links as (delete from operator_links where expires_at <= $3)
         delete from operator_sessions where last_used_at <= $1 or created_at <= $2",
        idle_since,
        began,
        now,
    );
    ended.execute(conn).await?;
    Ok(())
}

pub(super) async fn insert_link(
    conn: &mut PgConnection,
    digest: &[u8; 32],
    operator: OperatorId,
    expires_at: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!("insert into operator_links (digest, operator_id, expires_at) values ($1, $2, $3)", digest, operator.uuid(), expires_at,)
        .execute(conn)
        .await?;
    Ok(())
}

/// Deletes the link and returns its operator, unless it has expired.
pub(super) async fn use_link(conn: &mut PgConnection, digest: &[u8; 32], now: DateTime<Utc>) -> Result<Option<Operator>, sqlx::Error> {
    sqlx::query_as!(
        Operator,
        r#"with used as (delete from operator_links where digest = $1 and expires_at > $2 returning operator_id)
           select id as "id: OperatorId", company_id as "company: CompanyId", email, role as "role: Role", created_at
           from operators join used on used.operator_id = operators.id"#,
        digest,
        now,
    )
    .fetch_optional(conn)
    .await
}
