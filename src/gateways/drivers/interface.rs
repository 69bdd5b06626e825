//! What a driver has to tell: how one kind of gateway signs its callbacks, and what they mean.
//!
//! A driver is synchronous and uses neither network nor database. The traits have no default methods, so a driver without
//! verification does not compile.

use std::fmt;
use std::str::FromStr;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::gateways::credential::{GatewaySigningSecret, SecretKey};
use crate::gateways::facts::Fact;
use crate::gateways::money::Currency;

/// A kind of gateway.
pub trait GatewayDriver: fmt::Debug + Send + Sync {
    /// The driver name, as the field `driver` of a gateway contains it.
    fn name(&self) -> &'static str;

    /// Whether this service calls such a gateway, which therefore needs a secret key.
    fn needs_secret_key(&self) -> bool;

    /// Parses the settings of a gateway, once for all its callbacks; refuses settings that the driver cannot use.
    fn account(
        &self,
        settings: &Map<String, Value>,
        signing_secret: Option<GatewaySigningSecret>,
    ) -> Result<Box<dyn Account>, SettingsError>;
}

/// A gateway account, as its driver sees it.
pub trait Account: fmt::Debug + Send + Sync {
    /// The header that contains the signature; `None` if the gateway takes no callbacks.
    fn signature_header(&self) -> Option<&HeaderName>;

    /// Refuses a callback that the gateway has not signed.
    fn verify(&self, incoming: &Incoming<'_>) -> Result<(), SignatureError>;

    /// Reads a body that was verified on arrival.
    fn read(&self, body: &Value) -> Reading;

    /// What about the settings will surprise, whatever the secret is: one finding that is to be corrected for each aspect.
    fn warnings(&self) -> Vec<Finding>;

    /// Checks the configuration before the first callback arrives; returns one finding for each aspect that was checked.
    fn check(&self, now: DateTime<Utc>) -> Vec<Finding>;
}

/// A callback as it arrived.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// The request headers.
    pub headers: &'a HeaderMap,
    /// The raw body, over which the signature is computed.
    pub body: &'a [u8],
    /// When the callback arrived.
    pub now: DateTime<Utc>,
}

/// Settings that a driver cannot use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct SettingsError {
    /// The path of the setting: `signature.header`.
    pub path: String,
    /// What is wrong with the setting.
    pub reason: String,
}

/// Why a callback is not genuine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The gateway has no signing secret.
    #[error("The gateway has no signing secret, so nothing can be verified.")]
    SecretMissing,
    /// The signature header is missing.
    #[error("The signature header is missing.")]
    SignatureMissing,
    /// The signature header does not have the format of the gateway's signatures.
    #[error("The signature header does not have the format of this gateway's signatures.")]
    SignatureMalformed,
    /// The signature does not match these bytes and this secret.
    #[error("The signature does not match the body and the gateway's secret.")]
    SignatureWrong,
    /// The signature is too old, or its time lies in the future.
    #[error("The signature was made more than five minutes ago, or in the future.")]
    TimestampOutside,
}

/// The contents of a body.
#[derive(Debug)]
pub struct Reading {
    /// The gateway's id of the event.
    pub id: Option<String>,
    /// What tells events of one id apart, for gateways whose ids are not those of events.
    pub variant: Option<String>,
    /// The gateway's name for the type of event.
    pub kind: Option<String>,
    /// Whether real money is meant, if the gateway says so.
    pub mode: Option<Mode>,
    /// The facts in the event; `None` if the driver ignores events of this type.
    pub update: Result<Option<PaymentUpdate>, NotUnderstood>,
}

/// The facts of a callback about one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentUpdate {
    /// The gateway's name of the transaction.
    pub transaction: String,
    /// At least one fact.
    pub facts: Vec<Fact>,
    /// The gateway's own id of the payer, if the event has one.
    pub payer: Option<String>,
    /// The values of the callback that cannot be read.
    pub remarks: Remarks,
}

/// Whether a callback is about real money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Real payments.
    Live,
    /// Payments of the gateway's test mode.
    Test,
}

impl Mode {
    /// The mode that a secret key says it is of: `sk_live_…`, `rk_test_…`.
    pub fn of_key(key: &SecretKey) -> Option<Self> {
        let mut parts = key.bytes().split(|byte| *byte == b'_').skip(1);
        match parts.next()? {
            b"live" => Some(Self::Live),
            b"test" => Some(Self::Test),
            _ => None,
        }
    }
}

/// Sentences about the values of a callback that cannot be read, for its record. The rest is booked: a callback is evidence and not a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks(Vec<String>);

/// How much of a value is shown in a sentence, in characters.
const SHOWN: usize = 60;

/// The beginning of a value, as a sentence shows it: a text in quotation marks, anything else as it came.
pub fn shown(value: &Value) -> String {
    let beginning = |text: &str| text.chars().take(SHOWN).collect::<String>();
    match value {
        Value::String(text) => format!("{:?}", beginning(text)),
        other => beginning(&other.to_string()),
    }
}

