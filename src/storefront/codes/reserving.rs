//! What a code needs before it is sent: its row, in place of the one before, and the text or mail that it costs.
//!
//! Each function is one transaction, or undoes one, and is run again after a conflict.

use chrono::{DateTime, Utc};
use secrecy::SecretString;
use uuid::Uuid;

use crate::contact::EmailAddress;
use crate::kernel::database::{Connection, MayBeConflict, Transaction, repeated};
use crate::kernel::ids::{TestIdentityId, TextId};
use crate::storefront::codes::issue::IssueRequest;
use crate::storefront::codes::issue_error::IssueError;
use crate::storefront::codes::queries::NewCode;
use crate::storefront::codes::{digest, queries};
use crate::storefront::customers;
use crate::storefront::guessing;
use crate::storefront::sending::mail_limit::{self, Cause};
use crate::storefront::sending::{Channel, judge_text};
use crate::storefront::sms_guard::{self, AskedText, TextRefusal};
use crate::storefront::state::Storefront;

impl MayBeConflict for IssueError {
    fn is_conflict(&self) -> bool {
        match self {
            Self::Database(error) => error.is_conflict(),
            Self::NotJudged(problem) => problem.is_conflict(),
            Self::Refused(_)
            | Self::NotSolved(_)
            | Self::CoolingDown(_)
            | Self::NotSent
            | Self::Unreachable
            | Self::ForTests { .. }
            | Self::TestExpired
            | Self::Closed => false,
        }
    }
}

/// What is to be sent now.
#[derive(Debug)]
pub(super) enum Reserved<T> {
    /// The code is new, and may cost this.
    New(T),
    /// The code of a request within the last minute was sent by this channel.
    Existing(Channel),
}

/// Stores a code and counts its text as sent, unless the guard refuses it: then the code of before stays.
pub(super) async fn reserve_text(
    storefront: &Storefront,
    request: &IssueRequest,
    (id, digits): (Uuid, &SecretString),
    asked: &AskedText,
) -> Result<Reserved<TextId>, IssueError> {
    repeated(|| try_text(storefront, request, (id, digits), asked)).await
}

async fn try_text(
    storefront: &Storefront,
    request: &IssueRequest,
    (id, digits): (Uuid, &SecretString),
    asked: &AskedText,
) -> Result<Reserved<TextId>, IssueError> {
    let mut tx = storefront.pool.begin().await?;
    let sent_to = (Channel::Sms, asked.recipient.number.as_str());
    if !replace(storefront, &mut tx, request, (id, digits, None), sent_to, asked.at).await? {
        return existing_channel(tx, request, Channel::Sms).await;
    }
    // It is judged in a transaction of its own: the row of the code is locked meanwhile, that of the store is not.
    let text = match judge_text(storefront, asked.clone()).await.map_err(IssueError::NotJudged)? {
        Ok(text) => text,
        Err(refusal) => {
            // The rollback keeps the previous code.
            tx.rollback().await?;
            return Err(IssueError::Refused(refusal));
        }
    };
    if let Err(error) = tx.commit().await {
        repeated(|| take_text_back(storefront, text)).await?;
        return Err(error.into());
    }
    Ok(Reserved::New(text))
}

async fn take_text_back(storefront: &Storefront, text: TextId) -> Result<(), sqlx::Error> {
    sms_guard::take_back(&mut storefront.pool.acquire().await?, text, None).await
}

/// Deletes a code whose text nobody has sent, and takes the count back.
pub(super) async fn undo_text(storefront: &Storefront, id: Uuid, text: TextId, refusal: &TextRefusal) -> Result<(), sqlx::Error> {
    repeated(async || {
        let mut tx = storefront.pool.begin().await?;
        // The row of the code is locked first, in the same order as when a code is consumed.
        queries::delete_code(&mut tx, id).await?;
        sms_guard::take_back(&mut tx, text, Some(refusal)).await?;
        tx.commit().await
    })
    .await
}

