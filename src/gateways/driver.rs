//! What a driver is: how one kind of gateway signs its callbacks, and what they mean.
//!
//! A driver is synchronous and touches neither network nor database. The traits have no default methods: a driver that forgets to verify
//! does not compile.

use std::fmt;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::companies::gateways::SigningSecret;
use crate::gateways::payments::Fact;

/// A kind of gateway.
pub trait Driver: fmt::Debug + Send + Sync {
    /// What gateways of this kind name it by.
    fn name(&self) -> &'static str;

    /// Reads what a gateway has to be told, once for all its callbacks; refuses settings it cannot work with.
    fn account(&self, settings: &Map<String, Value>, signing_secret: Option<SigningSecret>) -> Result<Box<dyn Account>, BadSettings>;
}

/// A gateway, as its driver knows it.
pub trait Account: fmt::Debug + Send + Sync {
    /// The header its signatures come in; none when it takes no callbacks.
    fn signature_header(&self) -> Option<&HeaderName>;

    /// Refuses what the gateway has not signed.
    fn verify(&self, incoming: &Incoming<'_>) -> Result<(), NotGenuine>;

    /// Understands a body that was verified when it came.
    fn read(&self, body: &Value) -> Reading;

    /// What an operator should know before the first callback comes: one line for each thing that was looked at.
    fn check(&self, now: DateTime<Utc>) -> Vec<Finding>;
}

/// A callback as it arrived.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Its bytes: what is signed.
    pub body: &'a [u8],
    /// When it came.
    pub now: DateTime<Utc>,
}

/// Settings that a driver cannot work with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct BadSettings {
    /// Which of them: `signature.header`.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Why a callback is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotGenuine {
    /// Nobody has told us what the gateway signs with.
    #[error("The gateway has no signing secret, so nothing can be verified.")]
    SecretMissing,
    /// There is no signature.
    #[error("The signature header is missing.")]
    SignatureMissing,
    /// There is one, in another form than the gateway's.
    #[error("The signature header does not have the form this gateway's signatures have.")]
    SignatureMalformed,
    /// It is not the signature of these bytes under this secret.
    #[error("The signature is not one of these bytes under the gateway's secret.")]
    SignatureWrong,
    /// It was made too long ago, or is from the future.
    #[error("The signature was made more than five minutes ago, or in the future.")]
    TimestampOutside,
}

/// What a body says.
#[derive(Debug)]
pub struct Reading {
    /// The gateway's id of the event.
    pub id: Option<String>,
    /// The gateway's word for what happened.
    pub kind: Option<String>,
    /// What it tells; nothing when the driver has no use for such events.
    pub told: Result<Option<Telling>, NotUnderstood>,
}

/// What a callback tells of one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Telling {
    /// The gateway's name of it.
    pub transaction: String,
    /// At least one fact.
    pub facts: Vec<Fact>,
    /// What the gateway calls the payer, where that is its own name.
    pub payer: Option<String>,
}

/// The body lacks what the driver needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotUnderstood(pub String);

/// One thing a check looked at.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// What: `signing_secret`.
    pub subject: &'static str,
    /// Whether it is as it should be.
    pub ok: bool,
    /// A sentence for the operator.
    pub detail: String,
}

impl Finding {
    /// As it should be.
    pub fn good(subject: &'static str, detail: impl Into<String>) -> Self {
        Self { subject, ok: true, detail: detail.into() }
    }

    /// To be mended.
    pub fn bad(subject: &'static str, detail: impl Into<String>) -> Self {
        Self { subject, ok: false, detail: detail.into() }
    }
}

impl NotGenuine {
    /// The word for it in the ledger.
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

/// The body of a callback that no gateway sent, to try a signature out.
pub const TRIAL: &[u8] = b"{}";

/// What an operator is told of a gateway that sends [`TRIAL`] with this signature, which is visible ASCII.
pub fn try_out(account: &dyn Account, header: &HeaderName, signature: &str, now: DateTime<Utc>) -> Finding {
    let value = HeaderValue::from_str(signature).expect("a signature is visible ASCII");
    let headers = HeaderMap::from_iter([(header.clone(), value)]);
    match account.verify(&Incoming { headers: &headers, body: TRIAL, now }) {
        Ok(()) => Finding::good("signing_secret", format!("Callbacks signed in {header} with this secret will be believed.")),
        Err(refused) => Finding::bad("signing_secret", refused.to_string()),
    }
}

/// The bytes signatures are keyed with, or the refusal of everything.
pub fn key(signing_secret: Option<&SigningSecret>) -> Result<&[u8], NotGenuine> {
    signing_secret.map(SigningSecret::bytes).ok_or(NotGenuine::SecretMissing)
}

impl<'a> Incoming<'a> {
    /// The only header of this name; two signatures are none.
    pub fn header(&self, name: &HeaderName) -> Result<&'a str, NotGenuine> {
        let mut values = self.headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().map(str::trim).map_err(|_| NotGenuine::SignatureMalformed),
            (None, _) => Err(NotGenuine::SignatureMissing),
            (Some(_), Some(_)) => Err(NotGenuine::SignatureMalformed),
        }
    }
}

/// Reads a driver's settings; the refusal names the key.
pub fn settings<T: DeserializeOwned>(settings: &Map<String, Value>) -> Result<T, BadSettings> {
    serde_path_to_error::deserialize(Value::Object(settings.clone())).map_err(|error| {
        let path = error.path().to_string();
        BadSettings { path: if path == "." { String::new() } else { path }, reason: error.into_inner().to_string() }
    })
}
