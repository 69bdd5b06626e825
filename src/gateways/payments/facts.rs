//! Facts: what callbacks tell about a payment, one at a time, in words that all gateways share.

use crate::events::{EventName, names};
use crate::gateways::money::Currency;
use crate::kernel::ids::{CustomerId, OrderId};

/// One thing a callback tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is about.
    pub kind: FactKind,
    /// Which refund or dispute; empty where a payment has only one.
    pub reference: String,
    /// Of this refund, dispute or payment, in minor units.
    pub amount: Option<i64>,
    /// All refunds of the payment so far, where the gateway tells only that.
    pub total: Option<i64>,
    /// What the amounts are in.
    pub currency: Option<Currency>,
    /// What the gateway says about it.
    pub message: Option<String>,
    /// The company's order it was for.
    pub order: Option<OrderId>,
    /// The company's customer who paid.
    pub customer: Option<CustomerId>,
}

/// What a fact is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum FactKind {
    /// The gateway is working on it, or holds it for capture.
    PaymentPending,
    /// An attempt to pay failed, or the payment was given up.
    PaymentFailed,
    /// The money is there.
    PaymentSucceeded,
    /// A refund is under way.
    RefundPending,
    /// A refund has been made.
    RefundProcessed,
    /// A refund did not arrive.
    RefundFailed,
    /// What all refunds come to; which of them is new is not told.
    RefundedInAll,
    /// A way to pay was saved.
    SetupSucceeded,
    /// The payer disputes the payment.
    DisputeCreated,
    /// Something happened in a dispute.
    DisputeUpdated,
    /// The dispute ended for the company.
    DisputeWon,
    /// The dispute ended for the payer.
    DisputeLost,
}

/// What subscribers are told, whatever the gateway calls it (decisions, section 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Normalised {
    /// `payment.succeeded`
    #[serde(rename = "payment.succeeded")]
    PaymentSucceeded,
    /// `payment.failed`
    #[serde(rename = "payment.failed")]
    PaymentFailed,
    /// `payment.pending`
    #[serde(rename = "payment.pending")]
    PaymentPending,
    /// `refund.processed`
    #[serde(rename = "refund.processed")]
    RefundProcessed,
    /// `refund.failed`
    #[serde(rename = "refund.failed")]
    RefundFailed,
    /// `setup.succeeded`
    #[serde(rename = "setup.succeeded")]
    SetupSucceeded,
    /// `chargeback.created`
    #[serde(rename = "chargeback.created")]
    ChargebackCreated,
}

impl Normalised {
    /// The event of the catalogue.
    pub fn event(self) -> EventName {
        match self {
            Self::PaymentSucceeded => names::PAYMENT_SUCCEEDED,
            Self::PaymentFailed => names::PAYMENT_FAILED,
            Self::PaymentPending => names::PAYMENT_PENDING,
            Self::RefundProcessed => names::REFUND_PROCESSED,
            Self::RefundFailed => names::REFUND_FAILED,
            Self::SetupSucceeded => names::SETUP_SUCCEEDED,
            Self::ChargebackCreated => names::CHARGEBACK_CREATED,
        }
    }

    /// The `status` its `data` shows.
    pub fn status(self) -> &'static str {
        match self {
            Self::PaymentSucceeded | Self::SetupSucceeded => "succeeded",
            Self::PaymentFailed | Self::RefundFailed => "failed",
            Self::PaymentPending => "pending",
            Self::RefundProcessed => "processed",
            Self::ChargebackCreated => "created",
        }
    }

    /// The fact this is told by.
    pub fn fact(self) -> FactKind {
        match self {
            Self::PaymentSucceeded => FactKind::PaymentSucceeded,
            Self::PaymentFailed => FactKind::PaymentFailed,
            Self::PaymentPending => FactKind::PaymentPending,
            Self::RefundProcessed => FactKind::RefundProcessed,
            Self::RefundFailed => FactKind::RefundFailed,
            Self::SetupSucceeded => FactKind::SetupSucceeded,
            Self::ChargebackCreated => FactKind::DisputeCreated,
        }
    }
}

impl FactKind {
    /// Whether a payment may have several such things, each with a reference of its own.
    pub fn is_one_of_several(self) -> bool {
        match self {
            Self::PaymentPending | Self::PaymentFailed | Self::PaymentSucceeded | Self::SetupSucceeded => false,
            Self::RefundPending | Self::RefundProcessed | Self::RefundFailed | Self::RefundedInAll => true,
            Self::DisputeCreated | Self::DisputeUpdated | Self::DisputeWon | Self::DisputeLost => true,
        }
    }
}

impl Fact {
    /// A fact without particulars.
    pub fn new(kind: FactKind) -> Self {
        Self { kind, reference: String::new(), amount: None, total: None, currency: None, message: None, order: None, customer: None }
    }

    /// A gateway that tells only what all refunds come to, and not what they came to before, has told of what is new since `known`.
    pub fn settled(mut self, known: &[Self]) -> Self {
        if let (FactKind::RefundedInAll, None, Some(total)) = (self.kind, self.amount, self.total) {
            let before = known.iter().filter_map(|fact| fact.total).max().unwrap_or(0);
            self.amount = Some((total - before).max(0));
        }
        self
    }
}
