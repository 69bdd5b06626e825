//! Operators: the people of a company who look after it in the console.
//!
//! Writes `operators`. An operator belongs to one company and has one [`Role`].

mod queries;

use chrono::{DateTime, Utc};
use secrecy::SecretString;
use sqlx::PgConnection;

use crate::contact::EmailAddress;
use crate::kernel::database::violated_constraint;
use crate::kernel::ids::{CompanyId, OperatorId};
use crate::kernel::password_hashing::{HashingBusy, PasswordHashing};

/// What an operator may do in the console (decisions, section 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Role {
    /// Everything.
    Owner,
    /// Endpoints, keys and secrets.
    Developer,
    /// Customers and deliveries, no secrets.
    Support,
    /// Looks, changes nothing.
    Viewer,
}

/// Why an operator could not be created.
#[derive(Debug, thiserror::Error)]
pub enum CreateOperatorError {
    /// Somebody signs in with this address already.
    #[error("an operator with this email address exists already")]
    EmailTaken,
    /// The password could not be hashed now.
    #[error(transparent)]
    Hashing(#[from] HashingBusy),
    /// The database failed.
    #[error("the operator could not be stored")]
    Database(#[source] sqlx::Error),
}

/// Whether somebody signs in with `email` already.
pub async fn is_operator(conn: &mut PgConnection, email: &EmailAddress) -> Result<bool, sqlx::Error> {
    queries::operator_exists(conn, &email.key()).await
}

/// Where the operators of a company are written to.
pub async fn list_addresses(conn: &mut PgConnection, company: CompanyId) -> Result<Vec<EmailAddress>, sqlx::Error> {
    queries::list_addresses(conn, company).await
}

/// Creates an operator who signs in with `email` and `password`.
pub async fn create_operator(
    conn: &mut PgConnection,
    hashing: &PasswordHashing,
    company: CompanyId,
    email: &EmailAddress,
    password: SecretString,
    role: Role,
    now: DateTime<Utc>,
) -> Result<OperatorId, CreateOperatorError> {
    let hash = hashing.hash(password).await?;
    let id = OperatorId::new(now);
    match queries::insert_operator(conn, id, company, &email.key(), hash.expose(), role, now).await {
        Ok(()) => Ok(id),
        Err(error) if violated_constraint(&error) == Some("operators_email_key") => Err(CreateOperatorError::EmailTaken),
        Err(error) => Err(CreateOperatorError::Database(error)),
    }
}
