//! Senders of companies: a mail server that the company names, or its send-message hook.
//!
//! The server is a stranger's: the caller connects to it where companies may, no answer is read without end, and the name of this machine is
//! not told.

mod bounded;

use std::io;
use std::sync::Arc;

use lettre::message::Mailbox as Party;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use rustls::ClientConfig;
use rustls::pki_types::{CertificateDer, ServerName};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;

use crate::providers::hook::{About, Hook};
use crate::providers::mail::message::message;
use crate::providers::mail::server::{Refusal, hand_over};
use crate::providers::mail::{CONNECT_TIME_LIMIT, Letter, Mail, SendMailError, refused};
use bounded::Bounded;

/// The mails that one company's sender is handed at the same time, for each instance.
const MAX_AT_ONCE: usize = 20;

/// What a company says about its sender.
#[derive(Debug)]
pub enum OwnSettings {
    /// A mail server.
    Smtp {
        /// Its name, which its certificate has.
        host: String,
        /// How the connection is protected.
        security: Security,
        /// The user name and the password.
        credentials: Option<(String, SecretString)>,
        /// The sender of every mail, `Name <address>`.
        from: String,
        /// Whom to trust.
        trust: Trust,
    },
    /// The company's own endpoint.
    Webhook(Hook),
}

/// How the connection to a mail server is protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Security {
    /// By TLS from the start.
    #[default]
    Tls,
    /// By TLS after `STARTTLS`, which is required.
    Starttls,
    /// Not at all.
    None,
}

/// The authorities that certificates of mail servers are verified with.
#[derive(Clone, Debug)]
pub struct Trust {
    /// For TLS from the start.
    pub tls: Arc<ClientConfig>,
    /// The authorities beside those of the system.
    pub roots: Arc<[CertificateDer<'static>]>,
}

/// The settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OwnSettingsError {
    /// The sender is no address.
    #[error("is not an address such as \"My Shop <shop@example.com>\"")]
    From(#[from] lettre::address::AddressError),
    /// TLS cannot be used with this host.
    #[error("cannot be used with TLS")]
    Host,
}

/// The sender of a company. Clones share it.
#[derive(Clone, Debug)]
pub struct OwnMail(Arc<Own>);

#[derive(Debug)]
struct Own {
    by: By,
    places: Semaphore,
}

#[derive(Debug)]
enum By {
    Server(Box<Server>),
    Hook(Hook),
}

#[derive(Debug)]
struct Server {
    tls: Tls,
    hello: ClientId,
    credentials: Option<Credentials>,
    from: Party,
}

enum Tls {
    FromTheStart(TlsConnector, ServerName<'static>),
    Started(TlsParameters),
    None,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::FromTheStart(..) => "FromTheStart",
            Self::Started(_) => "Started",
            Self::None => "None",
        })
    }
}

impl OwnMail {
    /// Builds the sender of a company. Nothing is requested.
    pub fn new(settings: OwnSettings) -> Result<Self, OwnSettingsError> {
        let by = match settings {
            OwnSettings::Webhook(hook) => By::Hook(hook),
            OwnSettings::Smtp { host, security, credentials, from, trust } => {
                let from: Party = from.parse()?;
                By::Server(Box::new(Server {
                    tls: Tls::new(host, security, trust)?,
                    hello: ClientId::Domain(from.email.domain().to_owned()),
                    credentials: credentials.map(|(user, password)| Credentials::new(user, password.expose_secret().to_owned())),
                    from,
                }))
            }
        };
        Ok(Self(Arc::new(Own { by, places: Semaphore::new(MAX_AT_ONCE) })))
    }
}

