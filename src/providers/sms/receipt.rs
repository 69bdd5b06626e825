//! Receipts: what a provider reports of a text after it has taken it. The URL that a receipt is sent to goes out with each text. It has a token
//! that only this service can make, because not every provider signs what it sends.

use url::Url;

use crate::kernel::crypto::ApplicationKey;
use crate::providers::sms::ProviderName;

const PURPOSE: &str = "receipts of texts";
/// The path of the route, below the base of the URL. `{provider}` and `{token}` follow.
pub const PATH: &str = "storefront/receipts";

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
    pub(super) fn url(&self, provider: ProviderName) -> String {
        self.url_with(provider, &hex::encode(self.key.mac(PURPOSE, provider.as_str().as_bytes())))
    }

    /// The same with a token that was made before.
    pub(super) fn url_with(&self, provider: ProviderName, token: &str) -> String {
        format!("{}/{PATH}/{}/{token}", self.base.as_str().trim_end_matches('/'), provider.as_str())
    }

    /// Whether this service has made the token for the provider, with whichever key.
    pub(super) fn has_made(&self, provider: ProviderName, token: &str) -> bool {
        let Ok(token) = hex::decode(token) else { return false };
        self.key.macs(PURPOSE, provider.as_str().as_bytes()).any(|mac| mac.is(&token))
    }
}
