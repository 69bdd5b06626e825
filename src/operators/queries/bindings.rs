//! The SQL of operators' bindings to their person at the identity provider.

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, OperatorId};
use crate::operators::operator::Operator;
use crate::operators::role::Role;

/// Who signs in with the provider as an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub(in crate::operators) enum Holder {
    ThisPerson,
    AnotherPerson,
    Nobody,
}

/// An operator as whom a person at the provider may sign in.
pub(in crate::operators) struct OfPerson {
    pub(in crate::operators) operator: Operator,
    /// Whether they have accepted their invitation.
    pub(in crate::operators) has_accepted: bool,
    pub(in crate::operators) holder: Holder,
}

/// The operators who may sign in and are bound to this person at the provider, or have the address that it vouches for. In a company in which one is
/// bound to the person, no other one counts.
pub(in crate::operators) async fn list_of_person(
    conn: &mut Connection,
    (issuer, subject): (&str, &str),
    email: Option<&str>,
) -> Result<Vec<OfPerson>, sqlx::Error> {
    let found = sqlx::query!(
        r#"select id as "id: OperatorId", company_id as "company: CompanyId", email, role as "role: Role", created_at, totp_enabled_at,
                  accepted_at is not null as "has_accepted!",
                  case when provider_issuer is distinct from $1 then 'nobody' when provider_subject = $2 then 'this_person'
                       else 'another_person' end as "holder!: Holder"
           from operators
           where (provider_issuer = $1 and provider_subject = $2 or email = $3) and deleted_at is null and disabled_at is null
                 and not exists (
                   select from operators as bound where bound.company_id = operators.company_id and bound.id <> operators.id
                   and bound.provider_issuer = $1 and bound.provider_subject = $2 and bound.deleted_at is null
                 )
           order by created_at, id"#,
        issuer,
        subject,
        email,
    );
    let found = found.fetch_all(conn).await?.into_iter().map(|row| OfPerson {
        operator: Operator {
            id: row.id,
            company: row.company,
            email: row.email,
            role: row.role,
            created_at: row.created_at,
            totp_enabled_at: row.totp_enabled_at,
        },
        has_accepted: row.has_accepted,
        holder: row.holder,
    });
    Ok(found.collect())
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
