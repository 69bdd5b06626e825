//! The developer API: a company's API keys, its event log and its event types (`docs/specification/decisions.md`, section 9).
//!
//! [`api_keys`] writes the table of that name, which [`crate::companies`] reads to authenticate requests. [`stream`] sends events to
//! clients as they are committed. [`operators`] declares the records of [`crate::operators`]. [`publishing`] accepts events from clients and writes `publishing_keys`. [`changes`] lists the audit
//! trail. Webhooks and their deliveries have the same base path but belong to [`crate::webhooks`].
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! api_keys  changes  events  event_types  operators  publishing  stream   what the routes do
//! parameters                                                   refuses query parameters
//! state                                                        the pool, the clock and the event types
//! ```

mod api_keys;
mod changes;
mod event_types;
mod events;
mod operators;
mod parameters;
mod publishing;
mod state;
mod stream;

use axum::extract::FromRef;
use axum::http::Method;

use crate::companies::Companies;
use crate::kernel::request_body::LargerBody;
use crate::operators::Operators;
use crate::resources::Extension;

pub use api_keys::{ApiKeyBody, ApiKeyRecord, InvalidScopes, SomeScopes, revoke_api_key, roll_api_key};
pub use operators::{OperatorBody, OperatorRecord};
pub use publishing::Publishing;
pub use state::Developers;
pub use stream::{Settings as StreamsSettings, Streams};

/// The routes that take larger bodies than others.
pub const LARGER_BODIES: [LargerBody; 1] = [("/developers/int/v1/events", publishing::BODY_LIMIT)];

/// The routes below `developers/int/v1`.
pub fn extension<S>() -> Extension<S>
where
    Developers: FromRef<S>,
    Publishing: FromRef<S>,
    Streams: FromRef<S>,
    Companies: FromRef<S>,
    Operators: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    api_keys::extension()
        .merge(operators::extension())
        .read_only::<changes::LoggedChange>()
        .read_only::<events::LoggedEvent>()
        .route(Method::POST, "/events", publishing::doc(), publishing::publish)
        .route(Method::GET, "/events/stream", stream::doc(), stream::stream)
        .route(Method::GET, "/event-types", event_types::list_doc(), event_types::list)
        .route(Method::GET, "/event-types/{name}", event_types::find_doc(), event_types::find)
}
