//! Any service that takes a text in one HTTP request: the settings say what the request looks like and what the answers mean.

mod request;
mod sign;

use std::time::Duration;

use reqwest::Client;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use crate::kernel::settings;
use crate::providers::sms::exchange::{self, Answer, Receipt};
use crate::providers::sms::failure::{SendTextError, SendTextErrorKind};
use crate::providers::sms::settings::required;
use crate::providers::sms::{BadSettings, Text};
use request::{Placeholder, Shape, Values};

pub use request::Format;
pub use sign::Sign;

/// `[sms.http]`. Address, headers and body may hold credentials, so all three are secrets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where the request goes; may hold placeholders.
    pub url: SecretString,
    /// Its method.
    pub method: Method,
    /// Its headers, one `Name: value` a line.
    pub headers: SecretString,
    /// How its body is written.
    pub format: Format,
    /// Its body, with placeholders; empty for none.
    pub body: SecretString,
    /// What `{from}` stands for.
    #[serde(deserialize_with = "settings::optional")]
    pub from: Option<String>,
    /// Answers that say that the text was taken.
    pub taken: Sign,
    /// Answers that say that no text arrives at this number; looked at first.
    pub unreachable: Sign,
    /// How long the answer is waited for; a text without an answer counts as sent.
    #[serde(deserialize_with = "settings::time")]
    pub timeout: Duration,
}

/// The methods a text can be sent with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// The usual one.
    Post,
    /// Of services that let the client name the message.
    Put,
    /// Of services that read the address alone.
    Get,
}

/// A client of one service.
#[derive(Debug)]
pub(super) struct Http {
    client: Client,
    method: reqwest::Method,
    shape: Shape,
    headers: HeaderMap,
    content_type: &'static str,
    from: String,
    taken: Sign,
    unreachable: Sign,
}

impl Http {
    pub(super) fn new(settings: &Settings) -> Result<Self, BadSettings> {
        let shape = Shape::new(&settings.url, &settings.body, settings.format)?;
        let from = match settings.from.as_ref() {
            None if !shape.has(Placeholder::From) => String::new(),
            from => required(from, "sms.http.from")?,
        };
        for (setting, sign) in [("sms.http.taken", &settings.taken), ("sms.http.unreachable", &settings.unreachable)] {
            if let Some(fault) = sign.fault() {
                return Err(BadSettings { setting, reason: fault.to_owned() });
            }
        }
        Ok(Self {
            client: exchange::client(settings.timeout, "sms.http.timeout")?,
            method: settings.method.into(),
            shape,
            headers: request::headers(&settings.headers)?,
            content_type: settings.format.content_type(),
            from,
            taken: settings.taken.clone(),
            unreachable: settings.unreachable.clone(),
        })
    }

    pub(super) fn address(&self) -> Option<Url> {
        self.shape.sample_url()
    }

    pub(super) async fn send(&self, text: &Text<'_>) -> Result<Receipt, SendTextError> {
        let values = Values { to: text.to.as_str(), from: &self.from, text: text.body };
        let url = self.shape.url(values);
        let url = url.map_err(|_| SendTextError::new(SendTextErrorKind::Rejected, "no address when filled in"))?;
        let mut request = self.client.request(self.method.clone(), url);
        if let Some(body) = self.shape.body(values) {
            request = request.header(CONTENT_TYPE, self.content_type).body(body);
        }
        // Last, so that a content type of the settings takes the place of ours.
        exchange::hand_over(request.headers(self.headers.clone()), |answer| self.judge(answer)).await
    }

    fn judge(&self, answer: &Answer) -> Result<(), SendTextError> {
        let status = answer.status.as_u16();
        if self.unreachable.is_on(answer) {
            let detail = match self.unreachable.value_in(answer) {
                Some(value) => format!("status {status}, {value}"),
                None => format!("status {status}"),
            };
            Err(SendTextError::new(SendTextErrorKind::Unreachable, detail))
        } else if self.taken.is_on(answer) {
            Ok(())
        } else {
            Err(SendTextError::new(SendTextErrorKind::of_status(answer.status), format!("status {status}")))
        }
    }
}

impl From<Method> for reqwest::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::Post => Self::POST,
            Method::Put => Self::PUT,
            Method::Get => Self::GET,
        }
    }
}
