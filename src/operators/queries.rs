//! The SQL of operators.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::contact::EmailAddress;
use crate::kernel::ids::{CompanyId, OperatorId};
use crate::operators::operator::Operator;
use crate::operators::role::Role;

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

pub(super) async fn operator_exists(conn: &mut PgConnection, email: &str) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(r#"select exists(select from operators where email = $1) as "exists!""#, email).fetch_one(conn).await
}

pub(super) async fn list_operators(conn: &mut PgConnection, company: CompanyId) -> Result<Vec<Operator>, sqlx::Error> {
    sqlx::query_as!(
        Operator,
        r#"select id as "id: OperatorId", email, role as "role: Role", created_at
           from operators where company_id = $1 order by created_at, id"#,
        company.uuid(),
    )
    .fetch_all(conn)
    .await
}

/// The company of the operator with this address.
pub async fn company_of_operator(conn: &mut PgConnection, email: &EmailAddress) -> Result<Option<CompanyId>, sqlx::Error> {
    let found = sqlx::query_scalar!("select company_id from operators where email = $1", email.key()).fetch_optional(conn).await?;
    Ok(found.map(CompanyId::from))
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
