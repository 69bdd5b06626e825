//! Mail, by SMTP.

use std::time::Duration;

use chrono::{DateTime, Utc};
use lettre::message::{Mailbox as Party, MultiPart, SinglePart};
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use secrecy::{ExposeSecret, SecretString};

use crate::contact::EmailAddress;
use crate::providers::mailbox::{Channel, Kept, Mailbox};

const TIME_LIMIT: Duration = Duration::from_secs(10);

/// `[mail]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// `smtp://…` or `smtps://…`; empty for none.
    pub smtp_url: SecretString,
    /// The sender of every mail, `Name <address>`.
    pub from: String,
}

/// The settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadSettings {
    /// `mail.smtp_url`
    #[error("mail.smtp_url is not an SMTP address")]
    SmtpUrl(#[source] lettre::transport::smtp::Error),
    /// `mail.from`
    #[error("mail.from is not an address such as \"My Shop <shop@example.com>\"")]
    From(#[source] lettre::address::AddressError),
}

/// One mail to one address.
pub struct Letter<'a> {
    /// Where it goes.
    pub to: &'a EmailAddress,
    /// Its subject line.
    pub subject: &'a str,
    /// What it says.
    pub text: &'a str,
    /// The same as HTML, for programs that show it.
    pub html: Option<&'a str>,
    /// The code in it, for the mailbox alone.
    pub code: Option<&'a SecretString>,
    /// When it is sent.
    pub at: DateTime<Utc>,
}

/// The mail server did not take a mail.
#[derive(Debug, thiserror::Error)]
#[error("the mail was not sent")]
pub struct SendMailError(#[source] Box<dyn std::error::Error + Send + Sync>);

/// Sends mail.
#[derive(Clone, Debug)]
pub struct Mail {
    transport: Option<AsyncSmtpTransport<Tokio1Executor>>,
    from: Party,
    mailbox: Option<Mailbox>,
}

impl Mail {
    /// The server of the settings; with a mailbox every mail lands there too, and no server is needed.
    pub fn new(settings: &Settings, mailbox: Option<Mailbox>) -> Result<Self, BadSettings> {
        let transport = match settings.smtp_url.expose_secret() {
            "" => None,
            url => {
                let builder = AsyncSmtpTransport::<Tokio1Executor>::from_url(url).map_err(BadSettings::SmtpUrl)?;
                Some(builder.timeout(Some(TIME_LIMIT)).build())
            }
        };
        Ok(Self { transport, from: settings.from.parse().map_err(BadSettings::From)?, mailbox })
    }

    /// Whether there is anything to send with.
    pub fn is_available(&self) -> bool {
        self.transport.is_some() || self.mailbox.is_some()
    }

    /// Whether the server answers and takes our name and password; `None` where there is no server.
    pub async fn greet(&self) -> Option<Result<(), SendMailError>> {
        let greeted = self.transport.as_ref()?.test_connection().await;
        Some(match greeted {
            Ok(true) => Ok(()),
            Ok(false) => Err(SendMailError("the mail server hangs up".into())),
            Err(error) => Err(SendMailError(error.into())),
        })
    }

    /// Hands the mail to the server.
    pub async fn send(&self, letter: Letter<'_>) -> Result<(), SendMailError> {
        if let Some(transport) = &self.transport {
            let message = self.message(&letter)?;
            transport.send(message).await.map_err(|error| {
                // Its own words may hold the address; its status does not.
                tracing::warn!(status = ?error.status(), timeout = error.is_timeout(), "the mail server did not take a mail");
                SendMailError(error.into())
            })?;
        } else if self.mailbox.is_none() {
            return Err(SendMailError("no mail server is configured".into()));
        }
        self.keep(&letter);
        Ok(())
    }

    fn message(&self, letter: &Letter<'_>) -> Result<Message, SendMailError> {
        let to: Address = letter.to.as_str().parse().map_err(|error| SendMailError(Box::new(error)))?;
        let builder = Message::builder().from(self.from.clone()).to(Party::new(None, to)).subject(letter.subject);
        let message = match letter.html {
            Some(html) => builder.multipart(MultiPart::alternative_plain_html(letter.text.to_owned(), html.to_owned())),
            None => builder.singlepart(SinglePart::plain(letter.text.to_owned())),
        };
        message.map_err(|error| SendMailError(error.into()))
    }

    fn keep(&self, letter: &Letter<'_>) {
        if let Some(mailbox) = &self.mailbox {
            mailbox.keep(Kept {
                channel: Channel::Email,
                to: letter.to.to_string(),
                subject: Some(letter.subject.to_owned()),
                text: letter.text.to_owned(),
                html: letter.html.map(str::to_owned),
                code: letter.code.map(|code| code.expose_secret().to_owned()),
                sent_at: letter.at,
            });
        }
    }
}
