//! Payments: the transactions of a company's gateways, as read-only records of `ledger/int/v1`.
//!
//! Callbacks contain [`Fact`]s. An [`Entry`] adds them to their payment and determines which events become due. [`State`] is the
//! resulting state of the payment. Payments cannot be edited.

mod entry;
mod facts;
mod follow;
mod queries;
mod state;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};
use sqlx::PgConnection;

use crate::gateways::Gateways;
use crate::kernel::clock::timestamp;
use crate::kernel::ids::{CallbackId, CustomerId, GatewayId, OrderId, PaymentId};
use crate::members;
use crate::resources::{Record, Reference, Resource};

pub(super) use entry::Entry;
pub use facts::{Fact, FactKind, Normalised};
pub(super) use follow::{Report, what_follows};
pub use state::{Dispute, Kind, State, Status};

crate::read_only! {
    /// A payment as the ledger shows it.
    pub struct Payment {
        /// The gateway of the payment.
        #[filtered]
        gateway_id as "gateway": Reference<GatewayId>,
        /// The gateway's name of the transaction.
        #[filtered] #[searched]
        transaction_id as "gateway_transaction_id": String,
        /// A payment, or a payment method saved for later.
        #[filtered]
        kind: Kind,
        /// The status of the payment.
        #[filtered]
        status: Status,
        /// The amount of the payment, in minor units.
        amount: Option<i64>,
        /// The refunded part of the amount, in minor units.
        refunded as "refunded_amount": i64,
        /// The currency of both amounts.
        #[filtered]
        currency: Option<String>,
        /// The status of a dispute about the payment.
        dispute: Option<Dispute>,
        /// The order that was paid.
        #[filtered]
        order_id as "order": Option<Reference<OrderId>>,
        /// The customer who paid.
        #[filtered]
        customer_id as "customer": Option<Reference<CustomerId>>,
    }
    computed {
        /// The facts recorded about the payment, oldest first. Only in the response for a single payment.
        #[detail]
        history: Vec<Map<String, Value>>,
    }
}

impl Resource for Payment {
    type Id = PaymentId;
    type State = Gateways;

    const SINGULAR: &'static str = "payment";
    const PLURAL: &'static str = "payments";

    /// Every fact, oldest first.
    async fn details(_: &Gateways, conn: &mut PgConnection, payment: &Record<Self>) -> Result<Map<String, Value>, sqlx::Error> {
        let history = queries::list_history(conn, payment.id).await?;
        Ok(members! { "history": history.into_iter().map(HistoryEntry::member).collect::<Vec<_>>() })
    }
}

/// A fact as the history shows it.
#[derive(Debug)]
pub(super) struct HistoryEntry {
    callback: CallbackId,
    fact: FactKind,
    reference: String,
    amount: Option<i64>,
    total: Option<i64>,
    currency: Option<String>,
    message: Option<String>,
    recorded_at: DateTime<Utc>,
}

impl HistoryEntry {
    fn member(self) -> Value {
        json!({
            "fact": self.fact,
            "reference": Some(self.reference).filter(|reference| !reference.is_empty()),
            "amount": self.amount,
            "total": self.total,
            "currency": self.currency,
            "message": self.message,
            "callback": self.callback,
            "at": timestamp(self.recorded_at),
        })
    }
}
