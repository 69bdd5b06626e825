//! The SQL of the choice between operators of several companies who have the same address.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, OperatorId};
use crate::operators::operator::Operator;
use crate::operators::role::Role;
use crate::operators::session::Method;

/// One of the operators among whom is chosen.
pub(in crate::operators) struct Choosable {
    pub(in crate::operators) operator: OperatorId,
    pub(in crate::operators) company: CompanyId,
    pub(in crate::operators) role: Role,
    /// Whether the invitation was not accepted yet.
    pub(in crate::operators) is_invited: bool,
}

/// The one of them who was chosen.
pub(in crate::operators) struct Chosen {
    pub(in crate::operators) operator: Operator,
    /// How the first factor was proven.
    pub(in crate::operators) method: Method,
    /// The issuer and the subject of the person at the identity provider, if choosing accepts an invitation.
    pub(in crate::operators) person: Option<(String, String)>,
}

pub(in crate::operators) async fn insert_choices(
    conn: &mut Connection,
    digest: &[u8; 32],
    operators: &[Uuid],
    method: Method,
    person: Option<(&str, &str)>,
    expires_at: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into operator_choices (digest, operator_id, method, provider_issuer, provider_subject, expires_at)
         select $1::bytea, id, $3::text, $4::text, $5::text, $6::timestamptz from unnest($2::uuid[]) as chosen_among (id)",
        digest,
        operators,
        method as Method,
        person.map(|(issuer, _)| issuer),
        person.map(|(_, subject)| subject),
        expires_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The operators among whom is chosen with this secret; none if it has expired.
pub(in crate::operators) async fn list_choices(
    conn: &mut Connection,
    digest: &[u8; 32],
    now: DateTime<Utc>,
) -> Result<Vec<Choosable>, sqlx::Error> {
    sqlx::query_as!(
        Choosable,
        r#"select operators.id as "operator: OperatorId", company_id as "company: CompanyId", role as "role: Role",
                  accepted_at is null as "is_invited!"
           from operators join operator_choices as choice on choice.operator_id = operators.id
           where choice.digest = $1 and choice.expires_at > $2 and deleted_at is null and disabled_at is null"#,
        digest,
        now,
    )
    .fetch_all(conn)
    .await
}

/// One of them, unless they may not sign in any more. Deletes the choice.
pub(in crate::operators) async fn use_choice(
    conn: &mut Connection,
    digest: &[u8; 32],
    operator: OperatorId,
    now: DateTime<Utc>,
) -> Result<Option<Chosen>, sqlx::Error> {
    let used = sqlx::query!(
        r#"with used as (
             delete from operator_choices where digest = $1 and expires_at > $3 returning operator_id, method, provider_issuer, provider_subject
           )
           select id as "id: OperatorId", company_id as "company: CompanyId", email, role as "role: Role", created_at, totp_enabled_at,
                  used.method as "method!: Method", used.provider_issuer as "issuer?", used.provider_subject as "subject?"
           from operators join used on used.operator_id = operators.id
           where operators.id = $2 and deleted_at is null and disabled_at is null"#,
        digest,
        operator.uuid(),
        now,
    );
    Ok(used.fetch_optional(conn).await?.map(|row| Chosen {
        operator: Operator {
            id: row.id,
            company: row.company,
            email: row.email,
            role: row.role,
            created_at: row.created_at,
            totp_enabled_at: row.totp_enabled_at,
        },
        method: row.method,
        person: row.issuer.zip(row.subject),
    }))
}

/// Deletes the choices that ended before `now`.
pub(in crate::operators) async fn delete_ended_choices(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from operator_choices where expires_at <= $1", now).execute(conn).await?;
    Ok(())
}