/// Stores a code and counts its mail, unless there were too many: then the code of before stays.
pub(super) async fn reserve_mail(
    storefront: &Storefront,
    request: &IssueRequest,
    (id, digits): (Uuid, &SecretString),
    address: &EmailAddress,
    now: DateTime<Utc>,
) -> Result<Reserved<Cause>, IssueError> {
    repeated(|| try_mail(storefront, request, (id, digits), address, now)).await
}

async fn try_mail(
    storefront: &Storefront,
    request: &IssueRequest,
    (id, digits): (Uuid, &SecretString),
    address: &EmailAddress,
    now: DateTime<Utc>,
) -> Result<Reserved<Cause>, IssueError> {
    let mut tx = storefront.pool.begin().await?;
    if !replace(storefront, &mut tx, request, (id, digits, None), (Channel::Email, &address.key()), now).await? {
        return existing_channel(tx, request, Channel::Email).await;
    }
    let cause = Cause { purpose: request.purpose, is_own: is_own(&mut tx, request).await? };
    if let Err(refusal) = mail_limit::reserve(storefront, &mut tx, request.store.id, cause, address, now).await? {
        // The rollback keeps the previous code.
        tx.rollback().await?;
        return Err(IssueError::CoolingDown(refusal));
    }
    tx.commit().await?;
    Ok(Reserved::New(cause))
}

/// Deletes a code whose mail nobody has sent, and takes the count back.
pub(super) async fn undo_mail(
    storefront: &Storefront,
    request: &IssueRequest,
    id: Uuid,
    (cause, address): (Cause, &EmailAddress),
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    repeated(async || {
        let mut tx = storefront.pool.begin().await?;
        queries::delete_code(&mut tx, id).await?;
        mail_limit::refund(&mut tx, request.store.id, cause, address, now).await?;
        tx.commit().await
    })
    .await
}

/// Whether the customer asks for a code to a mailbox of the account: in a session, or on a client that they have signed in from.
async fn is_own(conn: &mut Connection, request: &IssueRequest) -> Result<bool, sqlx::Error> {
    match request.customer {
        _ if request.purpose.is_for_whatever_is_named() => Ok(false),
        Some(_) if request.requested_by.is_some() => Ok(true),
        Some(customer) => guessing::is_known(conn, customer, &request.client).await,
        None => Ok(false),
    }
}

/// Stores a code in place of the one before, unless that one is younger than a minute. Returns whether it did.
pub(super) async fn replace(
    storefront: &Storefront,
    tx: &mut Connection,
    request: &IssueRequest,
    (id, digits, test_identity): (Uuid, &SecretString, Option<TestIdentityId>),
    (channel, sent_to): (Channel, &str),
    now: DateTime<Utc>,
) -> Result<bool, IssueError> {
    let asker = request.asker();
    let code = NewCode {
        id,
        store: request.store.id,
        purpose: request.purpose,
        identity: &request.identity.key(),
        sent_to,
        channel: channel.as_str(),
        requested_by: request.requested_by,
        customer: request.customer,
        digest: digest(&storefront.application_key, id, digits),
        asked_by: asker.digest(),
        test_identity,
    };
    if let Some(customer) = request.requested_by {
        // Two parallel requests of one customer touch the same codes. The lock serializes them, also with the closure of the
        // account.
        customers::lock_customer(tx, customer).await?.ok_or(IssueError::Closed)?;
    }
    let replaced = queries::replace_code(tx, &code, now).await?;
    if let Some(customer) = request.requested_by {
        // A repeated request, too, makes the code the one that was asked for last.
        queries::supersede_others(tx, code.store, code.purpose, code.identity, customer).await?;
    }
    Ok(replaced)
}

/// The channel that the existing code was sent by.
async fn existing_channel<T>(mut tx: Transaction<'static>, request: &IssueRequest, otherwise: Channel) -> Result<Reserved<T>, IssueError> {
    let channel = queries::find_channel(&mut tx, request.store.id, request.purpose, &request.identity.key(), request.requested_by).await?;
    tx.commit().await?;
    Ok(Reserved::Existing(match channel.as_deref() {
        Some("sms") => Channel::Sms,
        Some("email") => Channel::Email,
        _ => otherwise,
    }))
}
