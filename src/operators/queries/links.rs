//! The SQL of links and steps.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, OperatorId};
use crate::operators::operator::Operator;
use crate::operators::purpose::Purpose;
use crate::operators::role::Role;
use crate::operators::session::Method;

pub(in crate::operators) async fn insert_link(
    conn: &mut Connection,
    digest: &[u8; 32],
    operator: OperatorId,
    purpose: Purpose,
    method: Option<Method>,
    expires_at: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into operator_links (digest, operator_id, purpose, method, expires_at) values ($1, $2, $3, $4, $5)",
        digest,
        operator.uuid(),
        purpose as Purpose,
        method as Option<Method>,
        expires_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whether there is a link with this digest.
pub(in crate::operators) async fn has_link(conn: &mut Connection, digest: &[u8; 32]) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(r#"select exists (select from operator_links where digest = $1) as "exists!""#, digest).fetch_one(conn).await
}

/// Deletes the operator's links for this purpose.
pub(in crate::operators) async fn delete_links(conn: &mut Connection, operator: OperatorId, purpose: Purpose) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from operator_links where operator_id = $1 and purpose = $2", operator.uuid(), purpose as Purpose)
        .execute(conn)
        .await?;
    Ok(())
}

/// Deletes the links and steps that ended before `now`.
pub(in crate::operators) async fn delete_ended_links(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from operator_links where expires_at <= $1", now).execute(conn).await?;
    Ok(())
}

/// The operator of a link, unless it has expired or they may not sign in, and how they have proven the first factor.
pub(in crate::operators) async fn find_link(
    conn: &mut Connection,
    digest: &[u8; 32],
    purpose: Purpose,
    now: DateTime<Utc>,
) -> Result<Option<(Operator, Option<Method>)>, sqlx::Error> {
    let found = sqlx::query_as!(
        LinkRow,
        r#"select id as "id: OperatorId", company_id as "company: CompanyId", email, role as "role: Role", created_at, totp_enabled_at,
                  link.method as "method: Method"
           from operators join operator_links as link on link.operator_id = operators.id
           where link.digest = $1 and link.purpose = $2 and link.expires_at > $3 and deleted_at is null and disabled_at is null"#,
        digest,
        purpose as Purpose,
        now,
    );
    Ok(found.fetch_optional(conn).await?.map(LinkRow::read))
}

/// The same, and deletes the link.
pub(in crate::operators) async fn use_link(
    conn: &mut Connection,
    digest: &[u8; 32],
    purpose: Purpose,
    now: DateTime<Utc>,
) -> Result<Option<(Operator, Option<Method>)>, sqlx::Error> {
    let used = sqlx::query_as!(
        LinkRow,
        r#"with used as (
             delete from operator_links where digest = $1 and purpose = $2 and expires_at > $3 returning operator_id, method
           )
           select id as "id: OperatorId", company_id as "company: CompanyId", email, role as "role: Role", created_at, totp_enabled_at,
                  used.method as "method: Method"
           from operators join used on used.operator_id = operators.id
           where deleted_at is null and disabled_at is null"#,
        digest,
        purpose as Purpose,
        now,
    );
    Ok(used.fetch_optional(conn).await?.map(LinkRow::read))
}

struct LinkRow {
    id: OperatorId,
    company: CompanyId,
    email: String,
    role: Role,
    created_at: DateTime<Utc>,
    totp_enabled_at: Option<DateTime<Utc>>,
    method: Option<Method>,
}

impl LinkRow {
    fn read(self) -> (Operator, Option<Method>) {
        let Self { id, company, email, role, created_at, totp_enabled_at, method } = self;
        (Operator { id, company, email, role, created_at, totp_enabled_at }, method)
    }
}
