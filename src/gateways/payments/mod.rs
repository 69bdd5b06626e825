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
use crate::resources::{Described, Filter, Record, Reference, Resource};

pub(super) use entry::Entry;
pub use facts::{Fact, FactKind, Normalised};
pub(super) use follow::{Report, what_follows};
pub use state::{Dispute, Kind, State, Status};

crate::columns! {
    /// A payment as the ledger shows it.
    pub struct Payment {
        /// The gateway of the payment.
        pub gateway_id: GatewayId,
        /// The gateway's name of the transaction.
        pub transaction_id: String,
        /// A payment, or a payment method saved for later.
        pub kind: Kind,
        /// The status of the payment.
        pub status: Status,
        /// The amount of the payment, in minor units.
        pub amount: Option<i64>,
        /// The refunded part of the amount, in minor units.
        pub refunded: i64,
        /// The currency of both amounts.
        pub currency: Option<String>,
        /// The status of a dispute about the payment.
        pub dispute: Option<Dispute>,
        /// The order that was paid.
        pub order_id: Option<OrderId>,
        /// The customer who paid.
        pub customer_id: Option<CustomerId>,
    }
}

impl Resource for Payment {
    type Id = PaymentId;
    type Room = Gateways;

    const SINGULAR: &'static str = "payment";
    const PLURAL: &'static str = "payments";
    const FILTERS: &'static [Filter] = &[
        Filter::id::<GatewayId>("gateway").on("gateway_id"),
        Filter::text("gateway_transaction_id").on("transaction_id"),
        Filter::word::<Kind>("kind"),
        Filter::word::<Status>("status"),
        Filter::text("currency"),
        Filter::id::<OrderId>("order").on("order_id"),
        Filter::id::<CustomerId>("customer").on("customer_id"),
    ];
    const SEARCH: &'static [&'static str] = &["transaction_id"];

    fn shown(&self) -> Map<String, Value> {
        members! {
            "gateway": self.gateway_id,
            "gateway_transaction_id": self.transaction_id,
            "kind": self.kind,
            "status": self.status,
            "amount": self.amount,
            "refunded_amount": self.refunded,
            "currency": self.currency,
            "dispute": self.dispute,
            "order": self.order_id,
            "customer": self.customer_id,
        }
    }

    /// Every fact, oldest first.
    async fn details(_: &Gateways, conn: &mut PgConnection, payment: &Record<Self>) -> Result<Map<String, Value>, sqlx::Error> {
        let history = queries::list_history(conn, payment.id).await?;
        Ok(members! { "history": history.into_iter().map(Told::member).collect::<Vec<_>>() })
    }

    fn shown_beside() -> Vec<Described> {
        vec![
            Described::shown::<Reference<GatewayId>>("gateway", "Where."),
            Described::formed("gateway_transaction_id", "What the gateway calls it.", json!({ "type": "string" })),
            Described::shown::<Kind>("kind", "Money, or a way to pay that was saved for later."),
            Described::shown::<Status>("status", "How far it has come."),
            Described::formed("amount", "What was to be paid, in minor units.", json!({ "type": ["integer", "null"] })),
            Described::formed("refunded_amount", "What of it was given back.", json!({ "type": "integer" })),
            Described::formed("currency", "What both are in.", json!({ "type": ["string", "null"] })),
            Described::shown::<Option<Dispute>>("dispute", "How a dispute about it stands."),
            Described::shown::<Option<Reference<OrderId>>>("order", "What it was for."),
            Described::shown::<Option<Reference<CustomerId>>>("customer", "Who paid."),
            Described::formed(
                "history",
                "What was told of it, the first first; only where one payment is found.",
                json!({ "type": "array", "items": { "type": "object" } }),
            ),
        ]
    }
}

/// A fact as the history shows it.
#[derive(Debug)]
pub(super) struct Told {
    callback: CallbackId,
    fact: FactKind,
    reference: String,
    amount: Option<i64>,
    currency: Option<String>,
    message: Option<String>,
    recorded_at: DateTime<Utc>,
}

impl Told {
    fn member(self) -> Value {
        json!({
            "fact": self.fact,
            "reference": Some(self.reference).filter(|reference| !reference.is_empty()),
            "amount": self.amount,
            "currency": self.currency,
            "message": self.message,
            "callback": self.callback,
            "at": timestamp(self.recorded_at),
        })
    }
}
