//! A genuine callback: its signature was verified by the driver of its gateway, now or on arrival.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use axum::body::Bytes;
use chrono::{DateTime, Utc};

use crate::gateways::drivers::{Mode, NotUnderstood, PaymentUpdate, Reading};
use crate::gateways::facts::Fact;
use crate::gateways::open_gateways::OpenGateway;
use crate::kernel::crypto::sha256;
use crate::kernel::ids::{CallbackId, CustomerId, GatewayId, OrderId};
use crate::kernel::json;
use crate::kernel::request_id::RequestId;
use crate::kernel::traces::TraceContext;

/// Maximum length of an id or type that is used as it is, in bytes.
const MAX_WORD_LEN: usize = 255;

/// Maximum number of facts in one callback. Each can become an event.
const MAX_FACTS: usize = 1_000;
/// Maximum length of a gateway's message, in characters. The rest of a longer one is left out.
const MAX_MESSAGE_LEN: usize = 1_000;

/// A genuine callback with its contents.
#[derive(Debug)]
pub struct GenuineCallback {
    pub id: CallbackId,
    pub gateway: Arc<OpenGateway>,
    /// The deduplication key: the gateway's id of the event, or a hash of the body.
    pub key: String,
    /// What tells callbacks with the same key apart; empty if nothing does.
    pub variant: String,
    /// The gateway's name for the type of event.
    pub kind: Option<String>,
    /// The facts in the callback; `None` if it contains nothing of use.
    pub update: Result<Option<PaymentUpdate>, NotUnderstood>,
    /// Why it is ignored, although its type has a meaning.
    pub ignored: Option<OtherMode>,
    pub body: Bytes,
    /// The request that brought it, or has it processed again.
    pub request: Option<RequestId>,
    /// The span of this request, if it is recorded.
    pub trace: Option<TraceContext>,
    /// When its facts are recorded.
    pub at: DateTime<Utc>,
}

/// An event of the gateway's test mode at a gateway whose secret key is live, or the reverse. The mode is that of the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherMode(Mode);

impl OtherMode {
    /// Whether an event of this mode is one of another mode than the gateway's.
    pub fn of(event: Option<Mode>, gateway: Option<Mode>) -> Option<Self> {
        gateway.filter(|mode| event.is_some_and(|event| event != *mode)).map(Self)
    }

    /// The reason as a word, for the ledger.
    pub fn reason(self) -> &'static str {
        match self.0 {
            Mode::Live => "test_event",
            Mode::Test => "live_event",
        }
    }

    /// A sentence for the operator.
    pub fn detail(self) -> &'static str {
        match self.0 {
            Mode::Live => "The event is of the provider's test mode, and the gateway's secret key is a live one.",
            Mode::Test => "The event tells of real money, and the gateway's secret key is one of the provider's test mode.",
        }
    }
}

impl GenuineCallback {
    /// Reads a body that was verified. It is evidence: what cannot be read in it is no reason to refuse the rest.
    pub fn read(id: CallbackId, gateway: Arc<OpenGateway>, body: Bytes, request: Option<RequestId>, at: DateTime<Utc>) -> Self {
        let Reading { id: event, variant, kind, mode, update } = match json::read_evidence(&body) {
            Some(value) => gateway.account.read(&value),
            None => {
                let update = Err(NotUnderstood("The body is not valid JSON.".to_owned()));
                Reading { id: None, variant: None, kind: None, mode: None, update }
            }
        };
        let ignored = OtherMode::of(mode, gateway.mode).filter(|_| !matches!(update, Ok(None)));
        let update = match ignored {
            Some(_) => Ok(None),
            None => update.and_then(|update| update.map(bounded).transpose()),
        };
        let (key, variant) = match event.filter(|word| short(word)) {
            Some(event) => (event, variant.map(|variant| if short(&variant) { variant } else { key_of(variant.as_bytes()) })),
            None => (key_of(&body), None),
        };
        let variant = variant.unwrap_or_default();
        Self { id, gateway, key, variant, kind: kind.filter(|word| short(word)), update, ignored, body, request, trace: None, at }
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

    /// Equal for callbacks that are repetitions of one.
    pub fn once_by(&self) -> (GatewayId, &str, &str) {
        (self.gateway.id, &self.key, &self.variant)
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

fn short(word: &str) -> bool {
    word.len() <= MAX_WORD_LEN
}

/// Whatever a gateway sends, one callback does not take long to record, and each of its events fits the size of an event.
fn bounded(mut update: PaymentUpdate) -> Result<PaymentUpdate, NotUnderstood> {
    if !short(&update.transaction) {
        return Err(NotUnderstood("The id of the transaction is too long.".to_owned()));
    }
    if update.facts.len() > MAX_FACTS {
        return Err(NotUnderstood(format!("One callback may report at most {MAX_FACTS} refunds, not {}.", update.facts.len())));
    }
    if update.facts.iter().any(|fact| !short(&fact.reference)) {
        return Err(NotUnderstood("The id of a refund or dispute is too long.".to_owned()));
    }
    update.payer = update.payer.filter(|word| short(word));
    for message in update.facts.iter_mut().filter_map(|fact| fact.message.as_mut()) {
        if let Some((end, _)) = message.char_indices().nth(MAX_MESSAGE_LEN) {
            message.truncate(end);
        }
    }
    Ok(update)
}

/// The deduplication key of a callback without an id of its own.
pub fn key_of(body: &[u8]) -> String {
    format!("sha256:{}", hex::encode(sha256(body)))
}