impl Remarks {
    /// Adds a sentence, once.
    pub fn add(&mut self, sentence: String) {
        if !self.0.contains(&sentence) {
            self.0.push(sentence);
        }
    }

    /// Reads the id of an `order` or a `customer` of the company. Another value is remarked upon.
    pub fn id<T: FromStr>(&mut self, of: &str, value: Option<&Value>) -> Option<T> {
        let value = value?;
        let id = match value {
            Value::String(text) => text.parse().ok(),
            other => other.to_string().parse().ok(),
        };
        if id.is_none() {
            self.add(format!("The {of} {} is none of Portico's ids.", shown(value)));
        }
        id
    }

    /// What was read; what could not be is remarked upon.
    pub fn or_remark<T>(&mut self, read: Result<Option<T>, NotUnderstood>) -> Option<T> {
        read.unwrap_or_else(|NotUnderstood(why)| {
            self.add(why);
            None
        })
    }

    /// All of them; `None` if there is nothing to remark.
    pub fn sentences(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.join(" "))
    }
}

/// The body lacks something the driver needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotUnderstood(pub String);

/// The result of one configuration check.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// The aspect that was checked: `signing_secret`.
    pub subject: &'static str,
    /// Whether the aspect is in order.
    pub ok: bool,
    /// A sentence for the operator.
    pub detail: String,
}

impl Finding {
    /// A finding that is in order.
    pub fn good(subject: &'static str, detail: impl Into<String>) -> Self {
        Self { subject, ok: true, detail: detail.into() }
    }

    /// A finding that has to be corrected.
    pub fn bad(subject: &'static str, detail: impl Into<String>) -> Self {
        Self { subject, ok: false, detail: detail.into() }
    }
}

impl SignatureError {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::SecretMissing, Self::SignatureMissing, Self::SignatureMalformed, Self::SignatureWrong, Self::TimestampOutside];

    /// The reason as a word, for the ledger.
    pub fn reason(self) -> &'static str {
        match self {
            Self::SecretMissing => "secret_missing",
            Self::SignatureMissing => "signature_missing",
            Self::SignatureMalformed => "signature_malformed",
            Self::SignatureWrong => "signature_wrong",
            Self::TimestampOutside => "timestamp_outside",
        }
    }
}

/// What is wrong with a gateway whose event ids are those of transactions.
pub const ID_OF_TRANSACTION: &str = "The id of the event is that of the transaction. Of several callbacks of one type and status about a \
     transaction, such as two refunds, only the first counts. Let pointers.id point to the id of the event itself, or be null: then callbacks \
     with the same body are repetitions.";

/// The body that signature checks use; no gateway sends it.
pub const TRIAL: &[u8] = b"{}";

/// Verifies a callback with the body [`TRIAL`] and this signature. The signature must be visible ASCII.
pub fn try_out(account: &dyn Account, header: &HeaderName, signature: &str, now: DateTime<Utc>) -> Finding {
    let value = HeaderValue::from_str(signature).expect("a signature is visible ASCII");
    let headers = HeaderMap::from_iter([(header.clone(), value)]);
    match account.verify(&Incoming { headers: &headers, body: TRIAL, now }) {
        Ok(()) => Finding::good("signing_secret", format!("Callbacks signed in {header} with this secret will be accepted.")),
        Err(refused) => Finding::bad("signing_secret", refused.to_string()),
    }
}

/// The key of the signatures; without a secret, every callback is refused.
pub fn signing_key(signing_secret: Option<&GatewaySigningSecret>) -> Result<&[u8], SignatureError> {
    signing_secret.map(GatewaySigningSecret::bytes).ok_or(SignatureError::SecretMissing)
}

impl<'a> Incoming<'a> {
    /// The value of the only header of this name. Two signature headers are malformed.
    pub fn header(&self, name: &HeaderName) -> Result<&'a str, SignatureError> {
        let mut values = self.headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().map(str::trim).map_err(|_| SignatureError::SignatureMalformed),
            (None, _) => Err(SignatureError::SignatureMissing),
            (Some(_), Some(_)) => Err(SignatureError::SignatureMalformed),
        }
    }
}

/// Whether a value of a body counts as missing: gateways send blank texts for values that they do not have.
pub fn is_blank(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty())
}

/// The currency that a callback names.
pub fn read_currency(named: &Value) -> Result<Currency, NotUnderstood> {
    let currency = named.as_str().and_then(|text| text.trim().parse().ok());
    currency.ok_or_else(|| NotUnderstood(format!("The currency {} is no code of three letters.", shown(named))))
}

/// Parses the settings of a driver; the error names the path of the setting.
pub fn parse_settings<T: DeserializeOwned>(settings: &Map<String, Value>) -> Result<T, SettingsError> {
    serde_path_to_error::deserialize(Value::Object(settings.clone())).map_err(|error| {
        let path = error.path().to_string();
        SettingsError { path: if path == "." { String::new() } else { path }, reason: error.into_inner().to_string() }
    })
}