impl Tls {
    fn new(host: String, security: Security, trust: Trust) -> Result<Self, OwnSettingsError> {
        Ok(match security {
            Security::None => Self::None,
            Security::Tls => {
                let name = ServerName::try_from(host).map_err(|_| OwnSettingsError::Host)?;
                Self::FromTheStart(TlsConnector::from(trust.tls), name)
            }
            Security::Starttls => {
                let roots = trust.roots.iter().map(|root| Certificate::from_der(root.to_vec())).collect::<Result<Vec<_>, _>>();
                let roots = roots.map_err(|_| OwnSettingsError::Host)?;
                let trusting =
                    roots.into_iter().fold(TlsParameters::builder(host), |parameters, root| parameters.add_root_certificate(root));
                Self::Started(trusting.build().map_err(|_| OwnSettingsError::Host)?)
            }
        })
    }
}

impl Mail {
    /// Sends a mail by the sender of a company, whose server `connecting` connects to. The mailbox gets it too, unless it was not accepted.
    pub async fn send_by(
        &self,
        own: &OwnMail,
        connecting: impl Future<Output = io::Result<TcpStream>>,
        letter: Letter<'_>,
        about: About<'_>,
    ) -> Result<(), SendMailError> {
        let sent = self.hand_over_by(own, connecting, &letter, about).await;
        self.note(&letter, &sent);
        sent
    }

    async fn hand_over_by(
        &self,
        own: &OwnMail,
        connecting: impl Future<Output = io::Result<TcpStream>>,
        letter: &Letter<'_>,
        about: About<'_>,
    ) -> Result<(), SendMailError> {
        let too_many = |_| SendMailError::not_taken("the company has too many mails on their way");
        let _place = own.0.places.try_acquire().map_err(too_many)?;
        match &own.0.by {
            By::Hook(hook) => ask(hook, letter, about).await,
            By::Server(server) => {
                let message = message(&server.from, letter)?;
                let connected = timeout(CONNECT_TIME_LIMIT.min(self.timeout), connecting).await;
                let stream = connected.map_err(SendMailError::not_taken)?.map_err(SendMailError::not_taken)?;
                let end = Instant::now() + self.timeout;
                let conversing = timeout_at(end, server.converse(stream)).await;
                let mut connection = conversing.map_err(SendMailError::not_taken)?.map_err(refused)?;
                // Only a server that has been told of the mail may have taken it.
                let answer = timeout_at(end, hand_over(&mut connection, &message)).await.map_err(|_| SendMailError::Silence)?;
                // What it has answered counts, however it takes leave.
                let _ = timeout_at(end, connection.abort()).await;
                answer.map_err(refused)
            }
        }
    }
}

impl Server {
    async fn converse(&self, stream: TcpStream) -> Result<AsyncSmtpConnection, Refusal> {
        let peer = stream.peer_addr().map_err(Refusal::Connection)?;
        let mut connection = match &self.tls {
            Tls::FromTheStart(connector, name) => {
                let stream = connector.connect(name.clone(), stream).await.map_err(Refusal::Connection)?;
                AsyncSmtpConnection::connect_with_transport(Box::new(Bounded::new(stream, peer)), &self.hello).await?
            }
            Tls::Started(_) | Tls::None => {
                AsyncSmtpConnection::connect_with_transport(Box::new(Bounded::new(stream, peer)), &self.hello).await?
            }
        };
        if let Tls::Started(parameters) = &self.tls {
            connection.starttls(parameters.clone(), &self.hello).await?;
        }
        if let Some(credentials) = &self.credentials {
            connection.auth(DEFAULT_MECHANISMS, credentials).await?;
        }
        Ok(connection)
    }
}

async fn ask(hook: &Hook, letter: &Letter<'_>, about: About<'_>) -> Result<(), SendMailError> {
    let Letter { to, subject, text, html, code, at } = letter;
    let data = json!({
        "channel": "email", "to": to.as_str(), "subject": subject, "text": text, "html": html, "code": code.map(ExposeSecret::expose_secret),
        "purpose": about.purpose, "store": about.store, "language": about.language,
    });
    hook.hand_over(data, *at).await.map_err(|failure| {
        tracing::warn!(reason = %failure, "a send-message hook did not take a mail");
        SendMailError::not_taken(failure)
    })
}
