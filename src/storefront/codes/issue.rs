//! Issuing a code: replace the previous code, pass the guard, commit, send.
//!
//! The row is inserted before the message is sent and deleted if the message is not sent; that of a text without a session in the transaction
//! that judges it. Parallel requests therefore send one
//! message, and no transaction is open during the call to a provider. After a timeout the code stays valid, because the provider may
//! have sent the message. A client that disconnects changes nothing: what was begun is finished, and what was counted is sent.

use axum::Json;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use secrecy::SecretString;
use serde_json::json;

use crate::contact::{EmailAddress, Identity};
use crate::kernel::crypto::random_digits;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::CustomerId;
use crate::kernel::languages::AcceptedLanguages;
use crate::providers::hook::About;
use crate::providers::mail::{Letter, SendMailError};
use crate::providers::sms::Text;
use crate::storefront::challenges::{self, Shown};
use crate::storefront::codes::issue_error::IssueError;
use crate::storefront::codes::replacing::new_code;
use crate::storefront::codes::reserving::{Reserved, reserve_mail, reserve_text, undo_mail, undo_text};
use crate::storefront::codes::{Asker, Handle, Request, fixed};
use crate::storefront::guessing::Client;
use crate::storefront::messages::Occasion;
use crate::storefront::purpose::Purpose;
use crate::storefront::sending::{Channel, note_taken};
use crate::storefront::sms_guard::{self, AskedText, Recipient, TextRefusal};
use crate::storefront::state::Storefront;
use crate::storefront::stores::Store;

/// The header of an answer with the [`Handle`] of the request: the body is that of interface 1.
pub const CODE_REQUEST: &str = "code-request";

#[derive(Debug)]
pub struct IssueRequest {
    pub store: Store,
    pub purpose: Purpose,
    /// The client that asks for the code, and is told how it stands.
    pub client: Client,
    /// The languages that the client accepts.
    pub languages: AcceptedLanguages,
    /// How the request stands to the challenge of the store.
    pub challenge: Shown,
    /// The identity that the code is requested for and checked with.
    pub identity: Identity,
    /// The signed-in customer who requests the code, for the purposes that require a session.
    pub requested_by: Option<CustomerId>,
    /// The account that the code is for, if there is one.
    pub customer: Option<CustomerId>,
    /// The recipient of the text, if the code may be texted.
    pub text: Option<Recipient>,
    /// The address for the mail, if there is no text or the text is refused.
    pub mail: Option<EmailAddress>,
}

impl IssueRequest {
    pub(super) fn asker(&self) -> Asker {
        Asker::new(&self.client, self.store.key_id)
    }

    fn occasion<'a>(&'a self, code: &'a SecretString) -> Occasion<'a> {
        Occasion { store: &self.store, purpose: self.purpose, languages: &self.languages, code }
    }

    fn about<'a>(&self, language: &'a str) -> About<'a> {
        About { purpose: self.purpose.as_str(), store: Some(self.store.id), language }
    }
}

/// The recipient of a text or the address of a mail that `identity` denotes: whoever asks claims it.
pub fn channels_for(identity: &Identity) -> (Option<Recipient>, Option<EmailAddress>) {
    match identity {
        Identity::Phone(number) => (Some(Recipient::stranger(number.clone())), None),
        Identity::Email(address) => (None, Some(address.clone())),
    }
}

/// A code that was sent.
#[derive(Debug)]
pub struct Issued {
    pub channel: Channel,
    /// What the client may name its request by when it sends the code.
    pub handle: Handle,
}

impl IntoResponse for Issued {
    fn into_response(self) -> Response {
        let answer = Json(json!({ "status": "ok", "method": self.channel }));
        ([(CODE_REQUEST, self.handle.reveal())], answer).into_response()
    }
}

/// Sends a code, by text if possible and otherwise by mail, and returns the channel. A repeated request within one minute sends
/// nothing and returns the channel of the first one; its handle is good for nothing if the first one was another client's. It runs to its end
/// even if the client disconnects.
pub async fn issue(storefront: &Storefront, request: IssueRequest) -> Result<Issued, IssueError> {
    let of = Request { store: request.store.id, purpose: request.purpose, identity: &request.identity.key() };
    let handle = Handle::new(&storefront.application_key, &of, &request.asker());
    let this = storefront.clone();
    let channel = storefront.lifecycle.finish(async move { issue_to_its_end(&this, &request).await }).await?;
    Ok(Issued { channel, handle })
}

