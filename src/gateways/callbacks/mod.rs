//! Callbacks: received at `POST /webhooks`, recorded, and shown as read-only records of `ledger/int/v1`.
//!
//! # The processing of a callback
//!
//! | step | where | database access |
//! |---|---|---|
//! | The callback arrives; its rate limit is checked. | `receive` | |
//! | Its gateway is resolved: by name, by the signature header, or because there is only one. | `resolve` | once a second for each gateway |
//! | Its signature is verified; a callback that is not genuine is kept in part and refused. | `receive`, `refusal` | if it is refused |
//! | Its body is read: its deduplication key and its facts. | [`genuine`] | |
//! | Together with other callbacks of the same moment it is looked up: is it a duplicate, is its payment known, do the order and customer belong to the company? | [`recording`], [`ledger`] | one statement; another one for the known facts of payments |
//! | The consequences of new callbacks are worked out. | [`facts`] | |
//! | They are written together with the callback records. | [`ledger`] | one statement |
//! | The response is sent after the commit is on disk. | `receive` | |
//! | A duplicate of a callback that failed is processed again. | `retry` | if it is a duplicate |
//!
//! `retry` also retries failed callbacks on a schedule or by hand.
//!
//! [`genuine`]: crate::gateways::genuine
//! [`recording`]: crate::gateways::recording
//! [`ledger`]: crate::gateways::ledger
//! [`facts`]: crate::gateways::facts

mod documentation;
mod reason;
mod receive;
mod record;
mod redaction;
mod refusal;
mod resolve;
mod retry;
mod series;

use axum::Router;
use axum::extract::FromRef;
use axum::http::Method;

use crate::companies::{Companies, RequestLimits};
use crate::gateways::state::Gateways;
use crate::kernel::request_body::LargerBody;
use crate::kernel::routing::post;
use crate::resources::Extension;

pub use documentation::description;
pub use record::{CallbackRecord, export_callbacks};
pub use refusal::MAX_KEPT_BODY_LEN;

/// Maximum length of a callback body (decisions, section 1).
const BODY_LIMIT: usize = 1024 * 1024;
const WITH_KEY: &str = "/webhooks";
const WITHOUT_KEY: &str = "/webhooks/{gateway}";

/// The routes that take larger bodies than others.
pub const LARGER_BODIES: [LargerBody; 2] = [(WITH_KEY, BODY_LIMIT), (WITHOUT_KEY, BODY_LIMIT)];

/// `POST /webhooks` and `POST /webhooks/{gateway}`.
pub fn receiving_routes<S>() -> Router<S>
where
    Gateways: FromRef<S>,
    Companies: FromRef<S>,
    RequestLimits: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Router::new().route(WITH_KEY, post(receive::with_key)).route(WITHOUT_KEY, post(receive::without_key))
}

/// The read-only resource of the ledger, and the route that processes a callback by hand.
pub fn extension<S>() -> Extension<S>
where
    Gateways: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Extension::new("ledger").read_only::<CallbackRecord>().route(Method::POST, "/callbacks/{uuid}/process", retry::doc(), retry::process)
}
