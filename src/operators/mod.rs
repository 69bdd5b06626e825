//! Operators: the people who run a company's part of the service. They are mailed when a webhook fails, and sign in to the console.
//!
//! Writes `operators`, `operator_sessions`, `operator_links`, `operator_choices`, `operator_mails`, `operator_notices` and
//! `operator_recovery_codes`. An operator belongs to one company and has one [`Role`], which yields the grant of a [`Caller`]. Operators are created,
//! changed and deleted by administrators: [`crate::developers`] declares them as records of the API, and the command line creates the first. All else
//! they do themselves.
//!
//! # What is guaranteed
//!
//! * A company never loses its last owner who can sign in ([`has_owner`]).
//! * Whoever is disabled or deleted is signed out by that, and so is everybody who had a password that was replaced.
//! * A password, a link, a code and the secret behind codes are never stored in plain text; a link, a code and a recovery code work once.
//! * Nobody can keep an operator out of a browser they know by guessing (`guesses`).
//! * A caller who may do less than an operator, for a shorter time or from fewer networks neither lets the operator in nor gives them another role, a
//!   link or a way around their second factor ([`Caller::must_cover`]).
//! * A copied cookie administers nothing: [`Caller::require`] asks for a proof that is not old, and the proof gives the session another token.
//! * An operator is told of what happens to their access (`notices`), and their other sessions end when their way in changes.
//! * An address is nobody's: a company learns nothing of the operators of others, and an invitation keeps no other company from inviting.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! choosing_password  provider_sign_in   by a link in a mail, or with the company's identity provider
//! confirming                             a signed-in operator proves again who they are
//! choosing_company                       somebody who works for several companies chooses one
//! sign_in                                proves who somebody is, and starts a session
//! sessions  mails                        browsers in which somebody is signed in; invitations and resets
//! binding                                who an operator is at the identity provider
//! totp  one_time_link                    the second factor; links and steps that work once
//! notices                                mails that tell what happened to somebody's access
//! queries                                the SQL
//! guesses                                limits of wrong passwords and codes
//! state                                  what signing in needs
//! session  purpose                       a session and its token; what a link is good for
//! operator  password  mail_language      an operator, the passwords they may choose, the languages of mails
//! role                                   what an operator may do
//! known_browser                          how a browser proves that an operator has used it before
//! ```

mod binding;
mod choosing_company;
mod choosing_password;
mod confirming;
mod guesses;
mod known_browser;
mod mail_language;
mod mails;
mod notices;
mod one_time_link;
mod operator;
mod password;
mod provider_sign_in;
mod purpose;
mod queries;
mod role;
mod session;
mod sessions;
mod sign_in;
mod state;
mod totp;

use chrono::{DateTime, Utc};

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::{Area, Caller, Grant, Scope};
use crate::contact::EmailAddress;
use crate::kernel::client_address::ClientAddress;
use crate::kernel::database::{Connection, violated_constraint};
use crate::kernel::ids::{CompanyId, OperatorId};
use crate::kernel::password_hashing::{HashingBusy, PasswordHashing};
use crate::kernel::problem::Problem;

pub use choosing_company::Choice;
pub use choosing_password::AskRefusal;
pub use confirming::Proof;
pub use guesses::Browser;
pub use mail_language::{InvalidMailLanguage, MailLanguage};
pub use mails::queue_for_company;
pub use notices::{Notice, tell_owners};
pub use one_time_link::OneTimeLink;
pub use operator::Operator;
pub use password::{BadOperatorPassword, OperatorPassword};
pub use provider_sign_in::{ProviderRefusal, RETURN_PAGE, Returned};
pub use queries::{find_by_email, list_by_email};
pub use role::{InvalidRole, Role};
pub use session::{LiveSession, Method, OperatorSession, SessionToken};
pub use sign_in::{Progress, SignInRefusal, SignedIn};
pub use state::{Operators, Parts, Settings, TotpPolicy};
pub use totp::{CodeRefusal, Enrolment, QrPath, RecoveryCode, SEALED, count_operators_by_key_of_codes, count_operators_with_other_codes};

