//! Callbacks: taken in at `POST /webhooks`, kept, and shown as records of `ledger/int/v1` that are only read.
//!
//! # The way of a callback
//!
//! | step | where | asks the database |
//! |---|---|---|
//! | It arrives, not too often. | `receive` | |
//! | Its gateway is found: by name, by its signature's header, or because there is only one. | `resolve` | once a second for each gateway |
//! | Its signature is verified; what is not genuine is kept in part and answered. | `receive`, `refusal` | where it is refused |
//! | Its body is read: what it is told apart by, and what it tells. | `genuine` | |
//! | With all others of the same moment it is looked up: was it here before, is its payment known, is what it names the company's? | `record` | one statement; another one for what is known of payments |
//! | What follows from those that are new is worked out, | `process`, [`payments`] | |
//! | and written, each with its record. | [`ledger`] | one statement |
//! | It is answered, once that is on disk. | `receive` | |
//! | One that was here already is processed again if that failed. | `retry` | where it is repeated |
//!
//! What failed is tried again by `retry`, too: when its time comes, or by hand.
//!
//! [`payments`]: crate::gateways::payments
//! [`ledger`]: crate::gateways::ledger

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

/// Callbacks may be as long as this (decisions, section 1).
const BODY_LIMIT: usize = 1024 * 1024;

crate::words! {
    /// What became of a callback.
    pub enum Status {
        /// It was not believed.
        Refused = "refused",
        /// It is genuine and tells nothing of use.
        Ignored = "ignored",
        /// It is genuine and could not be processed yet.
        Failed = "failed",
        /// It has told its payment.
        Processed = "processed",
    }
}

crate::columns! {
    /// A callback as the ledger shows it.
    pub struct CallbackRecord {
        /// Where it is from, or says so.
        pub gateway_id: Option<GatewayId>,
        /// What it is told apart by.
        pub key: String,
        /// The gateway's word for what happened.
        pub kind: Option<String>,
        /// What became of it.
        pub status: Status,
        /// Why it was refused or failed, in a word.
        pub reason: Option<String>,
        /// The same in a sentence.
        pub detail: Option<String>,
        /// Its length in bytes.
        pub body_size: i32,
        /// How often processing was tried.
        pub attempts: i16,
        /// When it is tried again.
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

    /// The body as it came, of a refused one its beginning; and the payments it told of.
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

/// What the ledger shows of them, and processing by hand.
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
