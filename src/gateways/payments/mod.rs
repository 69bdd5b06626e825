//! Payments: the transactions of a company's gateways, as records of `ledger/int/v1` that are only read.
//!
//! Callbacks tell [`Fact`]s; an [`Entry`] adds them to their payment and says what they make due; [`State`] says where the payment
//! stands. Nobody edits a payment.

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
pub use queries::export_payments;
pub use state::{Dispute, Kind, State, Status};

crate::columns! {
    /// A payment as the ledger shows it.
    pub struct Payment {
        /// Where.
        pub gateway_id: GatewayId,
        /// What the gateway calls it.
        pub transaction_id: String,
        /// What it is.
        pub kind: Kind,
        /// How far it has come.
        pub status: Status,
        /// What was to be paid, in minor units.
        pub amount: Option<i64>,
        /// What of it was given back.
        pub refunded: i64,
        /// What both are in.
        pub currency: Option<String>,
        /// How a dispute about it stands.
        pub dispute: Option<Dispute>,
        /// What it was for.
        pub order_id: Option<OrderId>,
        /// Who paid.
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

    /// Every fact, the first one first.
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