/// The reason why an operator could not be created.
#[derive(Debug, thiserror::Error)]
pub enum CreateOperatorError {
    /// The caller is no administrator, or may do less than the operator could.
    #[error(transparent)]
    NotAllowed(Problem),
    /// The company does not exist.
    #[error("there is no company {0}")]
    CompanyUnknown(CompanyId),
    /// Another operator of the company has this address.
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
    /// Nobody could let others in any more.
    #[error("{NO_OWNER_LEFT}")]
    LastOwner,
    /// A database error.
    #[error("the operator could not be removed")]
    Database(#[from] sqlx::Error),
}

/// Why the last owner of a company stays one.
pub const NO_OWNER_LEFT: &str = "This is the last owner of the company who can sign in. Make somebody else an owner first.";

/// The reason why an operator's access could not be reset.
#[derive(Debug, thiserror::Error)]
pub enum ResetOperatorError {
    /// The caller is no administrator, or may do less than the operator.
    #[error(transparent)]
    NotAllowed(Problem),
    /// The password could not be hashed at this time.
    #[error(transparent)]
    Hashing(#[from] HashingBusy),
    /// A database error.
    #[error("the operator could not be reset")]
    Database(#[from] sqlx::Error),
}

/// The operators of a company, the oldest first.
pub async fn list_operators(conn: &mut Connection, company: CompanyId) -> Result<Vec<Operator>, sqlx::Error> {
    queries::list_operators(conn, company).await
}

/// The addresses that the operators of a company are mailed at.
pub async fn list_addresses(conn: &mut Connection, company: CompanyId) -> Result<Vec<EmailAddress>, sqlx::Error> {
    queries::list_addresses(conn, company).await
}

/// Creates an operator of the caller's company, who signs in with `email` and `password`.
pub async fn create_operator(
    conn: &mut Connection,
    hashing: &PasswordHashing,
    caller: &Caller,
    email: &EmailAddress,
    password: OperatorPassword,
    role: Role,
    now: DateTime<Utc>,
) -> Result<OperatorId, CreateOperatorError> {
    caller.require(Area::Administration, Scope::Admin).map_err(CreateOperatorError::NotAllowed)?;
    caller.must_cover(&role.grant(), None).map_err(CreateOperatorError::NotAllowed)?;
    let hash = hashing.reserve(guesses::asker(ClientAddress::of_this_process()))?.hash(password.into_password()).await;
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
    conn: &mut Connection,
    caller: &Caller,
    email: &EmailAddress,
    now: DateTime<Utc>,
) -> Result<Option<OperatorId>, RemoveOperatorError> {
    caller.require(Area::Administration, Scope::Admin).map_err(RemoveOperatorError::NotAllowed)?;
    let mut transaction = conn.begin().await?;
    let removed = queries::delete_operator(&mut transaction, caller.company, &email.key(), now).await?;
    if let Some((id, was_owner)) = removed {
        if was_owner && !has_owner(&mut transaction, caller.company).await? {
            return Err(RemoveOperatorError::LastOwner);
        }
        end_for_good(&mut transaction, id).await?;
        audit_trail::record(&mut transaction, caller, Action::Deleted, ChangedRecord::Operator(id), now).await?;
    }
    transaction.commit().await?;
    Ok(removed.map(|(id, _)| id))
}

/// Gives the operator with this address another password, ends their sessions, and forgets their second factor and who they are at the identity
/// provider; `None` when the caller's company has none. For whoever has access to the machine: everybody else asks for a link.
pub async fn reset_operator(
    conn: &mut Connection,
    hashing: &PasswordHashing,
    caller: &Caller,
    email: &EmailAddress,
    password: OperatorPassword,
    now: DateTime<Utc>,
) -> Result<Option<OperatorId>, ResetOperatorError> {
    caller.require(Area::Administration, Scope::Admin).map_err(ResetOperatorError::NotAllowed)?;
    let hash = hashing.reserve(guesses::asker(ClientAddress::of_this_process()))?.hash(password.into_password()).await;
    let mut transaction = conn.begin().await?;
    let found = queries::find_by_email(&mut transaction, caller.company, email).await?;
    let Some(Operator { id, role, .. }) = found else { return Ok(None) };
    caller.must_cover(&role.grant(), None).map_err(ResetOperatorError::NotAllowed)?;
    queries::set_password(&mut transaction, id, hash.expose(), now).await?;
    queries::forget_binding(&mut transaction, id).await?;
    end_access(&mut transaction, id).await?;
    notices::tell(&mut transaction, id, Notice::Password, None, now).await?;
    if totp::forget(&mut transaction, id).await? {
        notices::tell(&mut transaction, id, Notice::SecondFactorRemoved, None, now).await?;
    }
    let fields = Action::Updated(&["password", "totp_enabled_at"]);
    audit_trail::record(&mut transaction, caller, fields, ChangedRecord::Operator(id), now).await?;
    transaction.commit().await?;
    Ok(Some(id))
}

/// What an operator may do; `None` if they are disabled or deleted.
pub async fn grant_of(conn: &mut Connection, company: CompanyId, operator: OperatorId) -> Result<Option<Grant>, sqlx::Error> {
    Ok(queries::find_role(conn, company, operator).await?.map(Role::grant))
}

/// Whether the company still has an owner who can sign in, as this transaction leaves it. Others who change owners wait until it ends.
pub async fn has_owner(conn: &mut Connection, company: CompanyId) -> Result<bool, sqlx::Error> {
    queries::has_owner(conn, company).await
}

/// Signs an operator out everywhere, and makes their links and unsent mails worthless.
pub async fn end_access(conn: &mut Connection, operator: OperatorId) -> Result<(), sqlx::Error> {
    queries::end_everything(conn, operator).await.map(drop)
}

/// The same for an operator who is deleted, whose password and second factor nobody needs any more.
pub async fn end_for_good(conn: &mut Connection, operator: OperatorId) -> Result<(), sqlx::Error> {
    end_access(conn, operator).await?;
    queries::forget_credentials(conn, operator).await?;
    totp::forget(conn, operator).await.map(drop)
}
