//! The SQL of operators, and in [`sessions`], [`links`], [`choices`] and [`bindings`] that of how they get in. That of second factors and mails is in
//! their rooms.

mod bindings;
mod choices;
mod links;
mod sessions;

use chrono::{DateTime, Utc};

use crate::contact::EmailAddress;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, OperatorId, OperatorSessionId};
use crate::kernel::password_hashing::HashedPassword;
use crate::operators::operator::Operator;
use crate::operators::role::Role;

pub(super) use bindings::{Holder, OfPerson, bind, forget_binding, list_of_person};
pub(super) use choices::{Choosable, Chosen, delete_ended_choices, insert_choices, list_choices, use_choice};
pub(super) use links::{delete_ended_links, delete_links, find_link, has_link, insert_link, use_link};
pub(super) use sessions::{
    delete_ended_sessions, delete_other_sessions, delete_session, delete_session_by_token, delete_sessions, find_session, insert_session,
    list_sessions, note_proof, touch_session,
};

pub(super) async fn insert_operator(
    conn: &mut Connection,
    id: OperatorId,
    company: CompanyId,
    email: &str,
    password_hash: &str,
    role: Role,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into operators (id, company_id, email, password_hash, role, created_at, updated_at, accepted_at)
         values ($1, $2, $3, $4, $5, $6, $6, $6)",
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

pub(super) async fn list_operators(conn: &mut Connection, company: CompanyId) -> Result<Vec<Operator>, sqlx::Error> {
    sqlx::query_as!(
        Operator,
        r#"select id as "id: OperatorId", company_id as "company: CompanyId", email, role as "role: Role", created_at, totp_enabled_at
           from operators where company_id = $1 and deleted_at is null order by created_at, id"#,
        company.uuid(),
    )
    .fetch_all(conn)
    .await
}

/// Deletes the operator with this address. The row stays, for the audit trail. Returns also whether this was an owner who could sign in.
pub(super) async fn delete_operator(
    conn: &mut Connection,
    company: CompanyId,
    email: &str,
    now: DateTime<Utc>,
) -> Result<Option<(OperatorId, bool)>, sqlx::Error> {
    let deleted = sqlx::query!(
        r#"update operators set deleted_at = $3, updated_at = $3, version = version + 1
           where email = $1 and company_id = $2 and deleted_at is null
           returning id as "id: OperatorId", role = 'owner' and disabled_at is null and accepted_at is not null as "was_owner!""#,
        email,
        company.uuid(),
        now,
    );
    Ok(deleted.fetch_optional(conn).await?.map(|row| (row.id, row.was_owner)))
}

/// Whether an operator can sign in who may let others in. Whoever takes an owner away has locked the row of the company by a trigger, so
/// that two owners cannot remove each other.
pub(super) async fn has_owner(conn: &mut Connection, company: CompanyId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists(select from operators where company_id = $1 and role = 'owner' and deleted_at is null
           and disabled_at is null and accepted_at is not null) as "has_owner!""#,
        company.uuid(),
    )
    .fetch_one(conn)
    .await
}

/// What nobody needs of an operator who is deleted.
pub(super) async fn forget_credentials(conn: &mut Connection, operator: OperatorId) -> Result<(), sqlx::Error> {
    sqlx::query!("update operators set password_hash = null where id = $1", operator.uuid()).execute(&mut *conn).await?;
    forget_binding(conn, operator).await
}

/// The owners of a company who can sign in.
pub(super) async fn list_owners(conn: &mut Connection, company: CompanyId) -> Result<Vec<OperatorId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select id as "id: OperatorId" from operators where company_id = $1 and role = 'owner'
           and deleted_at is null and disabled_at is null and accepted_at is not null"#,
        company.uuid(),
    )
    .fetch_all(conn)
    .await
}

/// The hash of the password that an operator has chosen.
pub(super) async fn find_password(conn: &mut Connection, operator: OperatorId) -> Result<Option<HashedPassword>, sqlx::Error> {
    let found = sqlx::query_scalar!(
        r#"select password_hash as "password_hash: HashedPassword" from operators where id = $1 and deleted_at is null"#,
        operator.uuid(),
    );
    Ok(found.fetch_optional(conn).await?.flatten())
}

/// Sets the password. The operator has accepted the invitation by that. Returns whether they had done so before.
pub(super) async fn set_password(conn: &mut Connection, operator: OperatorId, hash: &str, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let had_accepted = sqlx::query_scalar!(
        r#"with before as (select id, accepted_at is not null as had_accepted from operators where id = $1 for no key update)
           update operators set password_hash = $2, accepted_at = coalesce(accepted_at, $3)
           from before where operators.id = before.id returning before.had_accepted as "had_accepted!""#,
        operator.uuid(),
        hash,
        now,
    );
    Ok(had_accepted.fetch_optional(conn).await?.unwrap_or_default())
}

