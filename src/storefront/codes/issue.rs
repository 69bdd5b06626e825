//! Issuing a code: replace the previous code, pass the guard, commit, send.
//!
//! The row is inserted before the message is sent and deleted if the message is not sent. Parallel requests therefore send one
//! message, and no transaction is open during the call to a provider. After a timeout the code stays valid, because the provider may
//! have sent the message. The message is sent even if the client disconnects in the meantime.

use chrono::{DateTime, Utc};
use secrecy::SecretString;
use uuid::Uuid;

use crate::contact::{EmailAddress, Identity, PhoneNumber};
use crate::kernel::ids::{CodeId, CustomerId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::secrets::random_six_digits;
use crate::providers::mail::{Letter, SendMailError};
use crate::providers::sms::Text;
use crate::storefront::codes::queries::NewCode;
use crate::storefront::codes::{Purpose, digest, queries};
use crate::storefront::messages::{AcceptedLanguages, Occasion};
use crate::storefront::stores::Store;
use crate::storefront::texts::{self, Recipient, Refusal};
use crate::storefront::{Storefront, customers, mails};

/// A request for a code.
#[derive(Debug)]
pub(in crate::storefront) struct Order<'a> {
    pub(in crate::storefront) store: &'a Store,
    pub(in crate::storefront) purpose: Purpose,
    /// The languages that the client accepts.
    pub(in crate::storefront) languages: &'a AcceptedLanguages,
    /// The identity that the code is requested for and checked with.
    pub(in crate::storefront) identity: &'a Identity,
    /// The signed-in customer who requests the code, for the purposes that require a session.
    pub(in crate::storefront) requested_by: Option<CustomerId>,
    /// The account that the code is for, if there is one.
    pub(in crate::storefront) customer: Option<CustomerId>,
    /// The recipient of the text, if the code may be texted.
    pub(in crate::storefront) text: Option<Recipient>,
    /// The address for the mail, if there is no text or the text is refused.
    pub(in crate::storefront) mail: Option<EmailAddress>,
}

impl Order<'_> {
    fn occasion<'a>(&'a self, code: &'a SecretString) -> Occasion<'a> {
        Occasion { store: self.store, purpose: self.purpose, languages: self.languages, code }
    }
}

/// The recipient or the address that `identity` itself stands for.
pub(in crate::storefront) fn straight_to(identity: &Identity) -> (Option<Recipient>, Option<EmailAddress>) {
    match identity {
        Identity::Phone(number) => (Some(Recipient::of(number.clone())), None),
        Identity::Email(address) => (None, Some(address.clone())),
    }
}

/// How a code was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::storefront) enum Method {
    Sms,
    Email,
}

impl Method {
    fn as_str(self) -> &'static str {
        match self {
            Self::Sms => "sms",
            Self::Email => "email",
        }
    }
}

