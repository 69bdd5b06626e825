//! The SQL of operators' bindings to their person at the identity provider.

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, OperatorId};
use crate::operators::operator::Operator;
use crate::operators::role::Role;

/// The operator who is bound to this person at the provider.
pub(in crate::operators) async fn find_bound(conn: &mut Connection, issuer: &str, subject: &str) -> Result<Option<Operator>, sqlx::Error> {
    sqlx::query_as!(
        Operator,
        r#"select id as "id: OperatorId", company_id as "company: CompanyId", email, role as "role: Role", created_at, totp_enabled_at
           from operators where provider_issuer = $1 and provider_subject = $2 and deleted_at is null order by created_at, id limit 1"#,
        issuer,
        subject,
    )
    .fetch_optional(conn)
    .await
}

/// Binds an operator to a person at the provider, unless another person of this provider is theirs. Returns whether it did.
pub(in crate::operators) async fn bind(
    conn: &mut Connection,
    operator: OperatorId,
    (issuer, subject): (&str, &str),
) -> Result<bool, sqlx::Error> {
    let bound = sqlx::query!(
        "update operators set provider_issuer = $2, provider_subject = $3
         where id = $1 and deleted_at is null and (provider_issuer is null or provider_issuer <> $2)",
        operator.uuid(),
        issuer,
        subject,
    );
    Ok(bound.execute(conn).await?.rows_affected() > 0)
}

/// Ends the binding: the next sign-in with the provider makes another one.
pub(in crate::operators) async fn forget_binding(conn: &mut Connection, operator: OperatorId) -> Result<(), sqlx::Error> {
    let forgotten = sqlx::query!("update operators set provider_issuer = null, provider_subject = null where id = $1", operator.uuid());
    forgotten.execute(conn).await?;
    Ok(())
}
