//! Callbacks: received at `POST /webhooks`, recorded, and shown as read-only records of `ledger/int/v1`.
//!
//! # The processing of a callback
//!
//! | step | where | database access |
//! |---|---|---|
//! | The callback arrives; its rate limit is checked. | `receive` | |
//! | Its gateway is resolved: by name, by the signature header, or because there is only one. | `resolve` | once a second for each gateway |
//! | Its signature is verified; a callback that is not genuine is kept in part and refused. | `receive`, `refusal` | if it is refused |
//! | Its body is read: its deduplication key and its facts. | `parsed` | |
//! | Together with other callbacks of the same moment it is looked up: is it a duplicate, is its payment known, do the order and customer belong to the company? | `record` | one statement; another one for the known facts of payments |
//! | The consequences of new callbacks are worked out. | `apply`, [`payments`] | |
//! | They are written together with the callback records. | [`ledger`] | one statement |
//! | The response is sent after the commit is on disk. | `receive` | |
//! | A duplicate of a callback that failed is processed again. | `retry` | if it is a duplicate |
//!
//! `retry` also retries failed callbacks on a schedule or by hand.
//!
//! [`payments`]: crate::gateways::payments
//! [`ledger`]: crate::gateways::ledger

mod apply;
mod documentation;
mod parsed;
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
use serde_json::{Map, Value};
use sqlx::PgConnection;

use crate::companies::Companies;
use crate::gateways::Gateways;
use crate::kernel::ids::{CallbackId, GatewayId};
use crate::members;
use crate::resources::{Extension, Instant, Record, Reference, Resource};
pub(super) use documentation::description;
pub(super) use record::{Recording, recording};

/// Maximum length of a callback body (decisions, section 1).
const BODY_LIMIT: usize = 1024 * 1024;

crate::text_enum! {
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
        /// Why the callback was refused or failed, as a word.
        #[filtered]
        reason: Option<String>,
        /// Why the callback was refused or failed, as a sentence.
        detail: Option<String>,
        /// The length of the body, in bytes.
        body_size: i32,
        /// Number of attempts to process the callback.
        attempts: i16,
        /// When processing is retried next.
        due_at as "next_attempt_at": Option<Instant>,
    }
    computed {
        /// The body of the callback. Only in the response for a single callback.
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

    /// The body as it arrived, of a refused callback only its beginning; and the payments that the callback reported on.
    async fn details(_: &Gateways, conn: &mut PgConnection, callback: &Record<Self>) -> Result<Map<String, Value>, sqlx::Error> {
        let body = queries::find_body(conn, callback.id).await?;
        let payments = queries::list_payments(conn, callback.id).await?;
        Ok(members! { "body": String::from_utf8_lossy(&body), "payments": payments })
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
    Extension::new("ledger").read_only::<CallbackRecord>().route(Method::POST, "/callbacks/{uuid}/process", retry::doc(), retry::process)
}
