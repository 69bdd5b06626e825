//! Mail over SMTP.

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
    /// The SMTP URL, `smtp://…` or `smtps://…`. Empty: no mail server.
    pub smtp_url: SecretString,
    /// The sender of every mail, `Name <address>`.
    pub from: String,
}

/// The settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadSettings {
    /// `mail.smtp_url`
    #[error("mail.smtp_url is not an SMTP URL")]
    SmtpUrl(#[source] lettre::transport::smtp::Error),
    /// `mail.from`
    #[error("mail.from is not an address such as \"My Shop <shop@example.com>\"")]
    From(#[source] lettre::address::AddressError),
}

/// A mail to one address.
pub struct Letter<'a> {
    /// The address of the recipient.
    pub to: &'a EmailAddress,
    /// The subject.
    pub subject: &'a str,
    /// The body as plain text.
    pub text: &'a str,
    /// The body as HTML, for mail programs that show HTML.
    pub html: Option<&'a str>,
    /// The verification code in the body. Only the mailbox uses it.
    pub code: Option<&'a SecretString>,
    /// When the mail is sent.
    pub at: DateTime<Utc>,
}

/// The mail server did not accept a mail.
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
    /// Creates the client from the settings. With a mailbox, every mail is also stored there, and no server is required.
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

    /// Whether a server or a mailbox is configured.
    pub fn is_available(&self) -> bool {
        self.transport.is_some() || self.mailbox.is_some()
    }

    /// Checks that the server responds and accepts the credentials. Returns `None` if no server is configured.
    pub async fn greet(&self) -> Option<Result<(), SendMailError>> {
        let greeted = self.transport.as_ref()?.test_connection().await;
        Some(match greeted {
            Ok(true) => Ok(()),
            Ok(false) => Err(SendMailError("the mail server closed the connection".into())),
            Err(error) => Err(SendMailError(error.into())),
        })
    }

    /// Sends the mail to the server.
    pub async fn send(&self, letter: Letter<'_>) -> Result<(), SendMailError> {
        if let Some(transport) = &self.transport {
            let message = self.message(&letter)?;
            transport.send(message).await.map_err(|error| {
                // The message of the error may contain the address. The status does not.
                tracing::warn!(status = ?error.status(), timeout = error.is_timeout(), "the mail server did not accept a mail");
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
