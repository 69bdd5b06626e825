//! Callbacks as read-only records of `ledger/int/v1`.

use serde_json::{Map, Value, json};

use crate::callers::{Area, Caller};
use crate::gateways::callbacks::reason::CallbackReason;
use crate::gateways::callbacks::redaction::redacted;
use crate::gateways::ledger::{self, Status};
use crate::gateways::state::Gateways;
use crate::kernel::clock::timestamp;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CallbackId, CompanyId, CustomerId, GatewayId};
use crate::kernel::json::evidence_text;
use crate::members;
use crate::resources::{Instant, Record, Reference, Resource, Word};

crate::read_only! {
    /// A callback as the ledger shows it.
    pub struct CallbackRecord {
        /// The gateway that sent the callback or, if it was refused, the gateway it was sent for.
        #[filtered]
        gateway_id as "gateway": Option<Reference<GatewayId>>,
        /// The deduplication key: the gateway's id of the event, or a hash of the body.
        #[filtered]
        key as "event_id": String,
        /// The gateway's name for the type of event.
        #[filtered]
        kind as "type": Option<String>,
        /// The status of the callback.
        #[filtered]
        status: Status,
        /// Why the callback was refused, ignored or failed, or was understood only in part, as a word.
        #[filtered]
        reason: Option<Word<CallbackReason>>,
        /// Why the callback was refused, ignored or failed, or what of it was not understood, in sentences.
        detail: Option<String>,
        /// The length of the body, in bytes.
        body_size: i32,
        /// When the body was erased, because it is kept for a time only.
        body_erased_at: Option<Instant>,
        /// Number of attempts to process the callback.
        attempts: i16,
        /// When processing is retried next.
        due_at as "next_attempt_at": Option<Instant>,
    }
    computed {
        /// The body of the callback, without secrets and the data of cards. Only in the response for a single callback.
        #[detail]
        body: String,
        /// The payments that the callback is about. Only in the response for a single callback.
        #[detail]
        payments: Vec<String>,
    }
}

impl Resource for CallbackRecord {
    type Id = CallbackId;
    type State = Gateways;

    const SINGULAR: &'static str = "callback";
    const PLURAL: &'static str = "callbacks";
    const AREA: Area = Area::Traffic;
    /// The body without what nobody may see, of a refused callback only its beginning; and the payments that the callback reported on.
    async fn details(_: &Gateways, _: &Caller, conn: &mut Connection, callback: &Record<Self>) -> Result<Map<String, Value>, sqlx::Error> {
        let body = ledger::find_body(conn, callback.id).await?;
        let payments = ledger::list_payments(conn, callback.id).await?;
        Ok(members! { "body": redacted(&evidence_text(&body)), "payments": payments })
    }
}

/// The callbacks that reported on payments of a customer, for the export of the customer, as the ledger shows them.
pub async fn export_callbacks(conn: &mut Connection, company: CompanyId, customer: CustomerId) -> Result<Value, sqlx::Error> {
    let callbacks = ledger::list_of_customer(conn, company, customer).await?;
    let shown = callbacks.into_iter().map(|callback| {
        let body = redacted(&evidence_text(&callback.body));
        json!({ "id": callback.id, "type": callback.kind, "created_at": timestamp(callback.created_at), "body": body })
    });
    Ok(shown.collect())
}
