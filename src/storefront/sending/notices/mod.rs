//! Notices: messages that tell a customer what happened to the account, by mail and by text to every contact that is proven. A thief of a
//! token or of a password can do such things, and must not do them unnoticed.
//!
//! A notice never fails what it tells of: it is sent after the commit, and a message that cannot be sent is only logged. Nor is it a weapon:
//! a customer gets a few notices of a kind on one day, and every text passes the SMS guard. The limit is one of each kind, so that nobody
//! hides a change behind a flood of something else.
//!
//! A notice is in the language that the customer last used, not in that of the request: a thief could choose one that the owner cannot read.
//!
//! `notices` is the log that operators see: which notice went out by which channel, without recipient and words.

mod queries;

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::time::timeout;

use crate::contact::EmailAddress;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{CompanyId, CustomerId, StoreId};
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::rate_limit::{self, Rule};
use crate::providers::hook::About;
use crate::providers::mail::Letter;
use crate::providers::sms::Text;
use crate::storefront::challenges;
use crate::storefront::customers::{self, Customer};
use crate::storefront::message_providers::ProvidersOfCompany;
use crate::storefront::messages::{Mail, Notice, Particulars, StoreMessages, TextMessage};
use crate::storefront::sending::{Channel, judge_text, note_taken};
use crate::storefront::sms_guard::{self, AskedText, Recipient, TextRefusal, Verdict};
use crate::storefront::state::Storefront;
use crate::storefront::stores::Store;

pub use queries::{LoggedNotice, forget_notices, list_notices};

/// How long the response waits for the messages: usually until they are sent, and never as long as a mail server or provider may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many notices of one kind a customer gets by one channel.
const MAILS: Rule = Rule { limit: 5, window: TimeDelta::days(1) };
const TEXTS: Rule = Rule { limit: 3, window: TimeDelta::days(1) };

/// Every word of what became of a message.
pub const STATUSES: [&str; 4] = ["sent", "not_sent", "refused", "limited"];

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Sent,
    NotSent,
    Refused,
    Limited,
}

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::NotSent => "not_sent",
            Self::Refused => "refused",
            Self::Limited => "limited",
        }
    }
}

/// Something that is told to a customer.
#[derive(Debug)]
pub struct Occurrence<'a> {
    pub store: &'a Store,
    /// The languages that the client accepts: those of the notice if none of the customer are kept.
    pub languages: &'a AcceptedLanguages,
    pub about: Notice,
    pub particulars: Particulars<'a>,
    pub at: DateTime<Utc>,
}

/// A message of an occurrence, with its words.
#[derive(Clone, Debug)]
struct Message {
    customer: CustomerId,
    store: StoreId,
    company: CompanyId,
    about: Notice,
    to: Address,
    at: DateTime<Utc>,
}

#[derive(Clone, Debug)]
enum Address {
    Phone { recipient: Recipient, text: TextMessage },
    Email { address: EmailAddress, mail: Mail },
}

impl Message {
    fn about<'a>(&self, language: &'a str) -> About<'a> {
        About { purpose: self.about.as_str(), store: Some(self.store), language }
    }
}

/// Tells the customer, whose proven contacts are those of before what happened. Whatever goes wrong, the caller goes on.
pub async fn tell(storefront: &Storefront, customer: &Customer, occurrence: Occurrence<'_>) {
    let this = storefront.clone();
    let wording = storefront.wordings.of(occurrence.store).await.unwrap_or_else(|error| {
        tracing::warn!(error = chain(&error), "the wording of a company could not be read");
        storefront.wordings.deployment().of(occurrence.store.id)
    });
    let kept = languages_of(storefront, customer.id).await;
    let messages = messages(&wording, customer, &Occurrence { languages: kept.as_ref().unwrap_or(occurrence.languages), ..occurrence });
    let sending = async move {
        for message in messages {
            if let Err(error) = send(&this, &message).await {
                tracing::warn!(error = chain(&error), "a notice to a customer could not be recorded");
            }
        }
    };
    // It is sent even if the client disconnects, or if it takes longer than the customer should wait.
    timeout(PATIENCE, storefront.lifecycle.finish(sending)).await.ok();
}

