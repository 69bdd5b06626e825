//! What a code needs before it is sent: its row, in place of the one before, and the text or mail that it costs.
//!
//! Each function is one transaction, or undoes one, and is run again after a conflict.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::contact::EmailAddress;
use crate::kernel::database::{Connection, MayBeConflict, repeated};
use crate::kernel::ids::TextId;
use crate::storefront::codes::issue::IssueRequest;
use crate::storefront::codes::issue_error::IssueError;
use crate::storefront::codes::queries;
use crate::storefront::codes::replacing::{existing_channel, replace};
use crate::storefront::guessing;
use crate::storefront::new_codes::{NewCode, Placed};
use crate::storefront::sending::mail_limit::{self, Cause};
use crate::storefront::sending::{Channel, judge_text};
use crate::storefront::sms_guard::{self, AskedText, CarriedCode, TextRefusal, Verdict};
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
    code: &NewCode,
    asked: &AskedText,
) -> Result<Reserved<TextId>, IssueError> {
    let verdict = match code.requested_by {
        // Together with the texts of the same moment, which are judged again after a conflict.
        None => {
            let asked = AskedText { code: Some(CarriedCode::New(Box::new(code.clone()))), ..asked.clone() };
            judge_text(storefront, asked).await.map_err(IssueError::NotJudged)?
        }
        Some(_) => repeated(|| judge_in_session(storefront, code, asked)).await?,
    };
    match verdict {
        Verdict::Sent(text) => Ok(Reserved::New(text)),
        Verdict::Refused(refusal) => Err(IssueError::Refused(refusal)),
        Verdict::Repeated => Ok(Reserved::Existing(existing_channel(storefront, request, Channel::Sms).await?)),
    }
}

/// Has the guard judge a text that a signed-in customer asks for. Their account and their codes are locked meanwhile, so the code is stored in
/// this transaction; that of the guard is another one.
async fn judge_in_session(storefront: &Storefront, code: &NewCode, asked: &AskedText) -> Result<Verdict, IssueError> {
    let mut tx = storefront.code_pool.begin().await?;
    if matches!(replace(&mut tx, code).await?, Placed::Repeated) {
        tx.commit().await?;
        return Ok(Verdict::Repeated);
    }
    let asked = AskedText { code: Some(CarriedCode::Stored(code.id)), ..asked.clone() };
    let verdict = judge_text(storefront, asked).await.map_err(IssueError::NotJudged)?;
    let Verdict::Sent(text) = verdict else {
        // The rollback keeps the previous code.
        tx.rollback().await?;
        return Ok(verdict);
    };
    if let Err(error) = tx.commit().await {
        repeated(|| take_text_back(storefront, text)).await?;
        return Err(error.into());
    }
    Ok(verdict)
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
    code: &NewCode,
    address: &EmailAddress,
    now: DateTime<Utc>,
) -> Result<Reserved<Cause>, IssueError> {
    match repeated(|| count_mail(storefront, request, code, address, now)).await? {
        Some(cause) => Ok(Reserved::New(cause)),
        None => Ok(Reserved::Existing(existing_channel(storefront, request, Channel::Email).await?)),
    }
}

async fn count_mail(
    storefront: &Storefront,
    request: &IssueRequest,
    code: &NewCode,
    address: &EmailAddress,
    now: DateTime<Utc>,
) -> Result<Option<Cause>, IssueError> {
    let mut tx = storefront.code_pool.begin().await?;
    if matches!(replace(&mut tx, code).await?, Placed::Repeated) {
        tx.commit().await?;
        return Ok(None);
    }
    let cause = Cause { purpose: request.purpose, is_own: is_own(&mut tx, request).await? };
    if let Err(refusal) = mail_limit::reserve(storefront, &mut tx, request.store.id, cause, address, now).await? {
        // The rollback keeps the previous code.
        tx.rollback().await?;
        return Err(IssueError::CoolingDown(refusal));
    }
    tx.commit().await?;
    Ok(Some(cause))
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
