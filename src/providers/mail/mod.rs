//! Mail over SMTP.
//!
//! A user name and a password go to the server over TLS only, unless the settings say otherwise: whoever is on the way between them could
//! read the password, and send mail with it.
//!
//! A mail is refused, cannot be handed over, or times out: a server that does not respond in time may have accepted the mail. Each mail has
//! its own connection, which is closed after a timeout, so that no later mail reads a late response.
//!
//! A company may have a sender of its own ([`own`]).

mod message;
mod own;
mod server;

use std::time::Duration;

use chrono::{DateTime, Utc};
use lettre::Message;
use lettre::message::Mailbox as Party;
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;
use url::Url;

use crate::contact::EmailAddress;
use crate::kernel::metrics::{Counter, Family, Registry};
use crate::kernel::settings;
use crate::kernel::traces::{self, SpanKind};
use crate::providers::mailbox::{Captured, Channel, Mailbox};

use message::message;
use server::{Refusal, Server};

pub use own::{OwnMail, OwnSettings, OwnSettingsError, Security, Trust};
pub use server::InvalidSmtpUrl;

const CONNECT_TIME_LIMIT: Duration = Duration::from_secs(3);

/// `[mail]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The SMTP URL, `smtp://…` or `smtps://…`. Empty: no mail server.
    pub smtp_url: SecretString,
    /// Whether a password may go to the server over a connection that is not encrypted. `None`: in development only.
    #[serde(deserialize_with = "settings::optional")]
    pub plaintext_password: Option<bool>,
    /// The sender of every mail, `Name <address>`.
    pub from: String,
    /// The timeout of requests to the server.
    #[serde(deserialize_with = "settings::time")]
    pub timeout: Duration,
}

/// The settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// `mail.smtp_url`
    #[error("mail.smtp_url is not an SMTP URL")]
    SmtpUrl(#[source] InvalidSmtpUrl),
    /// `mail.smtp_url` and `mail.plaintext_password`
    #[error(
        "mail.smtp_url has a password and does not require TLS, so the password could be read on its way: use smtps://, or smtp:// with \
         ?tls=required; for a server that has no TLS, set mail.plaintext_password = true"
    )]
    PlaintextPassword,
    /// `mail.from`
    #[error("mail.from is not an address such as \"My Shop <shop@example.com>\"")]
    From(#[source] lettre::address::AddressError),
}

/// A mail to one address.
#[derive(Clone, Copy)]
pub struct Letter<'a> {
    /// The address of the recipient.
    pub to: &'a EmailAddress,
    /// The subject.
    pub subject: &'a str,
    /// The body as plain text.
    pub text: &'a str,
    /// The body as HTML, for mail programs that show HTML.
    pub html: Option<&'a str>,
    /// The verification code in the body. Only the mailbox and hooks use it.
    pub code: Option<&'a SecretString>,
    /// When the mail is sent.
    pub at: DateTime<Utc>,
}

/// The reason why a mail was not sent, or may not have been sent.
#[derive(Debug, thiserror::Error)]
pub enum SendMailError {
    /// The mail server did not accept the mail.
    #[error("the mail was not sent")]
    NotTaken(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The mail server refused the address for good: it will not take the next mail to it either.
    #[error("the mail server does not deliver to this address")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The mail server did not respond in time, and may have accepted the mail.
    #[error("the mail server did not respond in time")]
    Silence,
}

impl SendMailError {
    fn not_taken(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::NotTaken(reason.into())
    }
}

crate::labels! {
    /// Of a mail.
    pub struct MailLabels {
        /// `taken`, `silence`, `unreachable` or `not_taken`.
        pub outcome: &'static str,
    }
}

const OUTCOMES: [&str; 4] = ["taken", "silence", "unreachable", "not_taken"];

/// Sends mail through one SMTP server, if there is one.
#[derive(Clone, Debug)]
pub struct Mail {
    server: Option<Server>,
    from: Party,
    timeout: Duration,
    mailbox: Option<Mailbox>,
    sent: Family<MailLabels, Counter>,
}

impl Mail {
    /// Creates the client from the settings. With a mailbox, every mail is also stored there, and no server is required.
    /// `plaintext_password` decides where the settings do not.
    pub fn new(settings: &Settings, plaintext_password: bool, mailbox: Option<Mailbox>) -> Result<Self, SettingsError> {
        let server = match settings.smtp_url.expose_secret() {
            "" => None,
            url => {
                let server = Server::parse(url, CONNECT_TIME_LIMIT.min(settings.timeout / 2)).map_err(SettingsError::SmtpUrl)?;
                if shows_password(url) && !settings.plaintext_password.unwrap_or(plaintext_password) {
                    return Err(SettingsError::PlaintextPassword);
                }
                Some(server)
            }
        };
        let from = settings.from.parse().map_err(SettingsError::From)?;
        Ok(Self { server, from, timeout: settings.timeout, mailbox, sent: Family::default() })
    }

    /// Registers what is counted of mails.
    pub fn register(&self, registry: &mut Registry) {
        let sent = OUTCOMES.map(|outcome| MailLabels { outcome });
        registry.counters("portico_mails", "Mails to customers and operators that were handed to the mail server", &self.sent, sent);
    }

