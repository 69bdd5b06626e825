//! A genuine callback: its signature was verified by the driver of its gateway, now or on arrival.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use axum::body::Bytes;
use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::gateways::drivers::{NotUnderstood, PaymentUpdate, Reading};
use crate::gateways::facts::Fact;
use crate::gateways::open_gateways::OpenGateway;
use crate::kernel::crypto::sha256;
use crate::kernel::ids::{CallbackId, CustomerId, OrderId};
use crate::kernel::json;
use crate::kernel::request_id::RequestId;

/// Maximum length of an id or type that is used as it is, in bytes.
const MAX_WORD_LEN: usize = 255;

/// A genuine callback with its contents.
#[derive(Debug)]
pub struct GenuineCallback {
    pub id: CallbackId,
    pub gateway: Arc<OpenGateway>,
    /// The deduplication key.
    pub key: String,
    /// The gateway's name for the type of event.
    pub kind: Option<String>,
    /// The facts in the callback; `None` if it contains nothing of use.
    pub update: Result<Option<PaymentUpdate>, NotUnderstood>,
    pub body: Bytes,
    /// The request that brought it, or has it processed again.
    pub request: Option<RequestId>,
    /// When its facts are recorded.
    pub at: DateTime<Utc>,
}

impl GenuineCallback {
    /// Reads a body that was verified.
    pub fn read(id: CallbackId, gateway: Arc<OpenGateway>, body: Bytes, request: Option<RequestId>, at: DateTime<Utc>) -> Self {
        let Reading { id: event, kind, update } = match json::parse::<Value>(&body) {
            Ok(value) => gateway.account.read(&value),
            Err(_) => Reading { id: None, kind: None, update: Err(NotUnderstood("The body is not valid JSON.".to_owned())) },
        };
        let short = |word: &String| word.len() <= MAX_WORD_LEN;
        let update = update.and_then(|update| match update {
            Some(update) if !short(&update.transaction) => Err(NotUnderstood("The id of the transaction is too long.".to_owned())),
            update => Ok(update),
        });
        let key = event.filter(short).unwrap_or_else(|| key_of(&body));
        Self { id, gateway, key, kind: kind.filter(short), update, body, request, at }
    }

    /// The facts, if there are any.
    pub fn understood(&self) -> Option<&PaymentUpdate> {
        self.update.as_ref().ok().and_then(Option::as_ref)
    }

    /// The gateway's own name for the payment.
    pub fn transaction(&self) -> Option<&str> {
        self.understood().map(|update| update.transaction.as_str())
    }

    /// The order that the callback names. It may belong to another company.
    pub fn order(&self) -> Option<OrderId> {
        self.facts().iter().find_map(|fact| fact.order)
    }

    /// The customer that the callback names. They may belong to another company.
    pub fn customer(&self) -> Option<CustomerId> {
        self.facts().iter().find_map(|fact| fact.customer)
    }

    /// The gateway's own name for the customer.
    pub fn payer(&self) -> Option<&str> {
        self.understood().and_then(|update| update.payer.as_deref())
    }

    /// The same number for all callbacks about one payment, and for a callback that is repeated.
    pub fn turn(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.gateway.id, self.transaction().unwrap_or(&self.key)).hash(&mut hasher);
        hasher.finish()
    }

    fn facts(&self) -> &[Fact] {
        self.understood().map_or(&[], |update| &update.facts)
    }
}

/// The deduplication key of a callback without an id of its own.
pub fn key_of(body: &[u8]) -> String {
    format!("sha256:{}", hex::encode(sha256(body)))
}
