//! Payments: the transactions of a company's gateways, as read-only records of `ledger/int/v1`. Only callbacks change them.

use serde_json::{Map, Value, json};

use crate::callers::{Area, Caller};
use crate::gateways::facts::{Dispute, Kind, Status};
use crate::gateways::ledger::{self, HistoryEntry};
use crate::gateways::money::Currency;
use crate::gateways::state::Gateways;
use crate::kernel::clock::timestamp;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, GatewayId, OrderId, PaymentId};
use crate::members;
use crate::resources::{FilterForm, Record, Reference, Resource};

crate::field_type!(Currency => String, json!({ "type": "string" }), filtered by FilterForm::text::<Currency>("a currency such as USD"));

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
        currency: Option<Currency>,
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
    const SEARCH_INDEX: bool = true;
    const AREA: Area = Area::Business;

    /// Every fact, oldest first.
    async fn details(_: &Gateways, _: &Caller, conn: &mut Connection, payment: &Record<Self>) -> Result<Map<String, Value>, sqlx::Error> {
        let history = ledger::list_history(conn, payment.id).await?;
        Ok(members! { "history": history.into_iter().map(member).collect::<Vec<_>>() })
    }
}

fn member(entry: HistoryEntry) -> Value {
    json!({
        "fact": entry.fact,
        "reference": Some(entry.reference).filter(|reference| !reference.is_empty()),
        "amount": entry.amount,
        "total": entry.total,
        "currency": entry.currency,
        "message": entry.message,
        "callback": entry.callback,
        "at": timestamp(entry.recorded_at),
    })
}
