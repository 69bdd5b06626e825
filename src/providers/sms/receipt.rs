//! Receipts: what a provider reports of a text after it has taken it. The URL that a receipt is sent to goes out with each text. It has a token
//! that only this service can make, because not every provider signs what it sends.

use std::fmt;
use std::str::FromStr;

use url::Url;

use crate::kernel::crypto::ApplicationKey;
use crate::kernel::ids::MessageProviderId;
use crate::providers::sms::ProviderName;

const PURPOSE: &str = "receipts of texts";
/// The path of the route, below the base of the URL. `{provider}`, a [`Reporter`], and `{token}` follow.
pub const PATH: &str = "storefront/receipts";

/// The name of every provider of a company in logs and metrics.
pub(super) const OWN: &str = "own";

/// Who reports of texts, as the URL and the log of texts name it: `twilio`, `messageprovider_…`. A provider is heard about its own texts only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reporter {
    /// A provider of the settings.
    OfSettings(ProviderName),
    /// The provider of a company.
    Own(MessageProviderId),
}

impl Reporter {
    /// Every [label](Self::label).
    pub const LABELS: [&str; 5] = ["twilio", "vonage", "http", "log", OWN];

    /// The name in logs and metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::OfSettings(name) => name.as_str(),
            Self::Own(_) => OWN,
        }
    }
}

impl fmt::Display for Reporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OfSettings(name) => f.write_str(name.as_str()),
            Self::Own(id) => id.fmt(f),
        }
    }
}

impl FromStr for Reporter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self::Own).or_else(|_| text.parse().map(Self::OfSettings))
    }
}

/// What became of a text. Each is final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It is on the phone.
    Delivered,
    /// The network did not deliver it.
    Undelivered,
    /// The provider did not send it.
    Failed,
}

impl Delivery {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Delivered, Self::Undelivered, Self::Failed];

    /// The word in the log of texts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Undelivered => "undelivered",
            Self::Failed => "failed",
        }
    }
}

/// The end of a text, as its provider reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryReceipt {
    /// What the provider calls the text.
    pub message: String,
    /// What became of it.
    pub delivery: Delivery,
    /// The error code of the provider.
    pub code: Option<String>,
    /// Whether the number cannot receive texts for good, and not just now.
    pub is_for_good: bool,
}

/// A receipt as it arrives.
#[derive(Debug)]
pub struct ReceivedReceipt<'a> {
    /// The fields of its form, its JSON object or its query, in their order.
    pub fields: &'a [(String, String)],
    /// The header `X-Twilio-Signature`.
    pub signature: Option<&'a str>,
}

impl ReceivedReceipt<'_> {
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}

/// The receipt was not sent by the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the signature of the receipt is missing or wrong")]
pub struct NotGenuine;

/// Where receipts are received: `sms.receipts_url`.
#[derive(Clone, Debug)]
pub(super) struct Receipts {
    base: Url,
    key: ApplicationKey,
}

impl Receipts {
    pub(super) fn new(base: Url, key: ApplicationKey) -> Self {
        Self { base, key }
    }

    /// The URL that a provider is told.
    pub(super) fn url(&self, provider: Reporter) -> String {
        self.url_with(provider, &hex::encode(self.key.mac(PURPOSE, provider.to_string().as_bytes())))
    }

    /// The same with a token that was made before.
    pub(super) fn url_with(&self, provider: Reporter, token: &str) -> String {
        format!("{}/{PATH}/{provider}/{token}", self.base.as_str().trim_end_matches('/'))
    }

    /// Whether this service has made the token for the provider, with whichever key.
    pub(super) fn has_made(&self, provider: Reporter, token: &str) -> bool {
        let Ok(token) = hex::decode(token) else { return false };
        self.key.macs(PURPOSE, provider.to_string().as_bytes()).any(|mac| mac.is(&token))
    }
}
