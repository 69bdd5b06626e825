//! Mail, by SMTP.
//!
//! A mail is refused, or meets nobody, or meets silence: a server that does not answer in time may have taken it before. Each mail has a
//! connection of its own, which ends with the waiting: nobody else comes upon what is said there later.

use std::time::Duration;

use chrono::{DateTime, Utc};
use lettre::message::{Mailbox as Party, MultiPart, SinglePart};
use lettre::transport::smtp;
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;

use crate::contact::EmailAddress;
use crate::kernel::settings;
use crate::providers::mailbox::{Channel, Kept, Mailbox};

/// A server that cannot be reached by then is not there.
const CONNECT_TIME_LIMIT: Duration = Duration::from_secs(3);

/// `[mail]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// `smtp://…` or `smtps://…`; empty for none.
    pub smtp_url: SecretString,
    /// The sender of every mail, `Name <address>`.
    pub from: String,
    /// How long the server is waited for.
    #[serde(deserialize_with = "settings::time")]
    pub timeout: Duration,
}

/// The settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadSettings {
    /// `mail.smtp_url`
    #[error("mail.smtp_url is not an SMTP address")]
    SmtpUrl(#[source] smtp::Error),
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

/// Why nobody knows of a mail that it was sent.
#[derive(Debug, thiserror::Error)]
pub enum SendMailError {
    /// The mail server did not take it.
    #[error("the mail was not sent")]
    NotTaken(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The mail server fell silent, and may have taken it before.
    #[error("the mail server fell silent")]
    Silence,
}

impl SendMailError {
    fn not_taken(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::NotTaken(reason.into())
    }
}

/// Sends mail.
#[derive(Clone, Debug)]
pub struct Mail {
    transport: Option<AsyncSmtpTransport<Tokio1Executor>>,
    from: Party,
    timeout: Duration,
    mailbox: Option<Mailbox>,
}

impl Mail {
    /// The server of the settings; with a mailbox every mail lands there too, and no server is needed.
    pub fn new(settings: &Settings, mailbox: Option<Mailbox>) -> Result<Self, BadSettings> {
        let transport = match settings.smtp_url.expose_secret() {
            "" => None,
            url => {
                let builder = AsyncSmtpTransport::<Tokio1Executor>::from_url(url).map_err(BadSettings::SmtpUrl)?;
                Some(builder.timeout(Some(CONNECT_TIME_LIMIT.min(settings.timeout / 2))).build())
            }
        };
        Ok(Self { transport, from: settings.from.parse().map_err(BadSettings::From)?, timeout: settings.timeout, mailbox })
    }

    /// Whether there is anything to send with.
    pub fn is_available(&self) -> bool {
        self.transport.is_some() || self.mailbox.is_some()
    }

    /// Whether the server answers and takes our name and password; `None` where there is no server.
    pub async fn greet(&self) -> Option<Result<(), SendMailError>> {
        let greeted = self.answer_to(self.transport.as_ref()?.test_connection()).await;
        Some(match greeted {
            Ok(true) => Ok(()),
            Ok(false) => Err(SendMailError::not_taken("the mail server hangs up")),
            Err(error) => Err(error),
        })
    }

    /// Hands the mail to the server.
    pub async fn send(&self, letter: Letter<'_>) -> Result<(), SendMailError> {
        let sent = self.hand_over(&letter).await;
        match &sent {
            Ok(()) => self.keep(&letter),
            Err(SendMailError::Silence) => {
                tracing::warn!("the mail server fell silent over a mail");
                self.keep(&letter);
            }
            Err(SendMailError::NotTaken(_)) => {}
        }
        sent
    }

    async fn hand_over(&self, letter: &Letter<'_>) -> Result<(), SendMailError> {
        match &self.transport {
            Some(transport) => self.answer_to(transport.send(self.message(letter)?)).await.map(drop),
            None if self.mailbox.is_some() => Ok(()),
            None => Err(SendMailError::not_taken("no mail server is configured")),
        }
    }

    /// What the server answers, if it does in time.
    async fn answer_to<T>(&self, asked: impl Future<Output = Result<T, smtp::Error>>) -> Result<T, SendMailError> {
        let answer = timeout(self.timeout, asked).await.map_err(|_| SendMailError::Silence)?;
        answer.map_err(|error| {
            // Its own words may hold the address; its status does not.
            tracing::warn!(status = ?error.status(), "the mail server did not take a mail");
            SendMailError::not_taken(error)
        })
    }

    fn message(&self, letter: &Letter<'_>) -> Result<Message, SendMailError> {
        let to: Address = letter.to.as_str().parse().map_err(|error| SendMailError::not_taken(error))?;
        let builder = Message::builder().from(self.from.clone()).to(Party::new(None, to)).subject(letter.subject);
        let message = match letter.html {
            Some(html) => builder.multipart(MultiPart::alternative_plain_html(letter.text.to_owned(), html.to_owned())),
            None => builder.singlepart(SinglePart::plain(letter.text.to_owned())),
        };
        message.map_err(|error| SendMailError::not_taken(error))
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