async fn issue_to_its_end(storefront: &Storefront, request: &IssueRequest) -> Result<Channel, IssueError> {
    let now = storefront.clock.now();
    if request.store.has_test_identities
        && let Some(channel) = fixed::issue(storefront, request, now).await?
    {
        return Ok(channel);
    }
    let by_text = match &request.text {
        None => None,
        Some(recipient) => match by_text_and_challenge(storefront, request, recipient, now).await {
            Ok(channel) => return Ok(channel),
            Err(final_word @ (IssueError::Closed | IssueError::NotJudged(_) | IssueError::NotSolved(_) | IssueError::Database(_))) => {
                return Err(final_word);
            }
            Err(refused) => Some(refused),
        },
    };
    match (&request.mail, by_text) {
        (Some(address), _) => by_mail(storefront, request, address, now).await,
        (None, Some(refused)) => Err(refused),
        (None, None) => Err(IssueError::NotSent),
    }
}

/// Sends a text, if need be after a challenge. It is verified when no transaction is open, and then the text is judged anew.
async fn by_text_and_challenge(
    storefront: &Storefront,
    request: &IssueRequest,
    recipient: &Recipient,
    now: DateTime<Utc>,
) -> Result<Channel, IssueError> {
    match by_text(storefront, request, (recipient, request.challenge.standing), now).await {
        Err(IssueError::Refused(refusal)) if refusal.asks_for_challenge() => {
            let solved = storefront.challenges.require(request.store.id, &request.challenge, now).await;
            if solved.is_err() && request.challenge.standing == challenges::Standing::Answered {
                // The guard has left the refusal out, because the token might have counted.
                let (store, who) = ((request.store.id, request.store.company_id), (Some(recipient), Some(request.client.network)));
                let noting = async { sms_guard::insert_refused(&mut storefront.pool.acquire().await?, store, who, &refusal, now).await };
                if let Err(error) = noting.await {
                    tracing::warn!(error = chain(&error), "a text that was refused could not be logged");
                }
            }
            by_text(storefront, request, (recipient, solved.map_err(IssueError::NotSolved)?), now).await
        }
        sent => sent,
    }
}

async fn by_text(
    storefront: &Storefront,
    request: &IssueRequest,
    (recipient, challenge): (&Recipient, challenges::Standing),
    now: DateTime<Utc>,
) -> Result<Channel, IssueError> {
    let number = &recipient.number;
    let providers = storefront.message_providers.of(request.store.company_id).await?;
    let messages = storefront.wordings.of(&request.store).await?;
    let digits = random_digits(6);
    let code = new_code(storefront, request, (&digits, None), (Channel::Sms, number.as_str()), now);
    let id = code.id;
    let asked = AskedText {
        store: request.store.id,
        company: request.store.company_id,
        recipient: recipient.clone(),
        code: None,
        network: Some(request.client.network),
        challenge,
        has_provider: providers.sends_texts(),
        by_own: providers.texts_by_own_alone(),
        at: now,
    };
    let text = match reserve_text(storefront, request, &code, &asked).await? {
        Reserved::New(text) => text,
        Reserved::Existing(channel) => return Ok(channel),
    };
    storefront.metrics.issued(Channel::Sms.as_str());

    let text_message = messages.text(request.occasion(&digits));
    let about = request.about(&text_message.language);
    let sent = providers.send_text(Text { to: number, body: &text_message.body, code: Some(&digits), about, at: now }).await;
    let refusal = match sent {
        Ok(taken) => {
            note_taken(storefront, text, taken).await;
            return Ok(Channel::Sms);
        }
        Err(not_sent) => TextRefusal::NotTaken(not_sent),
    };
    undo_text(storefront, id, text, &refusal).await?;
    Err(IssueError::Refused(refusal))
}

async fn by_mail(
    storefront: &Storefront,
    request: &IssueRequest,
    address: &EmailAddress,
    now: DateTime<Utc>,
) -> Result<Channel, IssueError> {
    let providers = storefront.message_providers.of(request.store.company_id).await?;
    let messages = storefront.wordings.of(&request.store).await?;
    let digits = random_digits(6);
    let code = new_code(storefront, request, (&digits, None), (Channel::Email, &address.key()), now);
    let cause = match reserve_mail(storefront, request, &code, address, now).await? {
        Reserved::New(cause) => cause,
        Reserved::Existing(channel) => return Ok(channel),
    };
    storefront.metrics.issued(Channel::Email.as_str());

    let mail = messages.mail(request.occasion(&digits));
    let letter = Letter { to: address, subject: &mail.subject, text: &mail.text, html: Some(&mail.html), code: Some(&digits), at: now };
    let refusal = match providers.send_mail(letter, request.about(&mail.language)).await {
        Err(SendMailError::Unreachable(_)) => IssueError::Unreachable,
        Err(SendMailError::NotTaken(_)) => IssueError::NotSent,
        Ok(()) | Err(SendMailError::Silence) => return Ok(Channel::Email),
    };
    undo_mail(storefront, request, code.id, (cause, address), now).await?;
    Err(refusal)
}
