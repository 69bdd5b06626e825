//! `POST message-providers/{uuid}/test`: sends one message by a provider of a company, before the first customer needs it.

use axum::Json;
use axum::http::StatusCode;
use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::callers::Caller;
use crate::contact::{EmailAddress, PhoneNumber};
use crate::kernel::error_chain::shown_chain;
use crate::kernel::ids::MessageProviderId;
use crate::kernel::json::JsonBody;
use crate::kernel::openapi::{OperationDoc, closed_object, object};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::kernel::rate_limit::{self, Rule};
use crate::providers::hook::About;
use crate::providers::mail::Letter;
use crate::providers::sms::{OwnSms, Text};
use crate::resources::{RecordTransaction, Resource, ResourceState, WriteRequest};
use crate::storefront::message_providers::{Built, CompanyMail, MessageChannel, MessageProviders};
use crate::storefront::resources::message_providers::MessageProviderRecord;

/// Whoever has a key could otherwise text the world at the company's expense.
const TESTS: Rule = Rule { limit: 10, window: TimeDelta::hours(1) };
/// What a test says.
const WORDS: &str = "This message is a test. The provider works.";
const ABOUT: About<'static> = About { purpose: "test", store: None, language: "en" };

const SUBJECT: &str = "Test";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// The phone number or the address that the message goes to.
    to: String,
}

/// Who gets the message.
enum Recipient {
    Phone(PhoneNumber),
    Mailbox(EmailAddress),
}

impl Recipient {
    fn parse(channel: MessageChannel, to: &str) -> Result<Self, Problem> {
        let bad = |sentence: String| FieldErrors::one("to", sentence);
        match channel {
            MessageChannel::Sms => PhoneNumber::parse(to).map(Self::Phone).map_err(|error| bad(error.to_string())),
            MessageChannel::Email => EmailAddress::parse(to).map(Self::Mailbox).map_err(|error| bad(error.to_string())),
        }
    }
}

pub fn doc() -> OperationDoc {
    let answer = object([("ok", json!({ "type": "boolean" })), ("detail", json!({ "type": "string" }))]);
    let to = json!({ "type": "string", "description": "The phone number or the address that the message goes to.", "examples": ["+12015550123"] });
    OperationDoc::new("Send one message by a message provider, active or not: ten within an hour for each company.")
        .taking_body(closed_object(&["to"], [("to", to)]))
        .answering(StatusCode::OK, answer)
        .refusing(&[ProblemCode::RateLimited])
}

/// Responds with `{"ok":…,"detail":"…"}`.
pub async fn test(
    WriteRequest { state: providers, caller, id }: WriteRequest<MessageProviderRecord>,
    JsonBody(Test { to }): JsonBody<Test>,
) -> Result<Json<Value>, Problem> {
    let (ok, detail) = match providers.test(&caller, id, &to).await? {
        Ok(()) => (true, "It has taken the message.".to_owned()),
        Err(detail) => (false, detail),
    };
    Ok(Json(json!({ "ok": ok, "detail": detail })))
}

impl MessageProviders {
    /// Sends one message, or says why the provider did not take it. No transaction is open meanwhile.
    async fn test(&self, caller: &Caller, id: MessageProviderId, to: &str) -> Result<Result<(), String>, Problem> {
        MessageProviderRecord::require(caller, MessageProviderRecord::writing())?;
        let mut transaction = RecordTransaction::begin(self, caller).await?;
        let found = transaction.find::<MessageProviderRecord>(id).await?.ok_or(ProblemCode::RecordNotFound)?.fields;
        drop(transaction);
        let to = Recipient::parse(found.channel, to)?;
        let bucket = format!("message_tests:{}", caller.company);
        let hit = rate_limit::hit(&mut self.pool().acquire().await?, &bucket, TESTS, self.clock().now()).await?;
        if !hit.allowed {
            return Err(hit.problem());
        }
        match self.build(caller.company, &found.stored(id)) {
            Err(error) => Ok(Err(format!("It cannot be used: {}.", error.to_string().trim_end_matches('.')))),
            Ok(built) => Ok(self.send_to(&to, &built).await),
        }
    }

    async fn send_to(&self, to: &Recipient, built: &Built) -> Result<(), String> {
        match (to, built) {
            (Recipient::Phone(number), Built::Sms(own)) => self.text(own, number).await,
            (Recipient::Mailbox(address), Built::Mail(own)) => self.write(own, address).await,
            (Recipient::Phone(_), Built::Mail(_)) | (Recipient::Mailbox(_), Built::Sms(_)) => Err("It is for another channel.".to_owned()),
        }
    }

    async fn write(&self, own: &CompanyMail, to: &EmailAddress) -> Result<(), String> {
        let letter = Letter { to, subject: SUBJECT, text: WORDS, html: None, code: None, at: self.clock().now() };
        own.send(self.mail(), letter, ABOUT).await.map_err(|error| format!("It did not take the message: {}.", shown_chain(&error)))
    }

    async fn text(&self, own: &OwnSms, to: &PhoneNumber) -> Result<(), String> {
        let text = Text { to, body: WORDS, code: None, about: ABOUT, at: self.clock().now() };
        own.try_out(&text).await.map_err(|refused| {
            let answers = refused.answers.iter().map(|answer| format!("{} ({})", answer.answer.as_str(), answer.detail));
            format!("It did not take the message: {}.", answers.collect::<Vec<_>>().join(", "))
        })
    }
}
