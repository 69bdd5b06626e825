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

pub(in crate::operators) async fn insert_choices(
    conn: &mut Connection,
    digest: &[u8; 32],
    operators: &[Uuid],
    method: Method,
    expires_at: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into operator_choices (digest, operator_id, method, expires_at)
         select $1::bytea, id, $3::text, $4::timestamptz from unnest($2::uuid[]) as chosen_among (id)",
        digest,
        operators,
        method as Method,
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

/// One of them and how the first factor was proven, unless they may not sign in any more. Deletes the choice.
pub(in crate::operators) async fn use_choice(
    conn: &mut Connection,
    digest: &[u8; 32],
    operator: OperatorId,
    now: DateTime<Utc>,
) -> Result<Option<(Operator, Method)>, sqlx::Error> {
    let used = sqlx::query!(
        r#"with used as (
             delete from operator_choices where digest = $1 and expires_at > $3 returning operator_id, method
           )
           select id as "id: OperatorId", company_id as "company: CompanyId", email, role as "role: Role", created_at, totp_enabled_at,
                  used.method as "method!: Method"
           from operators join used on used.operator_id = operators.id
           where operators.id = $2 and deleted_at is null and disabled_at is null"#,
        digest,
        operator.uuid(),
        now,
    );
    Ok(used.fetch_optional(conn).await?.map(|row| {
        let operator = Operator {
            id: row.id,
            company: row.company,
            email: row.email,
            role: row.role,
            created_at: row.created_at,
            totp_enabled_at: row.totp_enabled_at,
        };
        (operator, row.method)
    }))
}
