//! Facts: what callbacks report about a payment, in terms that all gateways share.

use crate::events::{EventName, names};
use crate::gateways::money::Currency;
use crate::kernel::ids::{CustomerId, OrderId};

/// One statement of a callback about a payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The kind of fact.
    pub kind: FactKind,
    /// The capture, refund or dispute that the fact is about; empty if a payment has only one.
    pub reference: String,
    /// The amount of the refund, dispute or payment, in minor units; of a [`FactKind::RefundedInAll`] fact, the part of the total that
    /// is new, if the gateway says so.
    pub amount: Option<i64>,
    /// The total of all refunds of the payment so far, if the gateway reports only that; in minor units. It counts what was released, too. Of a
    /// [`FactKind::AuthorisationReleased`] fact, what had been authorised.
    pub total: Option<i64>,
    /// The currency of the amounts.
    pub currency: Option<Currency>,
    /// The gateway's message.
    pub message: Option<String>,
    /// The order that was paid, if it belongs to the company.
    pub order: Option<OrderId>,
    /// The customer who paid, if they belong to the company.
    pub customer: Option<CustomerId>,
}

/// The kind of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum FactKind {
    /// The gateway is processing the payment, or holds it for capture.
    PaymentPending,
    /// An attempt to pay failed, or the payment was cancelled.
    PaymentFailed,
    /// The payment succeeded, or a part of it was captured.
    PaymentSucceeded,
    /// An authorised amount was released without being paid. The gateway counts it among the refunds: in their total, and as a refund of its
    /// own if it reports each. In a callback that tells of a capture as well, it comes first.
    AuthorisationReleased,
    /// A refund is being processed.
    RefundPending,
    /// A refund was made.
    RefundProcessed,
    /// A refund failed.
    RefundFailed,
    /// The total of all refunds was reported, without saying which of them is new.
    RefundedInAll,
    /// A payment method was saved.
    SetupSucceeded,
    /// The payer's bank asks about the payment, which may become a dispute. No money has moved.
    InquiryOpened,
    /// The inquiry ended without a dispute, or the dispute was prevented before it was filed.
    InquiryClosed,
    /// The payer disputes the payment.
    DisputeCreated,
    /// A dispute changed.
    DisputeUpdated,
    /// The dispute was decided for the company.
    DisputeWon,
    /// The dispute was decided for the payer.
    DisputeLost,
}

/// The normalised events that subscribers receive, the same for all gateways (decisions, section 8).
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
    /// The event name in the catalogue.
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

    /// The `status` in the `data` of the event.
    pub fn status(self) -> &'static str {
        match self {
            Self::PaymentSucceeded | Self::SetupSucceeded => "succeeded",
            Self::PaymentFailed | Self::RefundFailed => "failed",
            Self::PaymentPending => "pending",
            Self::RefundProcessed => "processed",
            Self::ChargebackCreated => "created",
        }
    }

    /// The kind of fact that makes this event due.
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
    /// Whether each of these has a reference: that of the event, if the gateway names none.
    pub fn is_one_of_several(self) -> bool {
        match self {
            Self::PaymentPending | Self::PaymentFailed | Self::PaymentSucceeded | Self::AuthorisationReleased | Self::SetupSucceeded => {
                false
            }
            Self::RefundPending | Self::RefundProcessed | Self::RefundFailed | Self::RefundedInAll => true,
            Self::InquiryOpened | Self::InquiryClosed => true,
            Self::DisputeCreated | Self::DisputeUpdated | Self::DisputeWon | Self::DisputeLost => true,
        }
    }
}

impl Fact {
    /// A fact with a kind only.
    pub fn new(kind: FactKind) -> Self {
        Self { kind, reference: String::new(), amount: None, total: None, currency: None, message: None, order: None, customer: None }
    }
}
