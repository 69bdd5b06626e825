//! Operators: the people who run a company's part of the service. They are mailed when a webhook fails, and sign in to the console.
//!
//! Writes `operators`. An operator belongs to one company and has one [`Role`].

mod password;
mod queries;
mod role;

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::PgConnection;

use crate::contact::EmailAddress;
use crate::kernel::database::violated_constraint;
use crate::kernel::ids::{CompanyId, OperatorId};
use crate::kernel::password_hashing::{HashingBusy, PasswordHashing};

pub use password::{BadOperatorPassword, OperatorPassword};
pub use role::{InvalidRole, Role};

/// An operator, without the password.
#[derive(Clone, Debug, Serialize)]
pub struct Operator {
    /// The operator's id.
    pub id: OperatorId,
    /// The address the operator signs in with and is mailed at, in lower case.
    pub email: String,
    /// The role, which determines the operator's permissions.
    pub role: Role,
    /// When the operator was created.
    pub created_at: DateTime<Utc>,
}

/// The reason why an operator could not be created.
#[derive(Debug, thiserror::Error)]
pub enum CreateOperatorError {
    /// The company does not exist.
    #[error("there is no company {0}")]
    CompanyUnknown(CompanyId),
    /// Another operator, perhaps of another company, has this address.
    #[error("an operator with this email address already exists")]
    EmailTaken,
    /// The password could not be hashed at this time.
    #[error(transparent)]
    Hashing(#[from] HashingBusy),
    /// A database error.
    #[error("the operator could not be stored")]
    Database(#[source] sqlx::Error),
}

/// Whether an operator of any company has this address.
pub async fn is_operator(conn: &mut PgConnection, email: &EmailAddress) -> Result<bool, sqlx::Error> {
    queries::operator_exists(conn, &email.key()).await
}

/// The operators of a company, the oldest first.
pub async fn list_operators(conn: &mut PgConnection, company: CompanyId) -> Result<Vec<Operator>, sqlx::Error> {
    queries::list_operators(conn, company).await
}

/// The addresses that the operators of a company are mailed at.
pub async fn list_addresses(conn: &mut PgConnection, company: CompanyId) -> Result<Vec<EmailAddress>, sqlx::Error> {
    queries::list_addresses(conn, company).await
}

/// Creates an operator who signs in with `email` and `password`.
pub async fn create_operator(
    conn: &mut PgConnection,
    hashing: &PasswordHashing,
    company: CompanyId,
    email: &EmailAddress,
    password: OperatorPassword,
    role: Role,
    now: DateTime<Utc>,
) -> Result<OperatorId, CreateOperatorError> {
    let hash = hashing.reserve()?.hash(password.into_secret()).await;
    let id = OperatorId::new(now);
    match queries::insert_operator(conn, id, company, &email.key(), hash.expose(), role, now).await {
        Ok(()) => Ok(id),
        Err(error) => Err(match violated_constraint(&error) {
            Some("operators_email_key") => CreateOperatorError::EmailTaken,
            Some("operators_company_id_fkey") => CreateOperatorError::CompanyUnknown(company),
            _ => CreateOperatorError::Database(error),
        }),
    }
}

/// Removes the operator with this address; `None` when there is none.
pub async fn remove_operator(conn: &mut PgConnection, email: &EmailAddress) -> Result<Option<OperatorId>, sqlx::Error> {
    queries::delete_operator(conn, &email.key()).await
}