    /// Whether a server or a mailbox is configured.
    pub fn is_available(&self) -> bool {
        self.server.is_some() || self.mailbox.is_some()
    }

    /// Checks that the server responds and accepts the credentials. Returns `None` if no server is configured.
    pub async fn greet(&self) -> Option<Result<(), SendMailError>> {
        let greeted = timeout(self.timeout, self.server.as_ref()?.greet()).await;
        Some(match greeted {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false)) => Err(SendMailError::not_taken("the mail server closed the connection")),
            Ok(Err(error)) => Err(SendMailError::not_taken(error)),
            Err(_) => Err(SendMailError::Silence),
        })
    }

    /// Sends the mail. The mailbox gets it too, unless the server did not accept it.
    pub async fn send(&self, letter: Letter<'_>) -> Result<(), SendMailError> {
        let sent = self.hand_over(&letter).await;
        self.note(&letter, &sent);
        sent
    }

    fn note(&self, letter: &Letter<'_>, sent: &Result<(), SendMailError>) {
        let outcome = match sent {
            Ok(()) => "taken",
            Err(SendMailError::Silence) => "silence",
            Err(SendMailError::Unreachable(_)) => "unreachable",
            Err(SendMailError::NotTaken(_)) => "not_taken",
        };
        self.sent.get_or_create(&MailLabels { outcome }).inc();
        match sent {
            Ok(()) => self.capture(letter),
            Err(SendMailError::Silence) => {
                tracing::warn!("the mail server did not respond in time");
                self.capture(letter);
            }
            Err(SendMailError::NotTaken(_) | SendMailError::Unreachable(_)) => {}
        }
    }

    async fn hand_over(&self, letter: &Letter<'_>) -> Result<(), SendMailError> {
        match &self.server {
            Some(server) => self.hand_over_to(server, message(&self.from, letter)?).await,
            None if self.mailbox.is_some() => Ok(()),
            None => {
                tracing::warn!("a mail was not sent, because mail.smtp_url names no mail server");
                Err(SendMailError::not_taken("no mail server is configured"))
            }
        }
    }

    /// Hands the mail over, as part of the trace of what needs it. The span says nothing of the mail, which is personal.
    async fn hand_over_to(&self, server: &Server, message: Message) -> Result<(), SendMailError> {
        let span = traces::part_now(SpanKind::Client, "send a mail");
        let answer = timeout(self.timeout, server.deliver(&message)).await;
        let sent = answer.map_err(|_| SendMailError::Silence).and_then(|answer| answer.map_err(refused));
        if let Some(mut span) = span {
            span.set("server.address", server.host().to_owned());
            match &sent {
                Ok(()) => {}
                Err(SendMailError::Silence) => span.fail("timed out"),
                Err(SendMailError::Unreachable(_)) => span.fail("unreachable"),
                Err(SendMailError::NotTaken(_)) => span.fail("not taken"),
            }
        }
        sent
    }

    fn capture(&self, letter: &Letter<'_>) {
        if let Some(mailbox) = &self.mailbox {
            mailbox.capture(Captured {
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

fn refused(refusal: Refusal) -> SendMailError {
    // The text of the response may contain the address, so only its status is logged.
    let status = match &refusal {
        Refusal::Recipient(error) | Refusal::Other(error) => error.status(),
        Refusal::Connection(_) => None,
    };
    tracing::warn!(?status, "the mail server did not accept a mail");
    match refusal {
        Refusal::Recipient(error) => SendMailError::Unreachable(error.into()),
        Refusal::Other(error) => SendMailError::not_taken(error),
        Refusal::Connection(error) => SendMailError::not_taken(error),
    }
}

/// Whether a password may go to the server of this URL without encryption. With `tls=opportunistic` it does if the server, or somebody on
/// the way to it, does not offer TLS.
fn shows_password(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let required = url.scheme() == "smtps" || url.query_pairs().any(|(name, value)| name == "tls" && value == "required");
    url.password().is_some() && !required
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_shown_to_nobody_unless_the_settings_say_so() {
        let new = |url: &str, set: Option<bool>, usual: bool| {
            let settings = Settings {
                smtp_url: url.into(),
                plaintext_password: set,
                from: "Shop <shop@example.com>".to_owned(),
                timeout: Duration::from_secs(1),
            };
            Mail::new(&settings, usual, None).map(drop)
        };
        for url in ["smtp://shop:secret@mail.example", "smtp://shop:secret@mail.example:587?tls=opportunistic"] {
            let refused = new(url, None, false).unwrap_err().to_string();
            assert!(refused.contains("mail.plaintext_password") && !refused.contains("secret"), "{refused}");
            assert!(new(url, Some(false), true).is_err());
            assert!(new(url, Some(true), false).is_ok() && new(url, None, true).is_ok());
        }
        for url in ["smtp://shop:secret@mail.example:587?tls=required", "smtps://shop:secret@mail.example", "smtp://mail.example", ""] {
            assert!(new(url, None, false).is_ok(), "{url}");
        }
    }
}
