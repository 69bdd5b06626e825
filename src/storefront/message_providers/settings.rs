//! The settings of a message provider: what its kind needs to be told, without secrets.

use serde::Deserialize;
use serde_json::{Map, Value};
use url::Host;

use crate::kernel::crypto::Destination;
use crate::kernel::json;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::providers::mail::Security;
use crate::providers::sms::{OwnHttpSettings, SettingsError};
use crate::storefront::message_providers::kind::{MessageChannel, ProviderKind};
use crate::webhooks::EndpointUrl;

/// The settings of one kind, of which each member was checked.
#[derive(Debug)]
pub(super) enum ProviderSettings {
    Twilio(TwilioAccount),
    Vonage(VonageAccount),
    Http(Box<OwnHttpSettings>, EndpointUrl),
    Smtp(MailServer),
    Webhook(EndpointUrl),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TwilioAccount {
    /// It becomes part of a path.
    pub(super) account_sid: Word,
    pub(super) from: Word,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VonageAccount {
    pub(super) api_key: Word,
    pub(super) from: Word,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MailServer {
    pub(super) host: MailHost,
    /// If it is missing, the usual one of the security.
    port: Option<MailPort>,
    #[serde(default)]
    pub(super) security: Security,
    pub(super) user: Option<String>,
    /// `Name <address>`
    pub(super) from: String,
}

/// A name or an address.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct MailHost(pub(super) Host<String>);

impl TryFrom<String> for MailHost {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Host::parse(&text).map(Self).map_err(|_| "This is not the name of a host.")
    }
}

/// A port where mail servers listen, and not one of other services of a host.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "u16")]
struct MailPort(u16);

impl TryFrom<u16> for MailPort {
    type Error = &'static str;

    fn try_from(port: u16) -> Result<Self, Self::Error> {
        match port {
            25 | 465 | 587 | 1024.. => Ok(Self(port)),
            _ => Err("The port must be 25, 465, 587 or above 1023."),
        }
    }
}

impl MailServer {
    pub(super) fn port(&self) -> u16 {
        match (self.port, self.security) {
            (Some(MailPort(port)), _) => port,
            (None, Security::Tls) => 465,
            (None, Security::Starttls) => 587,
            (None, Security::None) => 25,
        }
    }

    fn protocol(&self) -> &'static str {
        match self.security {
            Security::Tls => "smtps",
            Security::Starttls => "smtp+starttls",
            Security::None => "smtp",
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Endpoint {
    url: EndpointUrl,
}

/// Letters, digits, spaces and a plus sign: names of accounts and senders.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Word(pub(super) String);

impl TryFrom<String> for Word {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let fits = (1..=100).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" +_-.".contains(&byte));
        fits.then_some(Self(text)).ok_or("This may have 100 letters, digits and spaces at most.")
    }
}

impl ProviderSettings {
    /// Reads the settings of this kind; a problem names the member.
    pub(super) fn parse(channel: MessageChannel, kind: ProviderKind, settings: &Map<String, Value>) -> Result<Self, Problem> {
        let within = |problem: Problem| problem.within("settings");
        match (channel, kind) {
            (MessageChannel::Sms, ProviderKind::Twilio) => read(settings).map(Self::Twilio).map_err(within),
            (MessageChannel::Sms, ProviderKind::Vonage) => read(settings).map(Self::Vonage).map_err(within),
            (MessageChannel::Sms, ProviderKind::Http) => {
                let request: Box<OwnHttpSettings> = read(settings).map_err(within)?;
                let url = request.sample_url().map_err(refused)?;
                let url = url.as_str().parse::<EndpointUrl>();
                Ok(Self::Http(request, url.map_err(|error| FieldErrors::one("settings.url", error.to_string()))?))
            }
            (MessageChannel::Email, ProviderKind::Smtp) => read(settings).map(Self::Smtp).map_err(within),
            (_, ProviderKind::Webhook) => read::<Endpoint>(settings).map(|Endpoint { url }| Self::Webhook(url)).map_err(within),
            _ => Err(FieldErrors::one("kind", "This kind of provider is for another channel.")),
        }
    }

    /// Where the secret is sent, or what it signs for.
    pub(super) fn destination(&self) -> Destination {
        match self {
            Self::Twilio(_) => Destination::configured("twilio"),
            Self::Vonage(_) => Destination::configured("vonage"),
            Self::Http(_, url) | Self::Webhook(url) => url.destination(),
            Self::Smtp(server) => Destination::server(server.protocol(), &server.host.0, server.port()),
        }
    }
}

/// The refusal of a setting that the deployment has too, under a longer key.
pub(super) fn refused(SettingsError { setting, reason }: SettingsError) -> Problem {
    let member = setting.rsplit('.').next().unwrap_or_default();
    FieldErrors::one(&format!("settings.{member}"), format!("This {reason}."))
}

fn read<T: serde::de::DeserializeOwned>(settings: &Map<String, Value>) -> Result<T, Problem> {
    json::from_value(Value::Object(settings.clone()))
}
