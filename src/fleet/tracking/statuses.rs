//! Tracking statuses: each status an order reached, and when.

use serde_json::{Map, Value};
use sqlx::PgConnection;

use crate::events::{EventName, names};
use crate::fleet::Fleet;
use crate::fleet::orders::status::Status;
use crate::kernel::ids::{OrderId, TrackingStatusId};
use crate::members;
use crate::resources::{Announced, Change, Filter, Record, Resource};

crate::columns! {
    /// A status that an order reached.
    pub struct TrackingStatus {
        /// The order.
        pub order_id: OrderId,
        /// What it reached.
        pub status: Status,
    }
}

impl Resource for TrackingStatus {
    type Id = TrackingStatusId;
    type Room = Fleet;

    const SINGULAR: &'static str = "tracking_status";
    const PLURAL: &'static str = "tracking_statuses";
    const FILTERS: &'static [Filter] = &[Filter::id::<OrderId>("order").on("order_id"), Filter::word::<Status>("status")];

    async fn present(_: &mut PgConnection, statuses: &[Record<Self>]) -> Result<Vec<Map<String, Value>>, sqlx::Error> {
        let present = |reached: &Self| members! { "status": reached.status, "order": reached.order_id };
        Ok(statuses.iter().map(|status| present(&status.fields)).collect())
    }
}

impl Announced for TrackingStatus {
    fn events(change: &Change<'_, Self>) -> Vec<EventName> {
        match change {
            Change::Created(_) => vec![names::TRACKING_STATUS_CREATED],
            Change::Updated(..) => vec![names::TRACKING_STATUS_UPDATED],
            Change::Deleted(_) => Vec::new(),
        }
    }
}
