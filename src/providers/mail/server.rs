//! The SMTP server of `mail.smtp_url`, and the conversation with it.
//!
//! The transport of the library does not say which command was refused, and that makes the difference: a server that refuses the recipient
//! speaks about one mailbox, and one that refuses the sender or the content speaks about the shop.

use std::time::Duration;

use lettre::Message;
use lettre::transport::smtp;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Tls, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::ClientId;
use lettre::transport::smtp::{SMTP_PORT, SUBMISSION_PORT, SUBMISSIONS_PORT};
use percent_encoding::percent_decode_str;
use url::Url;

/// The server, and how it is spoken to.
#[derive(Clone, Debug)]
pub(super) struct Server {
    host: String,
    port: u16,
    tls: Tls,
    /// The name that this service introduces itself with: the path of the URL, or the name of the machine.
    hello: ClientId,
    credentials: Option<Credentials>,
    connect_timeout: Duration,
}

/// The text is not the URL of an SMTP server.
#[derive(Debug, thiserror::Error)]
pub enum InvalidSmtpUrl {
    /// It is no URL.
    #[error("it is not a URL")]
    Form(#[from] url::ParseError),
    /// It has another scheme, no host, or an unknown value of `tls`.
    #[error("it must have the form smtp://host, with ?tls=required or ?tls=opportunistic, or smtps://host")]
    Unknown,
    /// User name or password is no text.
    #[error("its user name or password is not UTF-8")]
    Credentials(#[from] std::str::Utf8Error),
    /// TLS cannot be used with this host.
    #[error("TLS cannot be used with this host")]
    Tls(#[from] smtp::Error),
}

/// Why a mail was not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("the recipient was refused for good")]
    Recipient(#[source] smtp::Error),
    #[error("the mail was not taken")]
    Other(#[from] smtp::Error),
    #[error("the connection failed")]
    Connection(#[source] std::io::Error),
}

impl Server {
    pub(super) fn parse(url: &str, connect_timeout: Duration) -> Result<Self, InvalidSmtpUrl> {
        let url = Url::parse(url)?;
        let host = url.host_str().ok_or(InvalidSmtpUrl::Unknown)?.to_owned();
        let tls = url.query_pairs().find(|(name, _)| name == "tls").map(|(_, value)| value);
        let (port, tls) = match (url.scheme(), tls.as_deref()) {
            ("smtp", None) => (SMTP_PORT, Tls::None),
            ("smtp", Some("required")) => (SUBMISSION_PORT, Tls::Required(TlsParameters::new(host.clone())?)),
            ("smtp", Some("opportunistic")) => (SUBMISSION_PORT, Tls::Opportunistic(TlsParameters::new(host.clone())?)),
            ("smtps", _) => (SUBMISSIONS_PORT, Tls::Wrapper(TlsParameters::new(host.clone())?)),
            _ => return Err(InvalidSmtpUrl::Unknown),
        };
        let hello = Some(url.path().trim_matches('/')).filter(|name| !name.is_empty());
        let credentials = match url.password() {
            Some(password) => Some(Credentials::new(decoded(url.username())?, decoded(password)?)),
            None => None,
        };
        Ok(Self {
            port: url.port().unwrap_or(port),
            hello: hello.map_or_else(ClientId::default, |name| ClientId::Domain(name.to_owned())),
            host,
            tls,
            credentials,
            connect_timeout,
        })
    }

    /// Its name or address.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Whether the server answers and takes the credentials.
    pub(super) async fn greet(&self) -> Result<bool, smtp::Error> {
        let mut connection = self.connect().await?;
        let answers = connection.test_connected().await;
        connection.abort().await;
        Ok(answers)
    }

    /// Hands over a mail to one recipient.
    pub(super) async fn deliver(&self, message: &Message) -> Result<(), Refusal> {
        let mut connection = self.connect().await?;
        let delivered = hand_over(&mut connection, message).await;
        connection.abort().await;
        delivered
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, smtp::Error> {
        let from_the_start = if let Tls::Wrapper(parameters) = &self.tls { Some(parameters.clone()) } else { None };
        let server = (self.host.as_str(), self.port);
        let mut connection =
            AsyncSmtpConnection::connect_tokio1(server, Some(self.connect_timeout), &self.hello, from_the_start, None).await?;
        match &self.tls {
            Tls::Required(parameters) => connection.starttls(parameters.clone(), &self.hello).await?,
            Tls::Opportunistic(parameters) if connection.can_starttls() => connection.starttls(parameters.clone(), &self.hello).await?,
            _ => {}
        }
        if let Some(credentials) = &self.credentials {
            connection.auth(DEFAULT_MECHANISMS, credentials).await?;
        }
        Ok(connection)
    }
}

/// The addresses and the encoded mail are ASCII, so no extension of the server is needed.
pub(super) async fn hand_over(connection: &mut AsyncSmtpConnection, message: &Message) -> Result<(), Refusal> {
    let envelope = message.envelope();
    connection.command(Mail::new(envelope.from().cloned(), Vec::new())).await?;
    for recipient in envelope.to() {
        let answer = connection.command(Rcpt::new(recipient.clone(), Vec::new())).await;
        answer.map_err(|error| if error.is_permanent() { Refusal::Recipient(error) } else { Refusal::Other(error) })?;
    }
    connection.command(Data).await?;
    connection.message(&message.formatted()).await?;
    Ok(())
}

fn decoded(part: &str) -> Result<String, std::str::Utf8Error> {
    Ok(percent_decode_str(part).decode_utf8()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Server, InvalidSmtpUrl> {
        Server::parse(url, Duration::from_secs(1))
    }

    #[test]
    fn a_url_says_where_the_server_is_and_how_to_speak_to_it() {
        for (url, port, tls) in [
            ("smtp://mail.example", 25, "None"),
            ("smtp://mail.example:2525", 2525, "None"),
            ("smtp://mail.example?tls=required", 587, "Required"),
            ("smtp://mail.example?tls=opportunistic", 587, "Opportunistic"),
            ("smtps://mail.example", 465, "Wrapper"),
        ] {
            let server = parse(url).unwrap();
            assert_eq!((server.host.as_str(), server.port), ("mail.example", port), "{url}");
            assert!(format!("{:?}", server.tls).starts_with(tls), "{url}");
        }
        let named = parse("smtps://shop%40example.com:a%2Fb@mail.example/shop.example").unwrap();
        assert_eq!(named.credentials, Some(Credentials::new("shop@example.com".to_owned(), "a/b".to_owned())));
        assert_eq!(named.hello, ClientId::Domain("shop.example".to_owned()));
        for wrong in ["", "mail.example", "https://mail.example", "smtp://mail.example?tls=maybe", "smtp://a:%ff@mail.example", "smtp:"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
