//! Operators: the people who run a company's part of the service. They are mailed when a webhook fails, and sign in to the console.
//!
//! Writes `operators`, `operator_sessions` and `operator_links`. An operator belongs to one company and has one [`Role`], which yields
//! the grant of a [`Caller`]. Operators are created and removed by administrators.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! sign_in                      proves who somebody is, and starts a session
//! sessions       one_time_link  browsers in which somebody is signed in, and links that sign in once
//! queries                      the SQL
//! session                      a session and its token
//! operator       password      an operator, and the passwords they may choose
//! state          role          what signing in needs, and what an operator may do
//! known_browser                how a browser proves that an operator has used it before
//! ```

mod known_browser;
mod one_time_link;
mod operator;
mod password;
mod queries;
mod role;
mod session;
mod sessions;
mod sign_in;
mod state;

use chrono::{DateTime, Utc};
use sqlx::{Connection, PgConnection};

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::{Area, Caller, Scope};
use crate::contact::EmailAddress;
use crate::kernel::database::violated_constraint;
use crate::kernel::ids::{CompanyId, OperatorId};
use crate::kernel::password_hashing::{HashingBusy, PasswordHashing};
use crate::kernel::problem::Problem;

pub use one_time_link::OneTimeLink;
pub use operator::Operator;
pub use password::{BadOperatorPassword, OperatorPassword};
pub use queries::find_by_email;
pub use role::{InvalidRole, Role};
pub use session::{LiveSession, OperatorSession, SessionToken};
pub use sign_in::{Browser, SignInRefusal, SignedIn};
pub use state::{Operators, Settings};

/// The reason why an operator could not be created.
#[derive(Debug, thiserror::Error)]
pub enum CreateOperatorError {
    /// The caller is no administrator.
    #[error(transparent)]
    NotAllowed(Problem),
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

/// The reason why an operator could not be removed.
#[derive(Debug, thiserror::Error)]
pub enum RemoveOperatorError {
    /// The caller is no administrator.
    #[error(transparent)]
    NotAllowed(Problem),
    /// A database error.
    #[error("the operator could not be removed")]
    Database(#[from] sqlx::Error),
}

/// The operators of a company, the oldest first.
pub async fn list_operators(conn: &mut PgConnection, company: CompanyId) -> Result<Vec<Operator>, sqlx::Error> {
    queries::list_operators(conn, company).await
}

/// The addresses that the operators of a company are mailed at.
pub async fn list_addresses(conn: &mut PgConnection, company: CompanyId) -> Result<Vec<EmailAddress>, sqlx::Error> {
    queries::list_addresses(conn, company).await
}

/// Creates an operator of the caller's company, who signs in with `email` and `password`.
pub async fn create_operator(
    conn: &mut PgConnection,
    hashing: &PasswordHashing,
    caller: &Caller,
    email: &EmailAddress,
    password: OperatorPassword,
    role: Role,
    now: DateTime<Utc>,
) -> Result<OperatorId, CreateOperatorError> {
    caller.require(Area::Administration, Scope::Admin).map_err(CreateOperatorError::NotAllowed)?;
    let hash = hashing.reserve()?.hash(password.into_secret()).await;
    let (id, company) = (OperatorId::new(now), caller.company);
    let created = async {
        let mut transaction = conn.begin().await?;
        queries::insert_operator(&mut transaction, id, company, &email.key(), hash.expose(), role, now).await?;
        audit_trail::record(&mut transaction, caller, Action::Created, ChangedRecord::Operator(id), now).await?;
        transaction.commit().await
    };
    match created.await {
        Ok(()) => Ok(id),
        Err(error) => Err(match violated_constraint(&error) {
            Some("operators_email_key") => CreateOperatorError::EmailTaken,
            Some("operators_company_id_fkey") => CreateOperatorError::CompanyUnknown(company),
            _ => CreateOperatorError::Database(error),
        }),
    }
}

/// Removes the operator with this address; `None` when the caller's company has none.
pub async fn remove_operator(
    conn: &mut PgConnection,
    caller: &Caller,
    email: &EmailAddress,
    now: DateTime<Utc>,
) -> Result<Option<OperatorId>, RemoveOperatorError> {
    caller.require(Area::Administration, Scope::Admin).map_err(RemoveOperatorError::NotAllowed)?;
    let mut transaction = conn.begin().await?;
    let removed = queries::delete_operator(&mut transaction, caller.company, &email.key()).await?;
    if let Some(id) = removed {
        audit_trail::record(&mut transaction, caller, Action::Deleted, ChangedRecord::Operator(id), now).await?;
    }
    transaction.commit().await?;
    Ok(removed)
}
