//! Callbacks: received at `POST /webhooks`, recorded, and shown as read-only records of `ledger/int/v1`.
//!
//! # The processing of a callback
//!
//! | step | where | database access |
//! |---|---|---|
//! | The callback arrives; its rate limit is checked. | `receive` | |
//! | Its gateway is resolved: by name, by the signature header, or because there is only one. | `resolve` | once a second for each gateway |
//! | Its signature is verified; a callback that is not genuine is kept in part and refused. | `receive`, `refusal` | if it is refused |
//! | Its body is read: its deduplication key and its facts. | `genuine` | |
//! | Together with other callbacks of the same moment it is looked up: is it a duplicate, is its payment known, do the order and customer belong to the company? | `record` | one statement; another one for the known facts of payments |
//! | The consequences of new callbacks are worked out. | `process`, [`payments`] | |
//! | They are written together with the callback records. | [`ledger`] | one statement |
//! | The response is sent after the commit is on disk. | `receive` | |
//! | A duplicate of a callback that failed is processed again. | `retry` | if it is a duplicate |
//!
//! `retry` also retries failed callbacks on a schedule or by hand.
//!
//! [`payments`]: crate::gateways::payments [`ledger`]: crate::gateways::ledger

mod genuine;
mod process;
mod queries;
mod receive;
mod record;
mod refusal;
mod resolve;
mod retry;

use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRef};
use axum::http::Method;
use axum::routing::post;
use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};
use sqlx::PgConnection;

use crate::companies::Companies;
use crate::gateways::Gateways;
use crate::kernel::clock::timestamp;
use crate::kernel::ids::{CallbackId, GatewayId};
use crate::members;
use crate::resources::{Described, Extension, Filter, Instant, Record, Reference, Resource};
pub(super) use record::{Recording, recording};

/// Maximum length of a callback body (decisions, section 1).
const BODY_LIMIT: usize = 1024 * 1024;

crate::words! {
    /// The status of a callback.
    pub enum Status {
        /// The callback was not accepted.
        Refused = "refused",
        /// The callback is genuine and contains nothing of use.
        Ignored = "ignored",
        /// The callback is genuine and could not be processed yet.
        Failed = "failed",
        /// The callback is genuine and has been processed.
        Processed = "processed",
    }
}

crate::columns! {
    /// A callback as the ledger shows it.
    pub struct CallbackRecord {
        /// The gateway that sent the callback or, if it was refused, the gateway it was sent for.
        pub gateway_id: Option<GatewayId>,
        /// The deduplication key: the gateway's id of the event, or a hash of the body.
        pub key: String,
        /// The gateway's name for the type of event.
        pub kind: Option<String>,
        /// The status of the callback.
        pub status: Status,
        /// Why the callback was refused or failed, as a word.
        pub reason: Option<String>,
        /// Why the callback was refused or failed, as a sentence.
        pub detail: Option<String>,
        /// The length of the body, in bytes.
        pub body_size: i32,
        /// Number of attempts to process the callback.
        pub attempts: i16,
        /// When processing is retried next.
        pub due_at: Option<DateTime<Utc>>,
    }
}

impl Resource for CallbackRecord {
    type Id = CallbackId;
    type Room = Gateways;

    const SINGULAR: &'static str = "callback";
    const PLURAL: &'static str = "callbacks";
    const FILTERS: &'static [Filter] = &[
        Filter::id::<GatewayId>("gateway").on("gateway_id"),
        Filter::text("event_id").on("key"),
        Filter::text("type").on("kind"),
        Filter::word::<Status>("status"),
        Filter::text("reason"),
    ];

    fn shown(&self) -> Map<String, Value> {
        members! {
            "gateway": self.gateway_id,
            "event_id": self.key,
            "type": self.kind,
            "status": self.status,
            "reason": self.reason,
            "detail": self.detail,
            "body_size": self.body_size,
            "attempts": self.attempts,
            "next_attempt_at": self.due_at.map(timestamp),
        }
    }

    /// The body as it arrived, of a refused callback only its beginning; and the payments that the callback reported on.
    async fn details(_: &Gateways, conn: &mut PgConnection, callback: &Record<Self>) -> Result<Map<String, Value>, sqlx::Error> {
        let body = queries::find_body(conn, callback.id).await?;
        let payments = queries::list_payments(conn, callback.id).await?;
        Ok(members! { "body": String::from_utf8_lossy(&body), "payments": payments })
    }

    fn shown_beside() -> Vec<Described> {
        vec![
            Described::shown::<Option<Reference<GatewayId>>>("gateway", "Where it is from, or says so."),
            Described::formed("event_id", "What it is told apart by.", json!({ "type": "string" })),
            Described::formed("type", "The gateway's word for what happened.", json!({ "type": ["string", "null"] })),
            Described::shown::<Status>("status", "What became of it."),
            Described::formed("reason", "Why it was refused or failed, in a word.", json!({ "type": ["string", "null"] })),
            Described::formed("detail", "The same in a sentence.", json!({ "type": ["string", "null"] })),
            Described::formed("body_size", "Its length in bytes.", json!({ "type": "integer" })),
            Described::formed("attempts", "How often processing was tried.", json!({ "type": "integer" })),
            Described::shown::<Option<Instant>>("next_attempt_at", "When it is tried again."),
            Described::formed("body", "What came; only where one callback is found.", json!({ "type": "string" })),
            Described::formed(
                "payments",
                "The payments it told of; only where one callback is found.",
                json!({ "type": "array", "items": { "type": "string" } }),
            ),
        ]
    }
}

/// `POST /webhooks` and `POST /webhooks/{gateway}`.
pub(super) fn receiving_routes<S>() -> Router<S>
where
    Gateways: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Router::new()
        .route("/webhooks", post(receive::with_key))
        .route("/webhooks/{gateway}", post(receive::without_key))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
}

/// The read-only resource of the ledger, and the route that processes a callback by hand.
pub(super) fn extension<S>() -> Extension<S>
where
    Gateways: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Extension::new("ledger").read_only::<CallbackRecord>().beside(
        Method::POST,
        "/callbacks/{uuid}/process",
        "Process a callback that was genuine, now.",
        retry::process,
    )
}