/// Records that a session begins. Returns whether it is the first one; `None` if the operator may not sign in any more.
pub(super) async fn record_sign_in(conn: &mut Connection, operator: OperatorId, now: DateTime<Utc>) -> Result<Option<bool>, sqlx::Error> {
    let recorded = sqlx::query_scalar!(
        r#"with before as (
             select id, last_signed_in_at is null as is_first from operators
             where id = $1 and deleted_at is null and disabled_at is null for no key update
           )
           update operators set last_signed_in_at = $2, accepted_at = coalesce(accepted_at, $2)
           from before where operators.id = before.id returning before.is_first as "is_first!""#,
        operator.uuid(),
        now,
    );
    recorded.fetch_optional(conn).await
}

/// Ends the operator's sessions, links, steps and unsent mails. Returns the sessions.
pub(super) async fn end_everything(conn: &mut Connection, operator: OperatorId) -> Result<Vec<OperatorSessionId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"with links as (delete from operator_links where operator_id = $1), mails as (delete from operator_mails where operator_id = $1),
                choices as (delete from operator_choices where operator_id = $1)
           delete from operator_sessions where operator_id = $1 returning id as "id: OperatorSessionId""#,
        operator.uuid(),
    )
    .fetch_all(conn)
    .await
}

pub(super) async fn list_addresses(conn: &mut Connection, company: CompanyId) -> Result<Vec<EmailAddress>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select email as "email: EmailAddress" from operators where company_id = $1
           and deleted_at is null and disabled_at is null and accepted_at is not null order by created_at"#,
        company.uuid()
    )
    .fetch_all(conn)
    .await
}

/// The operator of a company with this address.
pub async fn find_by_email(conn: &mut Connection, company: CompanyId, email: &EmailAddress) -> Result<Option<Operator>, sqlx::Error> {
    sqlx::query_as!(
        Operator,
        r#"select id as "id: OperatorId", company_id as "company: CompanyId", email, role as "role: Role", created_at, totp_enabled_at
           from operators where company_id = $1 and email = $2 and deleted_at is null"#,
        company.uuid(),
        email.key(),
    )
    .fetch_optional(conn)
    .await
}

/// The operators with this address, of all companies.
pub async fn list_by_email(conn: &mut Connection, email: &EmailAddress) -> Result<Vec<Operator>, sqlx::Error> {
    sqlx::query_as!(
        Operator,
        r#"select id as "id: OperatorId", company_id as "company: CompanyId", email, role as "role: Role", created_at, totp_enabled_at
           from operators where email = $1 and deleted_at is null order by created_at, id"#,
        email.key(),
    )
    .fetch_all(conn)
    .await
}

/// Whether an operator has this address, in its one spelling.
pub(super) async fn has_email(conn: &mut Connection, email: &str) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(r#"select exists (select from operators where email = $1 and deleted_at is null) as "exists!""#, email)
        .fetch_one(conn)
        .await
}

/// The operator of a company with this id.
pub(super) async fn find_operator(conn: &mut Connection, company: CompanyId, id: OperatorId) -> Result<Option<Operator>, sqlx::Error> {
    sqlx::query_as!(
        Operator,
        r#"select id as "id: OperatorId", company_id as "company: CompanyId", email, role as "role: Role", created_at, totp_enabled_at
           from operators where id = $1 and company_id = $2 and deleted_at is null"#,
        id.uuid(),
        company.uuid(),
    )
    .fetch_optional(conn)
    .await
}

/// The role of an operator of a company; `None` if they are disabled or deleted.
pub(super) async fn find_role(conn: &mut Connection, company: CompanyId, id: OperatorId) -> Result<Option<Role>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select role as "role: Role" from operators
           where id = $1 and company_id = $2 and deleted_at is null and disabled_at is null"#,
        id.uuid(),
        company.uuid(),
    )
    .fetch_optional(conn)
    .await
}

/// An operator who may sign in.
pub(super) struct Candidate {
    pub(super) operator: Operator,
    /// The hash of the password they have chosen.
    pub(super) password: Option<HashedPassword>,
}

/// The operators with this address, in its one spelling, of all companies, but for those who are disabled.
pub(super) async fn list_candidates(conn: &mut Connection, email: &str) -> Result<Vec<Candidate>, sqlx::Error> {
    let found = sqlx::query!(
        r#"select id as "id: OperatorId", company_id as "company: CompanyId", email, role as "role: Role", created_at,
                  totp_enabled_at, password_hash as "password_hash: HashedPassword"
           from operators where email = $1 and deleted_at is null and disabled_at is null order by created_at, id"#,
        email,
    );
    let found = found.fetch_all(conn).await?;
    let candidates = found.into_iter().map(|row| Candidate {
        operator: Operator {
            id: row.id,
            company: row.company,
            email: row.email,
            role: row.role,
            created_at: row.created_at,
            totp_enabled_at: row.totp_enabled_at,
        },
        password: row.password_hash,
    });
    Ok(candidates.collect())
}