/// The languages that are kept of the customer.
async fn languages_of(storefront: &Storefront, customer: CustomerId) -> Option<AcceptedLanguages> {
    let read = async { customers::find_languages(&mut storefront.pool.acquire().await?, customer).await };
    let kept = read.await.unwrap_or_else(|error| {
        tracing::warn!(error = chain(&error), "the language of a customer could not be read");
        None
    });
    kept.map(|kept| AcceptedLanguages::of_kept(&kept))
}

/// Words the messages to the proven contacts of the customer.
fn messages(wording: &StoreMessages, customer: &Customer, occurrence: &Occurrence<'_>) -> Vec<Message> {
    let Occurrence { store, languages, about, particulars, at } = *occurrence;
    let mail = customer.proven_email().map(|address| {
        let mail = wording.notice(store, languages, about, particulars);
        Address::Email { address, mail }
    });
    let text = customer.proven_phone().map(|number| {
        let text = wording.notice_text(store, languages, about, particulars);
        Address::Phone { recipient: Recipient::told(number), text }
    });
    mail.into_iter()
        .chain(text)
        .map(|to| Message { customer: customer.id, store: store.id, company: store.company_id, about, to, at })
        .collect()
}

async fn send(storefront: &Storefront, message: &Message) -> Result<(), sqlx::Error> {
    let (channel, rule) = match message.to {
        Address::Email { .. } => (Channel::Email, MAILS),
        Address::Phone { .. } => (Channel::Sms, TEXTS),
    };
    let bucket = format!("notices:{}:{}:{}", message.customer, message.about.as_str(), channel.as_str());
    let may_send = rate_limit::hit(&mut storefront.pool.acquire().await?, &bucket, rule, message.at).await?.allowed;
    let providers = storefront.message_providers.of(message.company).await?;
    let status = match &message.to {
        _ if !may_send => Status::Limited,
        Address::Email { address, mail } => {
            let Mail { language, subject, text, html } = mail;
            let letter = Letter { to: address, subject, text, html: Some(html), code: None, at: message.at };
            if providers.send_mail(letter, message.about(language)).await.is_ok() { Status::Sent } else { Status::NotSent }
        }
        Address::Phone { recipient, text } => send_text(storefront, &providers, message, recipient, text).await?,
    };
    storefront.metrics.notified(message.about.as_str(), channel.as_str(), status.as_str());
    queries::insert_notice(&mut storefront.pool.acquire().await?, message.customer, message.about, (channel, status), message.at).await
}

/// Sends a text if the SMS guard lets it pass. No transaction is open while the provider is asked.
async fn send_text(
    storefront: &Storefront,
    providers: &ProvidersOfCompany,
    message: &Message,
    recipient: &Recipient,
    text: &TextMessage,
) -> Result<Status, sqlx::Error> {
    let asked = AskedText {
        store: message.store,
        company: message.company,
        recipient: recipient.clone(),
        code: None,
        network: None,
        challenge: challenges::Standing::NotOffered,
        has_provider: providers.sends_texts(),
        by_own: providers.texts_by_own_alone(),
        at: message.at,
    };
    let id = match judge_text(storefront, asked).await {
        Ok(Verdict::Sent(id)) => id,
        Ok(Verdict::Refused(_) | Verdict::Repeated) => return Ok(Status::Refused),
        Err(_) => return Ok(Status::NotSent),
    };
    let about = message.about(&text.language);
    let sent = providers.send_text(Text { to: &recipient.number, body: &text.body, code: None, about, at: message.at }).await;
    let refusal = match sent {
        Ok(taken) => {
            note_taken(storefront, id, taken).await;
            return Ok(Status::Sent);
        }
        Err(not_sent) => TextRefusal::NotTaken(not_sent),
    };
    sms_guard::take_back(&mut storefront.pool.acquire().await?, id, Some(&refusal)).await?;
    Ok(Status::NotSent)
}