/// The reason why no code was sent.
#[derive(Debug, thiserror::Error)]
pub(in crate::storefront) enum IssueError {
    #[error("the SMS guard or the providers refused the text")]
    Refused(#[source] Refusal),
    #[error("the mail was refused")]
    CoolingDown(#[source] mails::CoolingDown),
    #[error("no server took the mail, or there is nobody to send to")]
    NotSent,
    #[error("whoever asks has closed their account")]
    Closed,
    #[error("the code could not be stored")]
    Database(#[from] sqlx::Error),
}

/// The refusals of a mail to a freely entered address, for the descriptions of the routes that send one.
pub(in crate::storefront) const NOT_MAILED: &[ProblemCode] = &[ProblemCode::EmailCooldown, ProblemCode::MessageNotSent];

/// The refusals of a text.
pub(in crate::storefront) const NOT_TEXTED: &[ProblemCode] = &[
    ProblemCode::TextsPaused,
    ProblemCode::NumberInvalid,
    ProblemCode::NumberUnreachable,
    ProblemCode::NumberUnproven,
    ProblemCode::NumberCooldown,
    ProblemCode::RangeCooldown,
    ProblemCode::TextBudgetUsed,
    ProblemCode::TextsUnavailable,
    ProblemCode::MessageNotSent,
];

impl From<IssueError> for Problem {
    fn from(error: IssueError) -> Self {
        match error {
            IssueError::Refused(refusal) => refusal.into(),
            IssueError::CoolingDown(refusal) => refusal.into(),
            IssueError::NotSent => ProblemCode::MessageNotSent.into(),
            IssueError::Closed => ProblemCode::CustomerTokenInvalid.into(),
            IssueError::Database(error) => error.into(),
        }
    }
}

/// Sends a code, by text if possible and otherwise by mail, and returns the method. A repeated request within one minute sends
/// nothing and returns the method of the first one.
pub(in crate::storefront) async fn issue(storefront: &Storefront, order: Order<'_>) -> Result<Method, IssueError> {
    let now = storefront.clock.now();
    let by_text = match &order.text {
        None => None,
        Some(recipient) => match by_text(storefront, &order, recipient, now).await {
            Ok(method) => return Ok(method),
            Err(final_word @ (IssueError::Closed | IssueError::Database(_))) => return Err(final_word),
            Err(refused) => Some(refused),
        },
    };
    match (&order.mail, by_text) {
        (Some(address), _) => by_mail(storefront, &order, address, now).await,
        (None, Some(refused)) => Err(refused),
        (None, None) => Err(IssueError::NotSent),
    }
}

async fn by_text(storefront: &Storefront, order: &Order<'_>, recipient: &Recipient, now: DateTime<Utc>) -> Result<Method, IssueError> {
    let number = &recipient.number;
    let (id, digits) = (CodeId::new(now).uuid(), random_six_digits());
    let mut tx = storefront.pool.begin().await?;
    if !replace(storefront, &mut tx, order, id, &digits, (Method::Sms, number.as_str()), now).await? {
        return standing(&mut tx, order, Method::Sms).await;
    }
    if let Err(refusal) = texts::reserve(storefront, &mut tx, order.store.id, recipient, id, now).await? {
        // The rollback keeps the previous code. Only the refusal is recorded.
        tx.rollback().await?;
        texts::note_refusal(storefront, order.store.id, Some(number), &refusal, now).await?;
        return Err(IssueError::Refused(refusal));
    }
    tx.commit().await?;

    let body = storefront.messages.text(order.occasion(&digits));
    let (this, number) = (storefront.clone(), number.clone());
    storefront.lifecycle.finish(async move { send_text(&this, id, &number, &body, &digits, now).await }).await
}

/// Sends a text. If it is not sent, deletes its code and takes its count back.
async fn send_text(
    storefront: &Storefront,
    id: Uuid,
    number: &PhoneNumber,
    body: &str,
    digits: &SecretString,
    now: DateTime<Utc>,
) -> Result<Method, IssueError> {
    let sent = storefront.sms.send(Text { to: number, body, code: Some(digits), at: now }).await;
    let Err(refusal) = sent.map_err(Refusal::NotTaken) else { return Ok(Method::Sms) };
    let mut tx = storefront.pool.begin().await?;
    // The row of the code is locked first, in the same order as when a code is consumed.
    queries::delete_code(&mut tx, id).await?;
    texts::give_back(&mut tx, id, &refusal).await?;
    tx.commit().await?;
    Err(IssueError::Refused(refusal))
}

async fn by_mail(storefront: &Storefront, order: &Order<'_>, address: &EmailAddress, now: DateTime<Utc>) -> Result<Method, IssueError> {
    let (id, digits) = (CodeId::new(now).uuid(), random_six_digits());
    let mut tx = storefront.pool.begin().await?;
    if !replace(storefront, &mut tx, order, id, &digits, (Method::Email, &address.key()), now).await? {
        return standing(&mut tx, order, Method::Email).await;
    }
    // Mails to the owner of an account are not counted, so other people's requests for codes cannot lock the owner out. The pause
    // of one minute between two codes limits these mails.
    let is_counted = order.purpose.is_for_whatever_is_named();
    if is_counted && let Err(refusal) = mails::reserve(storefront, &mut tx, order.store.id, address, now).await? {
        // The rollback keeps the previous code.
        tx.rollback().await?;
        return Err(IssueError::CoolingDown(refusal));
    }
    tx.commit().await?;

    let mail = storefront.messages.mail(order.occasion(&digits));
    let (this, store, address) = (storefront.clone(), order.store.id, address.clone());
    let sending = async move {
        let letter =
            Letter { to: &address, subject: &mail.subject, text: &mail.text, html: Some(&mail.html), code: Some(&digits), at: now };
        if let Err(SendMailError::NotTaken(_)) = this.mail.send(letter).await {
            let mut tx = this.pool.begin().await?;
            queries::delete_code(&mut tx, id).await?;
            if is_counted {
                mails::give_back(&mut tx, store, &address, now).await?;
            }
            tx.commit().await?;
            return Err(IssueError::NotSent);
        }
        Ok(Method::Email)
    };
    storefront.lifecycle.finish(sending).await
}

async fn replace(
    storefront: &Storefront,
    tx: &mut sqlx::PgConnection,
    order: &Order<'_>,
    id: Uuid,
    digits: &SecretString,
    (method, sent_to): (Method, &str),
    now: DateTime<Utc>,
) -> Result<bool, IssueError> {
    let code = NewCode {
        id,
        store: order.store.id,
        purpose: order.purpose,
        identity: &order.identity.key(),
        sent_to,
        channel: method.as_str(),
        requested_by: order.requested_by,
        customer: order.customer,
        digest: digest(&storefront.application_key, id, digits),
    };
    if let Some(customer) = order.requested_by {
        // Two parallel requests of one customer touch the same codes. The lock serializes them, also with the closure of the
        // account.
        customers::lock_customer(tx, customer).await?.ok_or(IssueError::Closed)?;
    }
    let replaced = queries::replace_code(tx, &code, now).await?;
    if replaced && order.requested_by.is_some() {
        queries::forget_other_codes(tx, &code).await?;
    }
    Ok(replaced)
}

/// The method that the existing code was sent by.
async fn standing(tx: &mut sqlx::PgConnection, order: &Order<'_>, otherwise: Method) -> Result<Method, IssueError> {
    let channel = queries::find_channel(tx, order.store.id, order.purpose, &order.identity.key(), order.requested_by).await?;
    Ok(match channel.as_deref() {
        Some("sms") => Method::Sms,
        Some("email") => Method::Email,
        _ => otherwise,
    })
}
