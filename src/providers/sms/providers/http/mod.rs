//! A provider for any service that takes a text in one HTTP request. The settings describe the request and the meaning of
//! responses.

mod own;
mod request;
mod sign;

use std::time::Duration;

use reqwest::Client;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use crate::kernel::settings;
use crate::providers::sms::exchange::{self, Answer, Receipt};
use crate::providers::sms::failure::{SendTextError, SendTextErrorKind};
use crate::providers::sms::settings::required;
use crate::providers::sms::{SettingsError, Text};
use request::{Placeholder, Shape, Values};

pub use own::OwnSettings;
pub use request::Format;
pub use sign::Sign;

/// `[sms.http]`. The URL, the headers and the body may contain credentials, so all three are secrets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The URL of the request. May contain placeholders.
    pub url: SecretString,
    pub method: Method,
    /// The headers of the request, one `Name: value` per line.
    pub headers: SecretString,
    /// The format of the body.
    pub format: Format,
    /// The body of the request, with placeholders. Empty: no body.
    pub body: SecretString,
    /// The value of `{from}`.
    #[serde(deserialize_with = "settings::optional")]
    pub from: Option<String>,
    /// Responses that mean that the text was accepted.
    pub taken: Sign,
    /// Responses that mean that the number cannot receive texts. Checked before `taken`.
    pub unreachable: Sign,
    /// The timeout of a request. A text without a response counts as sent.
    #[serde(deserialize_with = "settings::time")]
    pub timeout: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// The usual method.
    #[default]
    Post,
    /// For services where the client chooses the id of the message.
    Put,
    /// For services that read only the URL.
    Get,
}

/// The client of one service.
#[derive(Debug)]
pub struct Http {
    client: Client,
    /// The value of `{secret}`, which the settings of the deployment do not have.
    secret: SecretString,
    method: reqwest::Method,
    shape: Shape,
    headers: HeaderMap,
    content_type: &'static str,
    from: String,
    taken: Sign,
    unreachable: Sign,
}

impl Http {
    pub(super) fn new(settings: &Settings) -> Result<Self, SettingsError> {
        Self::asking(settings, None, exchange::client(settings.timeout, "sms.http.timeout")?)
    }

    fn asking(settings: &Settings, secret: Option<SecretString>, client: Client) -> Result<Self, SettingsError> {
        let shape = Shape::new(&settings.url, &settings.body, settings.format, secret.is_some())?;
        let from = match settings.from.as_ref() {
            None if !shape.has(Placeholder::From) => String::new(),
            from => required(from, "sms.http.from")?,
        };
        for (setting, sign) in [("sms.http.taken", &settings.taken), ("sms.http.unreachable", &settings.unreachable)] {
            if let Some(fault) = sign.fault() {
                return Err(SettingsError { setting, reason: fault.to_owned() });
            }
        }
        Ok(Self {
            client,
            secret: secret.unwrap_or_default(),
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
        let values = Values { to: text.to.as_str(), from: &self.from, text: text.body, secret: self.secret.expose_secret() };
        let url = self.shape.url(values);
        let url = url.map_err(|_| SendTextError::new(SendTextErrorKind::Rejected, "the URL is invalid after filling in the values"))?;
        let mut request = self.client.request(self.method.clone(), url);
        if let Some(body) = self.shape.body(values) {
            request = request.header(CONTENT_TYPE, self.content_type).body(body);
        }
        // Set last, so that a content type in the settings replaces the default.
        exchange::hand_over(request.headers(self.headers.clone()), |answer| self.judge(answer)).await
    }

    fn judge(&self, answer: &Answer) -> Result<Option<String>, SendTextError> {
        let status = answer.status.as_u16();
        if self.unreachable.is_on(answer) {
            let detail = match self.unreachable.value_in(answer) {
                Some(value) => format!("status {status}, {value}"),
                None => format!("status {status}"),
            };
            Err(SendTextError::new(SendTextErrorKind::Unreachable, detail))
        } else if self.taken.is_on(answer) {
            Ok(None)
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
